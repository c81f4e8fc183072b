from __future__ import annotations

from typing import Any

from cosched.connector.interface import JobReport, JobState
from cosched_condor.eventlog import EventLog, note

SUBMIT, EXECUTE, TERMINATED, RELEASED = 0, 1, 5, 13
UUID = "6f1c9f8e-5f0a-4b62-9c35-0a1b7f3f2c11"


def an_event(number: int, second: int, rank: int = 0, **fields: Any) -> dict[str, Any]:
    time = f"2026-11-20T10:00:{second:02d}Z"
    return {"EventTypeNumber": number, "EventTime": time, "Utc": True, "Cluster": 7, "Proc": rank, **fields}


def read(*events: dict[str, Any]) -> list[JobReport]:
    return EventLog().read(events)


def test_a_release_that_is_logged_after_the_start_does_not_forget_the_start() -> None:
    reports = read(
        an_event(SUBMIT, 0, LogNotes=note(UUID, 1)),
        an_event(EXECUTE, 1),
        an_event(RELEASED, 1),
        an_event(TERMINATED, 3, TerminatedNormally=True, ReturnValue=0),
    )
    assert [report.state for report in reports] == [JobState.QUEUED, JobState.RUNNING, JobState.COMPLETED]
    started, finished = reports[-1].started, reports[-1].finished
    assert started is not None
    assert finished is not None
    assert finished - started == 2.0


def test_a_group_runs_when_the_last_of_its_processes_does() -> None:
    reports = read(
        an_event(SUBMIT, 0, LogNotes=note(UUID, 2)),
        an_event(SUBMIT, 0, rank=1, LogNotes=note(UUID, 2)),
        an_event(EXECUTE, 1),
        an_event(EXECUTE, 4, rank=1),
    )
    running = reports[-1]
    assert running.state is JobState.RUNNING
    assert running.started is not None
    assert [report.state for report in reports[:-1]].count(JobState.RUNNING) == 0
