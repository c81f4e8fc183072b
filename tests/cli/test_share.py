from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cosched.cli.main import run
from cosched.coscheduler.sharing.shares import Share, Shares
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SHARES = Shares(groups={"physics": Share(3.0)}, users={"bob": Share(1.0, budget=8.0)}, members={"ada": "physics"})


def test_shares_are_listed_set_and_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path, shares=SHARES) as (_, address):
        monkeypatch.setenv("COSCHED_SERVER", address)
        capsys.readouterr()
        assert run(["share", "list"]) == 0
        heading, *rows = capsys.readouterr().out.splitlines()
        assert heading.split() == ["SHARE", "GROUP", "WEIGHT", "ENTITLED", "BUDGET", "FROM"]
        assert [row.split()[0] for row in rows] == ["group", "ada", "bob"]
        assert run(["share", "set", "physics", "--group", "--weight", "1"]) == 0
        assert "it wins over the configuration" in capsys.readouterr().out
        assert run(["share", "list", "--json"]) == 0
        group = json.loads(capsys.readouterr().out)[0]
        assert (group["name"], group["entitled"], group["source"]) == ("physics", 0.5, "command")
        assert run(["share", "usage"]) == 0
        assert "0 of 8" in capsys.readouterr().out
        assert run(["audit", "list", "--json"]) == 0
        assert "group physics: weight 1" in capsys.readouterr().out
        assert run(["share", "set", "bob"]) == 1
        assert "nothing is set" in capsys.readouterr().err


def test_without_shares_it_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as (_, address):
        monkeypatch.setenv("COSCHED_SERVER", address)
        assert run(["share", "list"]) == 1
        assert "an administrator sets `enabled = true` in [shares]" in capsys.readouterr().err
