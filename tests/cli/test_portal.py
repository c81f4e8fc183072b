from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.cli.main import run
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_link_logs_in_and_is_all_that_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path) as (_, address):
        assert run(["portal", "--server", address]) == 0
        link = capsys.readouterr().out.splitlines()[-1]
        assert "/login?ticket=" in link
