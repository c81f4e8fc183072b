"""Slurm's accounting, as sacct 22.05.8 told of it beside a real slurmdbd."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector import JobState
from cosched_slurm.past_jobs import AccountingCache, accounted_record

if TYPE_CHECKING:
    from cosched_slurm.jobs import JobRecord

FOLDER = Path("/spool/a")


def _line(
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
    record = found([_line(state=state, code=code)])
    assert record is not None
    assert (record.state, record.exit_code, record.started) == (means, exit_code, 1795289631.0)
    assert record.finished == (1795289635.0 if means.final or means is JobState.EVICTED else None)


def test_a_job_is_known_by_its_folder_and_an_element_by_its_index() -> None:
    lines = [
        _line("1"),
        _line("2", folder="/spool/aa"),
        _line("7_0", folder="/spool/array"),
        _line("7_1", "FAILED", "3:0", "/spool/array"),
        _line("7_1.batch", folder="/spool/array"),
    ]
    record = found(lines, Path("/spool/array"), 1)
    assert record is not None
    assert (record.attempt, record.job, record.exit_code) == ("a", "7_1", 3)
    assert found(lines, Path("/spool/array"), 2) is None
    assert found(lines, Path("/spool/array")) is None
    assert found(lines) is not None


def test_of_several_jobs_the_last_counts_and_hosts_are_known() -> None:
    lines = [_line("1", "CANCELLED", nodes="None assigned"), _line("2", nodes="node[01-02]")]
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
        return [_line()]

    monkeypatch.setattr("cosched_slurm.past_jobs.time.time", lambda: 1000.0)
    accounting = AccountingCache(ask, 3600.0)
    for since in (900.0, 950.0, 800.0, 900.0):
        assert accounting.rows(FOLDER, since) == [_line().split("|")]
    assert asked == [400, 500]


def test_without_accounting_nothing_is_known() -> None:
    assert AccountingCache(lambda _age: None, 1.0).rows(FOLDER, 0.0) == []
