from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cosched.cli.main import run
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_notice_is_written_listed_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as (daemon, address):
        monkeypatch.setenv("COSCHED_SERVER", address)
        assert run(["notice", "write", "no power on Friday", "--until", "now+2h"]) == 0
        (made,) = daemon.services.notices.notices()
        assert f"{made.id}: shown until" in capsys.readouterr().out
        assert run(["notice", "list"]) == 0
        assert "no power on Friday" in capsys.readouterr().out
        assert run(["notice", "list", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)[0]["id"] == made.id
        assert run(["notice", "remove", made.id]) == 0
        assert daemon.services.notices.notices() == []
        assert run(["notice", "remove", made.id]) == 1
        assert "there is no notice" in capsys.readouterr().err


def test_health_is_told_and_ends_with_2_where_something_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as (daemon, address):
        monkeypatch.setenv("COSCHED_SERVER", address)
        assert run(["domain", "health"]) == 0
        daemon.faults.append("clock: an hour ahead")
        assert run(["domain", "health"]) == 2
        assert "broken: Clock. An hour ahead." in capsys.readouterr().out
