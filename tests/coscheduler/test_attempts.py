from __future__ import annotations

from dataclasses import replace

from cosched.connector.jobs import JobState
from cosched.coscheduler.events import (
    AttemptMissing,
    HostsObserved,
    PredictionPassed,
    Restored,
    SavedState,
    SubmitFailed,
)
from cosched.coscheduler.task import AttemptState, TaskState
from tests.coscheduler.makers import a_core, a_task, cancelled, dispatched, hosts, located, report, start, submit


def test_a_host_that_goes_down_before_the_job_begins_calls_the_attempt_back() -> None:
    core = a_core(2)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    outcome = core.handle(HostsObserved(1.0, hosts(2, down=[1])))
    assert cancelled(outcome) == [attempt.uuid]
    (second,) = dispatched(report(core, attempt, JobState.REMOVED, 2.0))
    assert second.hosts == ("node02",)


def test_a_host_that_goes_down_under_a_job_is_left_to_the_managers_word() -> None:
    core = a_core(2)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, attempt, 0.5)
    assert not cancelled(core.handle(HostsObserved(1.0, hosts(2, down=[1]))))  # draining hosts let their jobs end


def test_a_submit_refused_because_of_our_own_cancel_does_not_fail_the_task() -> None:
    core = a_core(2)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    core.handle(HostsObserved(1.0, hosts(2, down=[1])))
    outcome = core.handle(SubmitFailed(1.1, attempt.uuid, "it was cancelled before", transient=False))
    assert [item.hosts for item in dispatched(outcome)] == [("node02",)]


def test_a_missing_attempt_is_written_down_as_given_up_before_it_is_fenced() -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1)))
    outcome = core.handle(AttemptMissing(30.0, attempt.uuid))
    assert [item.state for item in outcome.changes.attempts.values()] == [AttemptState.CANCELLING]
    assert cancelled(outcome) == located(outcome) == [attempt.uuid]
    assert core.tasks["1"].status.state is TaskState.DISPATCHING


def test_a_task_that_lost_its_hosts_twice_is_held_back_for_a_growing_while() -> None:
    core = a_core(1, retry=1.0)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    for time, pause in ((10.0, 0.0), (20.0, 1.0), (30.0, 2.0)):
        report(core, attempt, JobState.EVICTED, time)
        left = dispatched(report(core, attempt, JobState.REMOVED, time))
        assert bool(left) == (pause == 0.0)
        if not left:
            assert core.held_back_until("1") == time + pause
            left = dispatched(core.handle(HostsObserved(time + pause, hosts(1))))
        (attempt,) = left


def test_an_attempt_that_was_cancelled_after_the_backup_is_no_users_wish() -> None:
    """Its host went down: it was given up, and the restored database did not know. The task ended as cancelled."""
    former = a_core(1)
    (attempt,) = dispatched(submit(former, a_task(1, [10.0])))
    core = a_core(1)
    state = SavedState((former.tasks["1"],), (attempt,), last_number=1, forgotten=1)
    core.handle(Restored(1.0, state))
    core.handle(HostsObserved(1.0, hosts(1)))
    (second,) = dispatched(report(core, attempt, JobState.REMOVED, 2.0))
    core.handle(SubmitFailed(3.0, second.uuid, "it was cancelled before", transient=False))
    (third,) = dispatched(core.handle(HostsObserved(100.0, hosts(1))))
    start(core, third, 101.0)  # from here on the manager's word is of now
    report(core, third, JobState.REMOVED, 102.0)
    assert "1" not in core.tasks


def test_what_came_after_a_restored_backup_is_removed_by_hand() -> None:
    former = a_core(1)
    (attempt,) = dispatched(submit(former, a_task(2, [10.0])))
    core = a_core(1)
    core.handle(Restored(1.0, SavedState((former.tasks["2"],), (attempt,), last_number=2, forgotten=1)))
    (task,) = report(core, attempt, JobState.REMOVED, 2.0).changes.tasks.values()
    assert task.status.state is TaskState.CANCELLED


def test_a_number_that_comes_again_names_no_former_attempt() -> None:
    """A restored backup gives numbers out again: their first users' jobs and outputs must not be found by others."""
    task = a_task(125, [10.0])
    first, again, restored = (
        dispatched(submit(a_core(1), each))[0].uuid
        for each in (task, replace(task, submitted=task.submitted - 1e-3), task)
    )
    assert first != again
    assert restored == first  # the same task finds what it ran before


def test_a_passed_prediction_moves_the_end_that_plans_reckon_with() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, attempt, 0.5)
    submit(core, a_task(2, [5.0]), 1.0)
    outcome = core.handle(PredictionPassed(10.5, attempt.uuid, 70.0))
    assert [(item.predicted, item.state) for item in outcome.changes.attempts.values()] == [
        (70.0, AttemptState.RUNNING)
    ]
    assert core.planning_view.expected_end("1", 11.0) == 70.5
    assert core.tasks["1"].status.predicted == 10.0  # what was foretold is what its accuracy is judged by
    report(core, attempt, JobState.COMPLETED, 20.0)
    assert not core.handle(PredictionPassed(21.0, attempt.uuid, 370.0)).changes.attempts  # too late
