from __future__ import annotations

import pytest

from cosched.app.elastic.loans import hosts_sentences, loans_text
from cosched.app.views.explanation_views import ended_explanation
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.elastic.values import RestartRecord
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
