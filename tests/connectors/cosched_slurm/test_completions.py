"""Slurm's job completion file."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cosched.connector import ConnectorError, JobState
from cosched_slurm.past_jobs import completed_record

# As jobcomp/filetxt of 22.05.8 wrote it.
_LINE = (
    "JobId=1 UserId=root(0) GroupId=root(0) Name={name} JobState={state} Partition=all TimeLimit=525600 "
    "StartTime=2026-11-20T22:56:17 EndTime=2026-11-20T22:56:19 NodeList=node[01,03] NodeCnt=2 ProcCnt=2 "
    "WorkDir=/spool/{attempt} ReservationName= Tres=cpu=2,mem=2M,node=2,billing=2 Account= QOS= WcKey= "
    "Cluster=unknown SubmitTime=2026-11-20T22:56:16 EligibleTime=2026-11-20T22:56:16 DerivedExitCode=0:0 "
    "ExitCode={code} \n"
)


def _line(attempt: str, state: str = "COMPLETED", code: str = "0:0", name: str = "wrap") -> str:
    return _LINE.format(attempt=attempt, state=state, code=code, name=name)


def test_an_element_of_an_array_is_found_by_its_index(tmp_path: Path) -> None:
    file = tmp_path / "completions"
    last, name = " DerivedExitCode", "x ArrayJobId=7 ArrayTaskId=1 y"
    lines = [
        _line("array", *state, name=name).replace(last, f" ArrayJobId=9 ArrayTaskId={index}{last}")
        for index, state in (("1", ("FAILED", "7:0")), ("0", ("COMPLETED", "0:0")))
    ]
    file.write_text("".join(lines))
    records = [completed_record(file, "a", Path("/spool/array"), index) for index in range(3)]
    assert [record and (record.attempt, record.job, record.exit_code) for record in records] == [
        ("a", "9_0", 0),
        ("a", "9_1", 7),
        None,
    ]


def test_a_job_is_found_by_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "completions"
    file.write_text(_line("a") + _line("b", "FAILED", "7:0") + _line("bb") + _line("c", "CANCELLED", "0:15"))
    record = completed_record(file, "b", Path("/spool/b"))
    assert record is not None
    assert (record.attempt, record.job, record.count) == ("b", "1", 2)
    assert (record.state, record.exit_code) == (JobState.FAILED, 7)
    assert record.started == time.mktime((2026, 11, 20, 22, 56, 17, 0, 0, -1))
    assert record.finished == record.started + 2
    cancelled = completed_record(file, "c", Path("/spool/c"))
    assert cancelled is not None
    assert (cancelled.state, cancelled.exit_code) == (JobState.REMOVED, None)
    assert completed_record(file, "d", Path("/spool/d")) is None


def test_a_state_that_nobody_knows_is_unknown_and_a_name_is_no_field(tmp_path: Path) -> None:
    file = tmp_path / "completions"
    file.write_text(_line("a", "TELEPORTED") + _line("b", "FAILED", "0:9", "x JobId=9 JobState=COMPLETED ExitCode=0:0"))
    unknown = completed_record(file, "a", Path("/spool/a"))
    failed = completed_record(file, "b", Path("/spool/b"))
    assert unknown is not None
    assert failed is not None
    assert unknown.state is JobState.UNKNOWN
    assert (failed.state, failed.exit_code, failed.job) == (JobState.FAILED, 137, "1")


@pytest.mark.parametrize(
    "text", ["", "\n", "JobId=1 WorkDir=/spool/a \n", _line("a")[:-1], "JobId= WorkDir=/spool/a \n"]
)
def test_nothing_and_half_a_line_tell_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "completions"
    file.write_text(text)
    assert completed_record(file, "a", Path("/spool/a")) is None


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectorError, match="completions"):
        completed_record(tmp_path / "none", "a", tmp_path)
