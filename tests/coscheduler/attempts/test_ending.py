from __future__ import annotations

from typing import Any

import pytest

from cosched.connector.jobs import JobState
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.edits import TaskEdit
from cosched.coscheduler.events import CancelRequested, EditRequested, HostsObserved, Tick
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.task import TaskState
from tests.coscheduler.makers import a_core, a_task, dispatched, hosts, report, restore, start, submit


def failed(time: float, **values: Any) -> dict[str, Any]:
    return {"exit_code": 3, "started": time - 1.0, "finished": time, **values}


@pytest.mark.parametrize("seconds", [[10.0], None])
def test_a_program_that_fails_is_run_again_as_often_as_asked(seconds: list[float] | None) -> None:
    core = a_core(1)
    (first,) = dispatched(submit(core, a_task(1, seconds, retries=2)))
    outcome = report(core, first, JobState.FAILED, 2.0, **failed(2.0))
    assert outcome.changes.attempts[first.uuid].state is AttemptState.FAILED
    (second,) = dispatched(outcome)
    assert core.tasks["1"].status.failures == 1
    assert not dispatched(report(core, second, JobState.FAILED, 4.0, **failed(4.0)))
    found = explain(core, "1", 4.0)
    assert found is not None
    assert found.waits_for[0].startswith("an attempt came to nothing (exit code 3 (try 2 of 3)); tried again in ")
    (third,) = dispatched(core.handle(Tick(100.0)))
    assert len({first.uuid, second.uuid, third.uuid}) == 3
    outcome = report(core, third, JobState.FAILED, 102.0, **failed(102.0))
    (task,) = outcome.changes.tasks.values()
    assert (task.status.state, task.status.exit_code, task.status.failures) == (TaskState.FAILED, 3, 3)
    assert task.status.reason == "exit code 3 (try 3, the last)"


def test_a_retry_that_completes_ends_the_task_well() -> None:
    core = a_core(1)
    (first,) = dispatched(submit(core, a_task(1, retries=5)))
    (second,) = dispatched(report(core, first, JobState.FAILED, 2.0, **failed(2.0)))
    start(core, second, 2.5)
    outcome = report(core, second, JobState.COMPLETED, 4.0, started=2.5, finished=4.0, exit_code=0)
    (task,) = outcome.changes.tasks.values()
    assert (task.status.state, task.status.failures, task.status.actual) == (TaskState.COMPLETED, 1, 1.5)


@pytest.mark.parametrize(
    ("state", "code", "adopted"),
    [(JobState.FAILED, None, ""), (JobState.FAILED, 3, "pool#12.0#5"), (JobState.REMOVED, None, "")],
)
def test_what_no_program_did_or_cannot_run_again_is_not_tried_again(
    state: JobState, code: int | None, adopted: str
) -> None:
    core = a_core(1)
    (first,) = dispatched(submit(core, a_task(1, retries=2, adopted=adopted)))
    outcome = report(core, first, state, 2.0, reason="by hand", exit_code=code)
    assert outcome.changes.tasks["1"].status.state.final
    assert not dispatched(outcome)


def test_a_lost_job_is_no_failure_and_nothing_is_tried_before_its_end_is_known() -> None:
    core = a_core(1)
    (first,) = dispatched(submit(core, a_task(1, retries=1)))
    start(core, first, 0.5)
    assert not dispatched(report(core, first, JobState.EVICTED, 1.0))
    (second,) = dispatched(report(core, first, JobState.REMOVED, 2.0))
    assert core.tasks["1"].status.failures == 0
    (third,) = dispatched(report(core, second, JobState.FAILED, 9.0, **failed(9.0)))
    assert not dispatched(report(core, second, JobState.FAILED, 9.5, **failed(9.0)))  # told twice
    assert core.attempts.keys() == {third.uuid}


def test_a_task_that_is_not_to_be_run_again_fails_with_its_host_once_it_has_begun() -> None:
    core = a_core(1)
    (first,) = dispatched(submit(core, a_task(1, requeue=False)))
    report(core, first, JobState.EVICTED, 1.0)
    (second,) = dispatched(report(core, first, JobState.REMOVED, 2.0))  # nothing of it had run
    start(core, second, 3.0)
    report(core, second, JobState.EVICTED, 4.0, reason="the host went away")
    outcome = report(core, second, JobState.REMOVED, 5.0)
    assert not dispatched(outcome)
    (task,) = outcome.changes.tasks.values()
    assert task.status.state is TaskState.FAILED
    assert task.status.reason == "the host went away; it had begun, and is not to be run again (--no-requeue)"


def test_failures_are_known_after_a_restart() -> None:
    core = a_core(1)
    restore(core, 0.0, tasks=[a_task(1, retries=2, failures=2, attempts=2)])
    (last,) = dispatched(core.handle(HostsObserved(1.0, hosts(1))))
    outcome = report(core, last, JobState.FAILED, 2.0, **failed(2.0))
    assert outcome.changes.tasks["1"].status.state is TaskState.FAILED


def test_a_cancelled_task_is_not_tried_again() -> None:
    core = a_core(1)
    (first,) = dispatched(submit(core, a_task(1, retries=2)))
    core.handle(CancelRequested(1.0, "1"))
    outcome = report(core, first, JobState.FAILED, 2.0, **failed(2.0))
    assert outcome.changes.tasks["1"].status.state is TaskState.CANCELLED


@pytest.mark.parametrize("retries", [1, 0])
def test_retries_that_are_lowered_below_the_failures_end_with_the_next_one(retries: int) -> None:
    """Regression: the count was passed by, and the program was run again and again."""
    core = a_core(1)
    (first,) = dispatched(submit(core, a_task(1, retries=3)))
    (second,) = dispatched(report(core, first, JobState.FAILED, 2.0, **failed(2.0)))
    report(core, second, JobState.FAILED, 4.0, **failed(4.0))
    core.handle(EditRequested(4.5, "1", TaskEdit(retries=retries), "ann"))
    (third,) = dispatched(core.handle(Tick(100.0)))
    outcome = report(core, third, JobState.FAILED, 102.0, **failed(102.0))
    assert outcome.changes.tasks["1"].status.state is TaskState.FAILED
    assert not core.tasks
