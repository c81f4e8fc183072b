"""Slurm's accounting, as sacct 22.05.8 told of it beside a real slurmdbd."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector import ConnectorError, JobState
from cosched_slurm.past_jobs import AccountingCache, accounted_record, completed_record

if TYPE_CHECKING:
    from cosched_slurm.jobs import JobRecord

FOLDER = Path("/spool/a")


def _accounted_line(
    job: str = "1",
    state: str = "COMPLETED",
    code: str = "0:0",
    folder: str = "/spool/a",
    nodes: str = "node01",
    end: str = "1795289635",
) -> str:
    return f"{job}|{state}|{code}|1795289631|{end}|1|{nodes}|{folder}"


def found(lines: list[str], folder: Path = FOLDER, index: int | None = None) -> JobRecord | None:
    return accounted_record(AccountingCache(lambda _age: lines, 1.0).rows(folder, 0.0), "a", index)


@pytest.mark.parametrize(
    ("state", "code", "means", "exit_code"),
    [
        ("COMPLETED", "0:0", JobState.COMPLETED, 0),
        ("FAILED", "3:0", JobState.FAILED, 3),
        ("FAILED", "0:9", JobState.FAILED, 137),
        ("CANCELLED by 1000", "0:15", JobState.REMOVED, None),
        ("TIMEOUT", "0:0", JobState.REMOVED, None),
        ("NODE_FAIL", "1:0", JobState.EVICTED, None),
        ("RUNNING", "0:0", JobState.RUNNING, None),
        ("SOMETHING", "0:0", JobState.UNKNOWN, None),
    ],
)
def test_states_mean_what_they_mean_in_the_queue(state: str, code: str, means: JobState, exit_code: int | None) -> None:
    record = found([_accounted_line(state=state, code=code)])
    assert record is not None
    assert (record.state, record.exit_code, record.started) == (means, exit_code, 1795289631.0)
    assert record.finished == (1795289635.0 if means.final or means is JobState.EVICTED else None)


def test_a_job_is_known_by_its_folder_and_an_element_by_its_index() -> None:
    lines = [
        _accounted_line("1"),
        _accounted_line("2", folder="/spool/aa"),
        _accounted_line("7_0", folder="/spool/array"),
        _accounted_line("7_1", "FAILED", "3:0", "/spool/array"),
        _accounted_line("7_1.batch", folder="/spool/array"),
    ]
    record = found(lines, Path("/spool/array"), 1)
    assert record is not None
    assert (record.attempt, record.job, record.exit_code) == ("a", "7_1", 3)
    assert found(lines, Path("/spool/array"), 2) is None
    assert found(lines, Path("/spool/array")) is None
    assert found(lines) is not None


def test_of_several_jobs_the_last_counts_and_hosts_are_known() -> None:
    lines = [_accounted_line("1", "CANCELLED", nodes="None assigned"), _accounted_line("2", nodes="node[01-02]")]
    record = found(lines)
    assert record is not None
    assert (record.job, record.hosts) == ("2", ("node01", "node02"))
    cancelled = found(lines[:1])
    assert cancelled is not None
    assert cancelled.hosts == ()


@given(st.lists(st.text(alphabet="|_./ 0123456789abNODE:", max_size=60), max_size=5))
def test_other_lines_are_nobodys(lines: list[str]) -> None:
    assert found(lines, Path("/spool/of/nobody")) is None


def test_it_is_asked_seldom_and_for_as_far_back_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def ask(age: int) -> list[str]:
        asked.append(age)
        return [_accounted_line()]

    monkeypatch.setattr("cosched_slurm.past_jobs.time.time", lambda: 1000.0)
    accounting = AccountingCache(ask, 3600.0)
    for since in (900.0, 950.0, 800.0, 900.0):
        assert accounting.rows(FOLDER, since) == [_accounted_line().split("|")]
    assert asked == [400, 500]


def test_without_accounting_nothing_is_known() -> None:
    assert AccountingCache(lambda _age: None, 1.0).rows(FOLDER, 0.0) == []


# As jobcomp/filetxt of 22.05.8 wrote it.
_LINE = (
    "JobId=1 UserId=root(0) GroupId=root(0) Name={name} JobState={state} Partition=all TimeLimit=525600 "
    "StartTime=2026-11-20T22:56:17 EndTime=2026-11-20T22:56:19 NodeList=node[01,03] NodeCnt=2 ProcCnt=2 "
    "WorkDir=/spool/{attempt} ReservationName= Tres=cpu=2,mem=2M,node=2,billing=2 Account= QOS= WcKey= "
    "Cluster=unknown SubmitTime=2026-11-20T22:56:16 EligibleTime=2026-11-20T22:56:16 DerivedExitCode=0:0 "
    "ExitCode={code} \n"
)


def _completed_line(attempt: str, state: str = "COMPLETED", code: str = "0:0", name: str = "wrap") -> str:
    return _LINE.format(attempt=attempt, state=state, code=code, name=name)


def test_an_element_of_an_array_is_found_by_its_index(tmp_path: Path) -> None:
    file = tmp_path / "completions"
    last, name = " DerivedExitCode", "x ArrayJobId=7 ArrayTaskId=1 y"
    lines = [
        _completed_line("array", *state, name=name).replace(last, f" ArrayJobId=9 ArrayTaskId={index}{last}")
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
    file.write_text(
        _completed_line("a")
        + _completed_line("b", "FAILED", "7:0")
        + _completed_line("bb")
        + _completed_line("c", "CANCELLED", "0:15")
    )
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
    file.write_text(
        _completed_line("a", "TELEPORTED")
        + _completed_line("b", "FAILED", "0:9", "x JobId=9 JobState=COMPLETED ExitCode=0:0")
    )
    unknown = completed_record(file, "a", Path("/spool/a"))
    failed = completed_record(file, "b", Path("/spool/b"))
    assert unknown is not None
    assert failed is not None
    assert unknown.state is JobState.UNKNOWN
    assert (failed.state, failed.exit_code, failed.job) == (JobState.FAILED, 137, "1")


@pytest.mark.parametrize(
    "text", ["", "\n", "JobId=1 WorkDir=/spool/a \n", _completed_line("a")[:-1], "JobId= WorkDir=/spool/a \n"]
)
def test_nothing_and_half_a_line_tell_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "completions"
    file.write_text(text)
    assert completed_record(file, "a", Path("/spool/a")) is None


def test_a_job_is_found_wherever_it_stands_in_a_long_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched_slurm.past_jobs._BLOCK", 1000)
    file = tmp_path / "completions"
    names = [f"job{number}" for number in range(40)]
    file.write_text("".join(_completed_line(name, "FAILED", "7:0") for name in names) + _completed_line("job0"))
    records = [completed_record(file, name, Path("/spool") / name) for name in names]
    assert [record and record.exit_code for record in records] == [0] + 39 * [7]  # of two the last counts
    assert completed_record(file, "none", Path("/spool/none")) is None


def test_a_file_that_is_cut_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was mapped into memory: the system ended the daemon by SIGBUS when logrotate emptied the file."""
    file = tmp_path / "completions"
    file.write_text(_completed_line("a") * 100)
    read = os.pread

    def cut(handle: int, count: int, offset: int) -> bytes:
        os.truncate(file, 0)
        return read(handle, count, offset)

    with monkeypatch.context() as patch:
        patch.setattr("cosched_slurm.past_jobs.os.pread", cut)
        with pytest.raises(ConnectorError, match="cut while it was read") as fault:
            completed_record(file, "a", Path("/spool/a"))
    assert fault.value.transient
    assert completed_record(file, "a", Path("/spool/a")) is None


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectorError, match="completions"):
        completed_record(tmp_path / "none", "a", tmp_path)
