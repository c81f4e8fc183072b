from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from cosched.cli.model import app
from cosched.errors import UserError
from tests.modelling.test_calypso import LISTING

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["import-calypso", *map(str, arguments)])


def test_the_papers_listing_becomes_a_model_that_other_commands_take(tmp_path: Path) -> None:
    source, out = tmp_path / "junction-detection.cc", tmp_path / "j.psl"
    source.write_text(LISTING)
    result = run(source, "--out", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.count("\n") == 7
    assert f"cosched: {source}:21:1: task_looped: read as task_loopend\n" in result.stderr
    assert out.read_text().startswith("application junction_detection {")
    ways = CliRunner().invoke(app, ["tunable", str(out), "--json"])
    assert len(json.loads(ways.stdout)["chains"]) == 2
    again = run(source, "--out", out)
    assert isinstance(again.exception, UserError)
    assert "is there already: choose another --out, or remove it" in str(again.exception)


def test_without_a_file_the_model_is_printed(tmp_path: Path) -> None:
    source = tmp_path / "x.cc"
    source.write_text(LISTING)
    text = run(source, "--name", "own").stdout
    assert text.startswith("application own {")
    found = json.loads(run(source, "--name", "own", "--json").stdout)
    assert found["model"] == text
    assert (len(found["warnings"]), found["faults"]) == (7, [])


def test_a_model_with_faults_is_written_and_said_to_have_them(tmp_path: Path) -> None:
    source = tmp_path / "x.cc"
    source.write_text("task_control_parameters { int g; }; task t[1][][({},{0,1},1.0)] taskend")
    result = run(source)
    assert result.exit_code == 1
    assert "x.psl:5:32: 0 hosts: give a whole number, 1 or more" in result.stderr
    assert "control parameter g is set nowhere" in result.stderr
    assert result.stdout.startswith("application x {")


def test_a_source_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        CliRunner().invoke(app, ["import-calypso", str(tmp_path / "none.cc")], catch_exceptions=False)
