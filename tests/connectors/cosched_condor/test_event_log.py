"""Reading the job event log; the events are as HTCondor 25 gives them."""

from __future__ import annotations

from typing import Any

import pytest

from cosched.connector import JobReport, JobState
from cosched_condor.event_log import EventLogReader, submit_note

_SUBMIT, _EXECUTE, _EVICTED, _TERMINATED, _IMAGE_SIZE = 0, 1, 4, 5, 6
_ABORTED, _HELD, _RELEASED, _NODE_EXECUTE = 9, 12, 13, 14
_DISCONNECTED, _RECONNECTED, _RECONNECT_FAILED = 22, 23, 24


def _event(number: int, second: int = 0, rank: int = 0, **values: object) -> dict[str, Any]:
    time = f"2026-01-31T12:00:{second:02d}.500"
    return {"EventTypeNumber": number, "Cluster": 7, "Proc": rank, "EventTime": time, "Utc": True, **values}


def _submitted(count: int = 1) -> list[dict[str, Any]]:
    return [_event(_SUBMIT, 0, rank, LogNotes=submit_note("a", count, rank)) for rank in range(count)]


def _states(reports: list[JobReport]) -> list[str]:
    return [report.state.value for report in reports]


_ENDED = _event(_TERMINATED, 9, TerminatedNormally=True, ReturnValue=0)


def test_a_life() -> None:
    events = [*_submitted(), _event(_RELEASED), _event(_EXECUTE, 3), _event(_IMAGE_SIZE, 5), _ENDED]
    reports = EventLogReader().read(events)
    assert _states(reports) == ["queued", "running", "completed"]
    last = reports[-1]
    assert (last.attempt, last.job, last.exit_code) == ("a", "7.0", 0)
    assert last.started == 1769860803.5
    assert last.finished == 1769860809.5


def test_a_group_runs_when_all_run() -> None:
    log = EventLogReader()
    assert _states(log.read([*_submitted(2), _event(_EXECUTE, 1, 0)])) == ["queued"]
    assert _states(log.read([_event(_EXECUTE, 2, 1)])) == ["running"]


def test_a_release_that_is_logged_after_the_start_does_not_forget_the_start() -> None:
    reports = EventLogReader().read([*_submitted(), _event(_EXECUTE, 3), _event(_RELEASED, 3), _ENDED])
    assert _states(reports) == ["queued", "running", "completed"]
    assert reports[-1].started == 1769860803.5


def test_a_group_starts_with_the_last_of_its_processes() -> None:
    reports = EventLogReader().read([*_submitted(2), _event(_EXECUTE, 1, 0), _event(_EXECUTE, 4, 1)])
    assert _states(reports) == ["queued", "running"]
    assert reports[-1].started == 1769860804.5


def test_a_parallel_job_whose_first_node_ended_before_the_last_began_has_a_start() -> None:
    """HTCondor writes no start of the job then."""
    began = [_event(_NODE_EXECUTE, 3, Node=0), _event(_NODE_EXECUTE, 4, Node=1)]
    reports = EventLogReader().read([*_submitted(), *began, _ENDED])
    assert _states(reports) == ["queued", "completed"]
    assert reports[-1].started == 1769860804.5


def test_a_parallel_job_runs_when_all_of_its_nodes_do() -> None:
    began = [_event(_NODE_EXECUTE, 3, Node=0), _event(_NODE_EXECUTE, 4, Node=1), _event(_EXECUTE, 5)]
    reports = EventLogReader().read([*_submitted(), *began])
    assert _states(reports) == ["queued", "running"]
    assert reports[-1].started == 1769860805.5


def test_a_signal_is_128_and_its_number() -> None:
    ended = _event(_TERMINATED, 9, TerminatedNormally=False, TerminatedBySignal=15)
    assert EventLogReader().read([*_submitted(), _event(_EXECUTE), ended])[-1].exit_code == 143


def test_being_submitted_on_hold_is_not_being_held() -> None:
    held = _event(_HELD, HoldReasonCode=15, HoldReason="submitted on hold")
    assert _states(EventLogReader().read([*_submitted(), held, _event(_RELEASED)])) == ["queued"]


def test_held_and_released_by_hand() -> None:
    held = _event(_HELD, 4, HoldReasonCode=1, HoldReason="by hand")
    reports = EventLogReader().read([*_submitted(), _event(_EXECUTE), held, _event(_RELEASED, 6)])
    assert [(report.state.value, report.reason) for report in reports[-2:]] == [("held", "by hand"), ("queued", "")]


@pytest.mark.parametrize("number", [_EVICTED, _DISCONNECTED, _RECONNECT_FAILED])
def test_a_lost_host_evicts(number: int) -> None:
    reports = EventLogReader().read([*_submitted(), _event(_EXECUTE), _event(number, 4, Reason="host lost")])
    assert (reports[-1].state, reports[-1].reason) == (JobState.EVICTED, "host lost")


def test_a_restarted_scheduler_does_not_evict() -> None:
    away = _event(_DISCONNECTED, 4, DisconnectReason="Local schedd and job shadow died, schedd now running again")
    events = [*_submitted(), _event(_EXECUTE), away, _event(_RECONNECTED, 5)]
    assert _states(EventLogReader().read(events)) == ["queued", "running"]


def test_an_eviction_that_leads_to_a_removal_is_left_out() -> None:
    events = [*_submitted(), _event(_EXECUTE), _event(_EVICTED, 4), _event(_ABORTED, 5, Reason="by hand")]
    assert _states(EventLogReader.without_transient_evictions(EventLogReader().read(events))) == [
        "queued",
        "running",
        "removed",
    ]


def test_a_group_that_is_removed_one_by_one_is_removed_once() -> None:
    ends = [_event(number, 4, rank) for rank in (0, 1) for number in (_EVICTED, _ABORTED)]
    events = [*_submitted(2), _event(_EXECUTE, 1, 0), _event(_EXECUTE, 1, 1), *ends]
    assert _states(EventLogReader.without_transient_evictions(EventLogReader().read(events))) == [
        "queued",
        "running",
        "removed",
    ]


def test_what_has_ended_stays_ended() -> None:
    reports = EventLogReader().read([*_submitted(), _event(_EXECUTE), _ENDED, _event(_ABORTED, 12)])
    assert _states(reports)[-1] == "completed"


def test_other_peoples_events_are_passed_over() -> None:
    strangers = [_event(_SUBMIT, LogNotes="DAG Node: B"), _event(_EXECUTE), {"EventTypeNumber": 45, "Cluster": 7}]
    assert EventLogReader().read(strangers) == []


def test_local_time_is_read_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [*_submitted(), {**_event(_EXECUTE), "Utc": False}]
    started = EventLogReader().read(events)[-1].started
    assert started is not None
    assert (started - 1769860800.5) % 900 == 0  # every zone is a multiple of a quarter of an hour away


def test_attempts_of_one_cluster_are_told_apart() -> None:
    """Three processes: attempt a on two hosts, attempt b on one; events come in any order after the submission."""
    notes = [submit_note("a", 2, 0), submit_note("a", 2, 1), submit_note("b", 1, 0)]
    log = EventLogReader()
    log.read(_event(_SUBMIT, 0, number, LogNotes=words) for number, words in enumerate(notes))
    reports = log.read([_event(_EXECUTE, 1, 2), _event(_EXECUTE, 2, 1), _event(_EXECUTE, 3, 0)])
    assert [(report.attempt, report.job, report.state.value) for report in reports] == [
        ("b", "7.2", "running"),
        ("a", "7.0", "running"),
    ]
    ends = log.read([_event(_TERMINATED, 9, rank, TerminatedNormally=True, ReturnValue=rank) for rank in (1, 2, 0)])
    assert [(report.attempt, report.exit_code) for report in ends] == [("b", 2), ("a", 1)]


def test_notes_without_a_rank_are_of_a_cluster_with_one_attempt() -> None:
    reports = EventLogReader().read([_event(_SUBMIT, 0, rank, LogNotes="cosched a 2") for rank in range(2)])
    assert [(report.attempt, report.job) for report in reports] == [("a", "7.0")]
