"""Tasks whose jobs their users submitted to the manager themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.connector.jobs import JobState
from cosched.coscheduler.changes import CancelAttempt, LocateAttempt
from cosched.coscheduler.events import (
    AdoptedJobGone,
    AdoptedJobStarted,
    AttemptAbsent,
    AttemptMissing,
    AttemptSubmitted,
    CancelRequested,
    HostsObserved,
    SubmitFailed,
    Tick,
)
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.task import TaskState
from tests.coscheduler.makers import a_core, a_task, complete, dispatched, hosts, report, restore, start, submit

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler

KEY = "pool#12.0#1700000000"


def let_go() -> tuple[Coscheduler, Attempt]:
    core = a_core(2)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0], adopted=KEY)))
    return core, attempt


def test_an_attempt_that_is_called_back_closes_the_gate_and_the_job_is_let_go_again() -> None:
    core, attempt = let_go()
    outcome = core.handle(HostsObserved(1.0, hosts(2, down=[1])))
    assert CancelAttempt(attempt.uuid, KEY) in outcome.decisions
    assert LocateAttempt(attempt.uuid) in outcome.decisions  # without a fence, which would remove the job
    (second,) = dispatched(core.handle(AttemptAbsent(2.0, attempt.uuid)))
    assert second.hosts == ("node02",)
    assert second.uuid != attempt.uuid


def test_a_job_that_begins_while_its_gate_closes_runs_on() -> None:
    core, attempt = let_go()
    core.handle(HostsObserved(1.0, hosts(2, down=[1])))
    report(core, attempt, JobState.RUNNING, 1.5, started=1.4)
    assert core.tasks["1"].status.state is TaskState.RUNNING
    outcome = complete(core, attempt, 1.4, 11.0)
    assert outcome.changes.tasks["1"].status.state is TaskState.COMPLETED


def test_the_users_word_removes_the_job() -> None:
    core, attempt = let_go()
    start(core, attempt, 0.5)
    outcome = core.handle(CancelRequested(1.0, "1", "by ann"))
    assert CancelAttempt(attempt.uuid) in outcome.decisions
    assert LocateAttempt(attempt.uuid, fence=True) in outcome.decisions


def test_a_job_that_was_never_let_go_is_let_go_after_a_kill() -> None:
    """The attempt is written down before the edit, and the daemon is killed between the two."""
    core, attempt = let_go()
    again = a_core(2)
    outcome = restore(again, 5.0, tasks=core.tasks.values(), attempts=core.attempts.values())
    assert LocateAttempt(attempt.uuid) in outcome.decisions
    assert CancelAttempt(attempt.uuid, KEY) in again.handle(AttemptMissing(6.0, attempt.uuid)).decisions
    again.handle(HostsObserved(6.5, hosts(2)))
    (second,) = dispatched(again.handle(AttemptAbsent(7.0, attempt.uuid)))
    assert second.uuid != attempt.uuid


@pytest.mark.parametrize("waits", [True, False])
def test_a_job_that_leaves_the_queue_ends_a_task_that_waits_for_it(waits: bool) -> None:
    core = a_core(0 if waits else 2)
    submit(core, a_task(1, [10.0], adopted=KEY))
    outcome = core.handle(AdoptedJobGone(1.0, "1"))
    assert ("1" not in core.tasks) == waits
    if waits:
        assert outcome.changes.tasks["1"].status.state is TaskState.CANCELLED


def test_a_job_that_starts_without_cosched_is_an_attempt_where_it_runs() -> None:
    core = a_core(0)
    submit(core, a_task(1, [10.0], adopted=KEY))
    (attempt,) = dispatched(core.handle(AdoptedJobStarted(1.0, "1")))
    assert attempt.hosts == ()
    report(core, attempt, JobState.RUNNING, 2.0, started=0.9, hosts=("node07",))
    assert core.attempts[attempt.uuid].hosts == ("node07",)


def test_a_job_that_cannot_be_let_go_waits_alone_and_longer_each_time() -> None:
    """Its user held it, or marked it for another attempt: all their other tasks waited, up to a minute each time."""
    core = a_core(1, retry=1.0, retry_longest=60.0)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0], adopted=KEY, owner="ann")))
    for refused, until in ((0.5, 1.5), (1.5, 3.5), (3.5, 7.5)):
        outcome = core.handle(SubmitFailed(refused, attempt.uuid, "held by its user", transient=True, refused=True))
        assert (core.tasks["1"].status.state, core.tasks["1"].status.reason) == (TaskState.QUEUED, "held by its user")
        assert not dispatched(outcome)
        assert core.owner_limit("1") is None
        found = explain(core, "1", until - 0.25)
        assert found is not None
        assert found.waits_for[0] == "an attempt came to nothing (held by its user); tried again in 0.25 s"
        assert not dispatched(core.handle(Tick(until - 0.25)))
        (attempt,) = dispatched(core.handle(Tick(until)))
    core.handle(SubmitFailed(7.6, attempt.uuid, "held by its user", transient=True, refused=True))
    (other,) = dispatched(submit(core, a_task(2, [1.0], owner="ann"), 7.7))
    assert other.task == "2"
    complete(core, other, 7.8, 8.8)
    (attempt,) = dispatched(core.handle(Tick(15.6)))
    core.handle(AttemptSubmitted(15.7, attempt.uuid, "12.0"))
    report(core, attempt, JobState.EVICTED, 15.8)
    (attempt,) = dispatched(core.handle(AttemptAbsent(15.9, attempt.uuid)))
    core.handle(SubmitFailed(16.0, attempt.uuid, "held by its user", transient=True, refused=True))
    assert dispatched(core.handle(Tick(17.0)))  # it had been let go meanwhile: the pauses begin anew
