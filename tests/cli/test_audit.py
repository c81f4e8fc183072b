from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.cli.main import run
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_who_did_what_is_a_table_for_administrators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as (_, address):
        monkeypatch.setenv("COSCHED_SERVER", address)
        assert run(["token", "create", "--user", "ann", "--role", "user", "--scope", "manage"]) == 0
        token = capsys.readouterr().out.splitlines()[-1]
        assert run(["audit", "list"]) == 0
        head, row = capsys.readouterr().out.splitlines()
        assert head.split() == ["TIME", "USER", "BY", "FROM", "ACTION", "DETAIL"]
        assert "token created" in row
        assert "for ann" in row
        monkeypatch.setenv("COSCHED_TOKEN", token)
        assert run(["audit", "list"]) == 1
        assert "administrator" in capsys.readouterr().err
