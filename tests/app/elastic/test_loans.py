from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cosched.app.elastic.loans import host_moves, hosts_sentences, loans_text
from cosched.app.views.explanation_views import ended_explanation
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.elastic.values import LeadStatus, RestartRecord
from cosched.coscheduler.task import TaskState
from tests.coscheduler.makers import elastic_task, restart_task


@pytest.mark.parametrize(
    ("loans", "text"),
    [
        ([], ""),
        ([(None, 5.0), (3.0, None), (4.0, 4.0)], ""),
        ([(0.0, 40.0)], "with up to 1 lent host, for 40 s"),
        ([(0.0, 30.0), (10.0, 20.0), (50.0, 60.0)], "with up to 2 lent hosts, for 40 s"),
        ([(0.0, 30.0), (30.0, 40.0)], "with up to 1 lent host, for 40 s"),
        ([(20.0, 40.0), (0.0, 30.0), (10.0, 25.0)], "with up to 3 lent hosts, for 40 s"),
    ],
)
def test_loans_are_counted_at_once_and_their_time_once(
    loans: list[tuple[float | None, float | None]], text: str
) -> None:
    assert loans_text(loans) == text


def worker(number: int, began: float, ended: float, *, loan: bool) -> Attempt:
    state = AttemptState.CANCELLED
    return Attempt(f"u{number}", "1", ("h",), 1, None, 0.0, state, started=began, finished=ended, loan=loan)


def test_a_task_that_has_ended_names_the_loans_that_made_it_shorter() -> None:
    task = elastic_task(1, [60.0]).with_status(state=TaskState.COMPLETED)
    attempts = [worker(1, 0.0, 60.0, loan=False), worker(2, 10.0, 50.0, loan=True)]
    assert hosts_sentences(task, attempts) == ["it ran with up to 1 lent host, for 40 s"]
    assert ended_explanation(task, attempts).waits_for[-1] == "it ran with up to 1 lent host, for 40 s"
    assert hosts_sentences(task, attempts[:1]) == []


def gone(number: int, host: str, by: float | None, ended: float | None, **changes: Any) -> Attempt:
    state = AttemptState.RUNNING if ended is None else AttemptState.CANCELLED
    values = {"started": 1.0, "finished": ended, "worker": number, "loan": True, "leave_by": by, "needed_by": "2"}
    return Attempt(f"u{number}", "1", (host,), 1, None, 0.0, **{"state": state, **values, **changes})


def test_hosts_that_were_given_back_together_are_said_together_with_the_last_end() -> None:
    attempts = [gone(2, "b", 40.0, 14.0), gone(1, "a", 40.0, 12.0), gone(3, "c", 90.0, 61.0)]
    attempts += [gone(4, "d", None, 70.0, needed_by=""), gone(5, "e", 95.0, 70.0, needed_by="")]
    assert [(each.hosts, each.giver, each.taker, each.time) for each in host_moves(attempts)] == [
        (("a", "b"), "1", "2", 14.0),
        (("c",), "1", "2", 61.0),
    ]


def test_hosts_that_are_still_being_left_have_no_time() -> None:
    (move,) = host_moves([gone(1, "a", 40.0, 12.0), gone(2, "b", 40.0, None)])
    assert (move.hosts, move.time) == (("a", "b"), None)


def test_a_program_that_ended_by_itself_when_it_was_asked_to_stop_gave_nothing() -> None:
    ended = gone(0, "a", 40.0, 12.0, loan=False, lead=LeadStatus(restarts=True), state=AttemptState.COMPLETED)
    assert host_moves([ended]) == ()
    assert len(host_moves([replace(ended, state=AttemptState.CHECKPOINTED)])) == 1


def test_the_last_twenty_moves_are_told() -> None:
    moves = host_moves([gone(number, "a", 40.0 + number, 12.0 + number) for number in range(1, 31)])
    assert [each.time for each in moves] == [12.0 + number for number in range(11, 31)]


def test_a_task_that_has_ended_says_how_often_it_was_started_again() -> None:
    record = RestartRecord(count=2, why="on 4 hosts it ends 38 s sooner")
    task = restart_task(1, [60.0]).with_status(state=TaskState.COMPLETED, restarts=record)
    told = ["it was started again 2 times, the last one: on 4 hosts it ends 38 s sooner"]
    assert hosts_sentences(task, []) == told
    unasked = task.with_status(restarts=RestartRecord(count=1))
    assert hosts_sentences(unasked, []) == ["it was started again 1 time, the last one without being asked"]


def test_a_program_that_did_not_stop_when_it_was_asked_is_remembered_for_it() -> None:
    task = restart_task(1, [60.0]).with_status(state=TaskState.COMPLETED)
    deaf = task.with_status(restarts=RestartRecord(unheeded=2))
    assert hosts_sentences(deaf, []) == ["it was asked to stop 2 times in vain, and let go on"]
    ended = task.with_status(restarts=RestartRecord(count=1, why="task 2", forced=1))
    assert hosts_sentences(ended, [])[-1].startswith("it was ended by force 1 time, for it had not stopped")
