from __future__ import annotations

import json
import uuid
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
    monkeypatch.setenv("COSCHED_SERVER", f"unix:{tmp_path}/none.sock")
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


def test_sizes_are_run_in_rounds_and_each_run_adds_a_record(tmp_path: Path) -> None:
    words = ("--sweep", "n=3,5", "--sweep", "Nproc=1..2", "--repeat", "2", "--set", "m=7")
    command = ("sh", "-c", "echo {Nproc} {n} >> ran")
    document = json.loads(_run("--json", "--application", "mine", *words, "--", *command))
    records = read_records((tmp_path / "runs.jsonl").read_text(), "runs.jsonl")
    assert document["added"] == len(document["runs"]) == len(records) >= 8
    assert document["undisturbed"] == sum(each.undisturbed for each in records)
    assert {(each.application, *each.parameters.items()) for each in records} == {
        ("mine", ("m", 7.0), ("n", 3.0)),
        ("mine", ("m", 7.0), ("n", 5.0)),
    }
    assert {each.processors for each in records} == {1, 2}  # though nothing of them could be watched
    ran = (tmp_path / "ran").read_text().splitlines()
    assert len(ran) == len(records)
    assert set(ran) == {"1 3", "1 5", "2 3", "2 5"}
    said = _run("--repeat", "2", "--out", "more.jsonl", "--", "true").splitlines()
    assert said[0].startswith("one process; ")
    quiet = [each.undisturbed for each in read_records((tmp_path / "more.jsonl").read_text(), "more.jsonl")]
    progress = [f"({sum(quiet[:runs])} of 2 wanted)" for runs in range(1, len(quiet) + 1)]
    assert [line[line.rindex("(") :] for line in said[: len(quiet)]] == progress
    assert "of 1 size to more.jsonl" in said[-1]
    assert said[-1].endswith(" undisturbed")


def test_a_size_that_fails_is_named_and_the_runs_before_it_are_kept(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^code=3: sh ended with code 3: a run that fails teaches nothing"):
        _run("--sweep", "code=0,3", "--repeat", "9", "--", "sh", "-c", "exit {code}")
    file = tmp_path / "runs.jsonl"
    kept = read_records(file.read_text(), "runs.jsonl") if file.exists() else []
    assert all(each.parameters == {"code": 0.0} for each in kept)


def test_what_tasks_left_is_added_and_goes(tmp_path: Path) -> None:
    folder = tmp_path / "observed"
    words = ["COSCHED_PARAMETER_a=inf", "COSCHED_PARAMETER_b=nan", "COSCHED_PARAMETER_c=12345678901234567890"]
    said = {
        "9": "whole 0 0.25 0.125 0 1024 vm /bin/true\nend\n",
        "10": "",
        "11": "whole 2 1 1 0 1 vm /bin/false\nend\n",
    }
    for task, end in said.items():
        own = folder / f"{task}.{uuid.uuid4()}"
        own.mkdir(parents=True)
        told = ["1", "/bin/true", "COSCHED_PARAMETER_n=7", *words, "COSCHED_HOST_CLASSES=node_a"]
        (own / "begun.0.77").write_text("\0".join([*told, ""]))
        if end:
            (own / "whole.vm.77").write_text(end)
    lines = _run("--collect", "observed", "--set", "m=2").splitlines()
    assert lines == [
        "10: no record: 1 of 1 processes told nothing of their end: it runs still, was ended, or cannot be watched "
        "(linked statically, setuid)",
        "11: no record: its program ended with code 2: a run that fails teaches nothing",
        "9: one process; 250 ms, 0.0% of it waited for processors; 1 MiB",
        lines[3],
        "added 1 record to runs.jsonl",
    ]
    assert "not running" in lines[3]
    (record,) = read_records((tmp_path / "runs.jsonl").read_text(), "runs.jsonl")
    assert (record.application, record.hardware, record.parameters) == ("true", "node_a", {"n": 7.0, "m": 2.0})
    assert [each.name.partition(".")[0] for each in folder.iterdir()] == ["10"]
    document = json.loads(_run("--collect", "observed", "--json"))
    assert (document["added"], [each["task"] for each in document["tasks"]]) == (0, ["10"])


def test_what_concerns_all_tasks_is_said_once(tmp_path: Path) -> None:
    """Of an array of tasks each had the same line on its class of hosts."""
    for task in range(3):
        own = tmp_path / "observed" / f"{task}.{uuid.uuid4()}"
        own.mkdir(parents=True)
        (own / "begun.0.77").write_text("1\0/bin/true\0")
        (own / "whole.vm.77").write_text("whole 0 0.25 0.125 0 1024 vm /bin/true\nend\n")
    lines = _run("--collect", "observed", "--set", "n=2").splitlines()
    assert lines[-2:] == ["nobody named one class of its hosts: --class does", "added 3 records to runs.jsonl"]
    assert sum("class" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--collect", "observed"), "observed cannot be read"),
        (("--collect", "."), "no task has left anything in .: submit some with `cosched task submit --observe`"),
        (("--collect", ".", "--", "true"), "give a command after --, or --collect FOLDER: one of them"),
        ((), "give a command after --, or --collect FOLDER: one of them"),
        (("--set", "nx=1,2", "--", "true"), "--set nx: a run has one value of it: --sweep nx=… gives several"),
        (("--sweep", "nx=1,2", "--", "true"), "--sweep nx: no word of the command has {nx}"),
        (("--sweep", "nx", "--", "true"), "--sweep 'nx': write NAME=NUMBER"),
        (("--collect", ".", "--repeat", "2"), "--collect runs nothing: leave --sweep, --repeat and --times out"),
        (("--repeat", "0", "--", "true"), "1 to 10,000 runs"),
        (("--set", "seed=1e19", "--", "true"), "--set seed: 1e.19 is more than records hold: give 1e.18 at most"),
        (("--sweep", "seed=1,1e19", "--", "echo", "{seed}"), "--sweep seed: 1e.19 is more than records hold"),
        (("--set", "nx", "--", "true"), "write NAME=NUMBER"),
        (("--out", "no/such/folder", "--", "true"), "no/such/folder cannot be written"),
        (("--", "false"), "false ended with code 1: a run that fails teaches nothing"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        _run(*words)
    assert not (tmp_path / "runs.jsonl").exists()
