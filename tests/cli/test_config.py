from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cosched.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_every_value_is_shown_with_its_origin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cosched.toml"
    file.write_text("[planning]\nseed = 5\n")
    assert run(["config", "show", "--config", str(file), "--origin"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["planning.seed", "5", str(file)] in lines
    assert ["planning.policy", '"genetic"', "default"] in lines
    assert run(["config", "show", "--config", str(file), "--json"]) == 0
    found = {item["key"]: item for item in json.loads(capsys.readouterr().out)}
    assert found["planning.seed"] == {"key": "planning.seed", "value": 5, "origin": str(file)}


def test_a_fault_is_the_users(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cosched.toml"
    file.write_text("[planning]\nsede = 5\n")
    assert run(["config", "show", "--config", str(file)]) == 1
    assert capsys.readouterr().err.startswith(f"cosched: {file}: unknown key planning.sede (did you mean seed?)")
