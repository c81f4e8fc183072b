from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from cosched.cli.model import app
from cosched.errors import UserError
from cosched.measurement.programs.records import read_records

if TYPE_CHECKING:
    from pathlib import Path


def _run(*words: str) -> str:
    result = CliRunner().invoke(app, ["observe", *words])
    if result.exception is not None:
        raise result.exception
    return result.output


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cosched.measurement.programs.observing.shim_library", lambda: None)


def test_each_run_adds_a_record(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("--set", "nx=512", "--set", "ny=64", "--class", "node_a", "--application", "heat")
    said = _run(*words, "--", "echo", "work").splitlines()
    assert capfd.readouterr().out == "work\n"
    assert said[0].startswith("one process; ")
    assert said[-1] == "added to runs.jsonl"
    document = json.loads(_run(*words, "--json", "--out", "runs.jsonl", "--", "true"))
    assert (document["application"], document["file"], document["calls"]) == ("heat", "runs.jsonl", 0)
    records = read_records((tmp_path / "runs.jsonl").read_text(), "runs.jsonl")
    assert [(each.application, each.parameters, each.hardware) for each in records] == [
        ("heat", {"nx": 512.0, "ny": 64.0}, "node_a")
    ] * 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "nx=1,2", "--", "true"), "--set nx: a run has one value of it: observe several runs"),
        (("--set", "nx", "--", "true"), "write NAME=NUMBER"),
        (("--out", "no/such/folder", "--", "true"), "no/such/folder cannot be written"),
        (("--", "false"), "false ended with code 1: a run that fails teaches nothing"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        _run(*words)
    assert not (tmp_path / "runs.jsonl").exists()
