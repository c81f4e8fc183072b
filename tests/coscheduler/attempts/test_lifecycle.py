from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.connector.jobs import JobState
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptMissing,
    AttemptSubmitted,
    CancelRequested,
    HostsObserved,
    PredictionPassed,
    Restored,
    SavedState,
    SubmitFailed,
    Tick,
)
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.task import TaskState
from tests.coscheduler.makers import (
    a_core,
    a_task,
    cancelled,
    complete,
    dispatched,
    hosts,
    located,
    report,
    restore,
    settings,
    start,
    submit,
)


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


def test_a_lost_host_moves_the_task_elsewhere_after_the_manager_confirmed() -> None:
    core = a_core(2)
    (first,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, first, 0.0)
    outcome = report(core, first, JobState.EVICTED, 3.0, reason="node01 is gone")
    assert cancelled(outcome) == [first.uuid]
    assert not dispatched(outcome)  # not before the manager's word
    core.handle(HostsObserved(3.0, hosts(2, down=[1])))
    (second,) = dispatched(report(core, first, JobState.REMOVED, 4.0))
    assert (second.hosts, second.uuid != first.uuid) == (("node02",), True)
    assert core.tasks["1"].status.attempts == 2


def test_a_task_that_loses_its_hosts_again_and_again_fails_with_the_reason() -> None:
    core = a_core(2, attempts=2)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    report(core, attempt, JobState.EVICTED, 1.0)
    (attempt,) = dispatched(report(core, attempt, JobState.REMOVED, 1.0))
    report(core, attempt, JobState.EVICTED, 2.0, reason="node01 is gone")
    (task,) = report(core, attempt, JobState.REMOVED, 2.0).changes.tasks.values()
    assert (task.status.state, task.status.reason) == (
        TaskState.FAILED,
        "its hosts were lost under it 2 times; last: node01 is gone",
    )


def test_a_submit_with_a_lost_answer_is_looked_up_before_another_try() -> None:
    core = a_core(retry=1.0)
    (first,) = dispatched(submit(core, a_task(1)))
    outcome = core.handle(SubmitFailed(1.0, first.uuid, "timed out", transient=True))
    assert located(outcome) == [first.uuid]
    assert not dispatched(core.handle(Tick(5.0)))  # still live: it may have arrived
    (second,) = dispatched(core.handle(AttemptAbsent(11.0, first.uuid)))
    assert second.uuid != first.uuid


@pytest.mark.parametrize("answered", [False, True])
def test_an_attempt_that_waits_for_a_host_that_went_down_is_called_back(answered: bool) -> None:
    core = a_core(2)
    (first,) = dispatched(submit(core, a_task(1, [10.0])))
    if answered:
        core.handle(AttemptSubmitted(1.0, first.uuid, "1.0"))
    outcome = core.handle(HostsObserved(2.0, hosts(2, down=[1])))
    assert (first.hosts, cancelled(outcome)) == (("node01",), [first.uuid])
    (second,) = dispatched(report(core, first, JobState.REMOVED, 3.0))
    assert second.hosts == ("node02",)


def test_a_job_that_runs_is_left_to_the_manager_when_its_host_seems_down() -> None:
    core = a_core(2)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, attempt, 1.0)
    assert not cancelled(core.handle(HostsObserved(2.0, hosts(2, down=[1]))))
    assert complete(core, attempt, 1.0, 11.0).changes.tasks["1"].status.state is TaskState.COMPLETED


@pytest.mark.parametrize("crash", [False, True])
def test_an_attempt_that_the_manager_never_got_is_fenced_and_its_task_tried_again(crash: bool) -> None:
    core = a_core()
    (first,) = dispatched(submit(core, a_task(1)))
    outcome = core.handle(AttemptMissing(5.0, first.uuid))
    assert (cancelled(outcome), located(outcome)) == ([first.uuid], [first.uuid])
    if crash:
        tasks, attempts = list(core.tasks.values()), list(core.attempts.values())
        core = Coscheduler(settings())
        restore(core, 6.0, tasks=tasks, attempts=attempts)
        core.handle(HostsObserved(6.0, hosts(4)))
    # The fence looks like a removal in some managers: it is ours, not a user's who wants the task away.
    (second,) = dispatched(report(core, first, JobState.REMOVED, 7.0, reason="cancelled"))
    assert second.task == first.task


def test_a_submit_that_arrived_although_its_answer_was_lost_is_adopted() -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1)))
    core.handle(SubmitFailed(1.0, attempt.uuid, "timed out", transient=True))
    report(core, attempt, JobState.RUNNING, 2.0, job="7.0", started=1.5)
    assert core.attempt_of("1") is not None
    assert core.tasks["1"].status.state is TaskState.RUNNING


def test_a_task_whose_job_is_not_taken_says_why() -> None:
    core = a_core(retry=30.0)
    (attempt,) = dispatched(submit(core, a_task(1)))
    core.handle(SubmitFailed(1.0, attempt.uuid, "no space left in the spool", transient=True))
    core.handle(AttemptMissing(2.0, attempt.uuid))
    core.handle(AttemptAbsent(3.0, attempt.uuid))
    assert core.tasks["1"].status.reason == "no space left in the spool"
    (again,) = dispatched(core.handle(Tick(100.0)))
    core.handle(SubmitFailed(101.0, again.uuid, "no space left in the spool", transient=True))
    found = explain(core, "1", 102.0)
    assert found is not None
    assert found.waits_for[0].endswith("its last answer: no space left in the spool")


def test_an_absent_manager_gets_no_further_submits_for_a_growing_while() -> None:
    core = a_core(retry=1.0)
    (first,) = dispatched(submit(core, a_task(1, [10.0])))
    core.handle(SubmitFailed(0.0, first.uuid, "unreachable", transient=True))
    assert not dispatched(submit(core, a_task(2, [10.0]), 0.5))
    assert [attempt.task for attempt in dispatched(core.handle(Tick(1.0)))] == ["2"]


def test_a_submit_that_can_never_succeed_fails_the_task_with_the_managers_words() -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1)))
    (task,) = core.handle(SubmitFailed(1.0, attempt.uuid, "no such queue", transient=False)).changes.tasks.values()
    assert (task.status.state, task.status.reason) == (TaskState.FAILED, "no such queue")


def test_a_report_may_overtake_the_answer_to_the_submit() -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1)))
    report(core, attempt, JobState.RUNNING, 1.0, started=1.0)
    core.handle(AttemptSubmitted(1.1, attempt.uuid, "5.0"))
    live = core.attempt_of("1")
    assert live is not None
    assert (live.state, live.job) == (AttemptState.RUNNING, "5.0")


def test_an_unknown_state_is_looked_up_and_never_taken_for_done() -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1)))
    start(core, attempt, 0.0)
    assert located(report(core, attempt, JobState.UNKNOWN, 5.0)) == [attempt.uuid]
    assert core.tasks["1"].status.state is TaskState.RUNNING


def test_a_failed_job_fails_its_task_with_the_exit_code() -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1)))
    (task,) = report(core, attempt, JobState.FAILED, 3.0, exit_code=3).changes.tasks.values()
    assert (task.status.state, task.status.exit_code, task.status.reason) == (TaskState.FAILED, 3, "exit code 3")


def test_cancelling_a_waiting_task_is_immediate() -> None:
    core = a_core(0)
    submit(core, a_task(1))
    (task,) = core.handle(CancelRequested(1.0, "1")).changes.tasks.values()
    assert (task.status.state, task.status.reason) == (TaskState.CANCELLED, "cancelled by the user")


def test_cancelling_a_running_task_waits_for_the_manager_and_asks_again() -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1)))
    start(core, attempt, 0.0)
    assert cancelled(core.handle(CancelRequested(1.0, "1"))) == [attempt.uuid]
    assert core.tasks["1"].status.state is TaskState.CANCELLING
    assert not cancelled(core.handle(Tick(2.0)))
    assert cancelled(core.handle(Tick(6.0))) == [attempt.uuid]
    (task,) = report(core, attempt, JobState.REMOVED, 7.0).changes.tasks.values()
    assert task.status.state is TaskState.CANCELLED


@pytest.mark.parametrize(
    ("state", "end"), [(JobState.COMPLETED, TaskState.COMPLETED), (JobState.FAILED, TaskState.CANCELLED)]
)
def test_a_task_that_ends_while_it_is_cancelled_ends_as_it_did(state: JobState, end: TaskState) -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1)))
    start(core, attempt, 0.0)
    core.handle(CancelRequested(1.0, "1"))
    (task,) = report(core, attempt, state, 2.0, started=0.0, finished=1.5, exit_code=0).changes.tasks.values()
    assert task.status.state is end


def test_a_cancel_that_overtook_its_submit_is_said_again() -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1)))
    core.handle(CancelRequested(1.0, "1"))
    assert cancelled(core.handle(AttemptSubmitted(1.1, attempt.uuid, "5.0"))) == [attempt.uuid]


def test_a_job_that_somebody_removed_by_hand_is_not_run_again() -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1)))
    start(core, attempt, 0.0)
    (task,) = report(core, attempt, JobState.REMOVED, 2.0, reason="via condor_rm (by user ann)").changes.tasks.values()
    assert (task.status.state, task.status.reason) == (TaskState.CANCELLED, "via condor_rm (by user ann)")


def test_a_held_job_gives_its_hosts_to_others_and_takes_them_back_when_released() -> None:
    core = a_core(1)
    (held,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, held, 0.0)
    assert not dispatched(submit(core, a_task(2, [10.0])))
    outcome = report(core, held, JobState.HELD, 2.0, reason="out of quota")
    assert [attempt.task for attempt in dispatched(outcome)] == ["2"]
    assert core.tasks["1"].status.reason == "held by the resource manager: out of quota"
    report(core, held, JobState.RUNNING, 5.0, started=5.0)
    assert (core.tasks["1"].status.state, core.tasks["1"].status.reason) == (TaskState.RUNNING, "")


def test_the_wait_for_hosts_of_the_managers_choice_is_no_hand_over() -> None:
    """Plans had seconds of start delay in each task, learnt from jobs that waited for all hosts at once."""
    core = a_core(2)
    (attempt,) = dispatched(submit(core, a_task(1, None)))
    report(core, attempt, JobState.RUNNING, 50.0, started=50.0, hosts=("node01",))
    assert core.planning_view.assumptions(50.0).handover == 0.0
    (planned,) = dispatched(submit(core, a_task(2, [10.0]), 51.0))
    report(core, planned, JobState.RUNNING, 53.0, started=53.0)
    assert core.planning_view.assumptions(53.0).handover == 2.0


def test_a_task_that_passed_through_says_where_it_runs_and_ran() -> None:
    core = a_core(2)
    (attempt,) = dispatched(submit(core, a_task(1, None)))
    report(core, attempt, JobState.RUNNING, 5.0, started=5.0, hosts=("node02",))
    assert core.tasks["1"].status.hosts == ("node02",)
    (quick,) = dispatched(submit(core, a_task(2, None), 6.0))
    ended = report(core, quick, JobState.COMPLETED, 7.0, started=6.5, finished=7.0, hosts=("node01",))
    assert ended.changes.tasks["2"].status.hosts == ("node01",)


def test_what_the_manager_says_of_a_running_task_is_its_reason_until_it_says_so_no_more() -> None:
    core = a_core(2)
    (attempt,) = dispatched(submit(core, a_task(1, [20.0, 10.0])))
    start(core, attempt, 0.5)
    report(core, attempt, JobState.RUNNING, 1.0, reason="rank 1 is held: too large")
    assert (core.tasks["1"].status.state, core.tasks["1"].status.reason) == (
        TaskState.RUNNING,
        "rank 1 is held: too large",
    )
    report(core, attempt, JobState.RUNNING, 2.0)
    assert core.tasks["1"].status.reason == ""
