from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.connector.jobs import JobState
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.dispatching.submit_limits import SubmitLimits
from cosched.coscheduler.events import AttemptSubmitted, CancelRequested, SubmitFailed, Tick
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.task import TaskState
from tests.coscheduler.makers import a_core, a_task, complete, dispatched, located, report, settings, submit

if TYPE_CHECKING:
    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.core import Coscheduler

FULL = "the queue is full"


def taken(core: Coscheduler, attempt: Attempt, time: float) -> Outcome:
    return core.handle(AttemptSubmitted(time, attempt.uuid, attempt.uuid[:4]))


def refused(core: Coscheduler, attempt: Attempt, time: float) -> Outcome:
    return core.handle(SubmitFailed(time, attempt.uuid, FULL, transient=True, refused=True))


def test_who_was_never_refused_has_room() -> None:
    admission = SubmitLimits(settings())
    admission.note_success("ada", 5)
    assert admission.room("ada", 10**6, 0.0) == math.inf


def test_a_refused_owner_has_what_was_taken_and_tries_one_more_after_a_pause_that_doubles() -> None:
    admission = SubmitLimits(settings(retry=1.0, retry_longest=3.0))
    for time, until in ((0.0, 1.0), (1.0, 3.0), (3.0, 6.0), (6.0, 9.0)):
        admission.note_refusal("ada", 4, FULL, time)
        assert [admission.room("ada", live, until - 0.1) for live in (2, 4, 5)] == [2, 0, 0]
        assert [admission.room("ada", live, until) for live in (2, 4, 5)] == [3, 1, 0]
    assert admission.room("bob", 4, 9.0) == math.inf


def test_those_that_left_together_and_are_refused_together_make_one_pause() -> None:
    admission = SubmitLimits(settings(retry=1.0))
    for _ in range(16):
        admission.note_refusal("ada", 4, FULL, 0.0)
    assert admission.room("ada", 4, 1.0) == 1


def test_each_one_that_is_taken_beyond_the_limit_lets_twice_as_many_go() -> None:
    admission = SubmitLimits(settings(retry=1.0))
    admission.note_refusal("ada", 4, FULL, 0.0)
    for count, room in ((5, 2), (6, 4), (7, 8)):
        admission.note_success("ada", count)
        assert admission.room("ada", count, 1.0) == room
    admission.note_success("ada", 3)  # others have ended meanwhile: that says nothing of the limit
    assert admission.room("ada", 7, 1.0) == 8


def test_a_refused_attempt_is_over_at_once_and_its_task_waits_with_the_managers_words() -> None:
    core = a_core(2, retry=10.0)
    (first,) = dispatched(submit(core, a_task(1, [10.0])))
    taken(core, first, 0.1)
    (second,) = dispatched(submit(core, a_task(2, [10.0]), 0.2))
    outcome = refused(core, second, 0.3)
    assert [attempt.state for attempt in outcome.changes.attempts.values()] == [AttemptState.LOST]
    assert not located(outcome)
    assert not dispatched(outcome)
    assert (core.tasks["2"].status.state, core.tasks["2"].status.reason) == (TaskState.QUEUED, FULL)
    found = explain(core, "2", 5.3)
    assert found is not None
    assert found.waits_for[0] == f"{FULL}; tried again when a task of its owner ends, or in 5.0 s"
    assert not dispatched(core.handle(Tick(10.2)))
    (third,) = dispatched(core.handle(Tick(10.3)))
    assert (third.task, third.uuid != second.uuid) == ("2", True)


def test_the_end_of_a_task_of_the_same_owner_lets_the_next_go_without_a_pause() -> None:
    core = a_core(3, retry=1000.0)
    attempts = [dispatched(submit(core, a_task(number, [10.0])))[0] for number in (1, 2)]
    for attempt in attempts:
        taken(core, attempt, 0.1)
    (extra,) = dispatched(submit(core, a_task(3, [10.0]), 0.2))
    refused(core, extra, 0.3)
    submit(core, a_task(4, [10.0]), 0.4)
    assert len(dispatched(complete(core, attempts[0], 1.0, 11.0))) == 1


def test_tasks_of_others_leave_meanwhile_in_the_place_of_those_that_are_refused() -> None:
    core = a_core(1, retry=1000.0)
    (first,) = dispatched(submit(core, a_task(1, [10.0], owner="ada")))
    refused(core, first, 0.1)
    assert [attempt.task for attempt in dispatched(submit(core, a_task(2, [10.0], owner="bob"), 0.2))] == ["2"]


def test_tasks_without_a_profile_leave_as_far_as_there_is_room() -> None:
    core = a_core(retry=10.0)
    first, second = (dispatched(submit(core, a_task(number, None)))[0] for number in (1, 2))
    taken(core, first, 0.1)
    refused(core, second, 0.2)
    for number in (3, 4):
        assert not dispatched(submit(core, a_task(number, None), 0.3))
    assert len(dispatched(core.handle(Tick(10.2)))) == 1


def test_an_attempt_that_was_being_cancelled_when_it_was_refused_is_cancelled() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    core.handle(CancelRequested(0.1, "1", "enough"))
    (task,) = refused(core, attempt, 0.2).changes.tasks.values()
    assert (task.status.state, task.status.reason) == (TaskState.CANCELLED, "enough")
    assert not report(core, attempt, JobState.REMOVED, 0.3).changes.tasks
