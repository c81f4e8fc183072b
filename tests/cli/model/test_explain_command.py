from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from cosched.cli.model import app

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_explain_prints_what_binds_and_where_the_time_goes(tmp_path: Path) -> None:
    text = run("explain", "cpi", "--hosts", "1-12").stdout
    assert "11     5.71898  54.9 %   35.6 %     0.2 %    9.2 %      compute (best)" in text
    found = json.loads(run("explain", "cpi", "--hosts", "1-12", "--at", "2", "--json").stdout)
    assert (found["best"], found["at"], len(found["points"]), len(found["processors"])) == (11, 2, 12, 2)
    assert found["points"][10]["binds"] == "compute"
    assert sum(part["seconds"] for part in found["path"]) == pytest.approx(found["seconds"])
    assert found["work"][0]["file"].endswith("cpi.psl")
    assert {item["name"] for item in found["sensitivity"]["parameters"]} == {"passes", "rectangles", "strips"}
    assert found["sensitivity"]["costs"][0]["name"].startswith("clc ")
