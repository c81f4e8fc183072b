from __future__ import annotations

import io
import math
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from hypothesis import note
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cosched.connector.hosts import Host
from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched.connector.jobs import JobReport, JobState, LaunchMode
from cosched.coscheduler.changes import CancelAttempt, DiagnoseAttempt, DispatchAttempt, LocateAttempt, Replan
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.edits import TaskEdit
from cosched.coscheduler.elastic.values import ElasticSettings
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptBegun,
    AttemptDiagnosed,
    AttemptMissing,
    AttemptSubmitted,
    CancelRequested,
    EditRequested,
    Event,
    HoldRequested,
    HostsObserved,
    HostsReserved,
    JobReported,
    NeighboursChanged,
    ReleaseRequested,
    ReservationReleased,
    ScheduleImproved,
    SearchAwaited,
    SharesChanged,
    SubmitFailed,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.places.hosts import expected_end
from cosched.coscheduler.planning.problem_builder import run_times
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.recording.lines import RecordingWriter, read_recording
from cosched.coscheduler.recording.replay import ReplayedEvent, replay
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.sharing.shares import Share, Shares
from cosched.coscheduler.task import AttemptState, TaskState
from cosched.prediction.loads.host_load import HostLoad
from cosched.prediction.profile import PredictionSource, Profile
from cosched.scheduling.schedule import check_schedule
from tests.coscheduler.makers import (
    a_core,
    a_task,
    cancelled,
    complete,
    dispatched,
    hosts,
    located,
    mixed_hosts,
    on_both,
    report,
    restore,
    settings,
    start,
    submit,
)
from tests.exploring import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.task import Attempt, Task


def test_a_run_that_completes_is_kept_for_predictions_and_no_other() -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    (run,) = complete(core, attempt, 1.0, 12.0).changes.runs
    assert (run.task, run.application, run.hosts, run.predicted, run.seconds) == ("1", "app", 1, 10.0, 11.0)
    (failing,) = dispatched(submit(core, a_task(2, [10.0])))
    failed = report(core, failing, JobState.FAILED, 30.0, started=20.0, finished=30.0, exit_code=1)
    assert not failed.changes.runs
    (through,) = dispatched(submit(core, a_task(3, None, count=2)))
    (run,) = complete(core, through, 40.0, 45.0).changes.runs
    assert (run.hosts, run.predicted, run.seconds) == (2, None, 5.0)


def test_a_run_that_a_model_had_foretold_is_kept_with_its_launch() -> None:
    core, task = a_core(), a_task(1, [10.0])
    assert task.profile is not None
    found = []
    for number, source in enumerate((PredictionSource.MODEL, PredictionSource.USER)):
        profile, spec = replace(task.profile, source=source), replace(task.spec, launch=LaunchMode.ONCE)
        (attempt,) = dispatched(submit(core, replace(task, id=str(number + 1), profile=profile, spec=spec)))
        (run,) = complete(core, attempt, 20.0 * number + 1.0, 20.0 * number + 12.0).changes.runs
        found.append(run.launch)
    assert found == ["once", ""]


def test_a_run_is_kept_with_the_range_that_was_expected_of_it() -> None:
    core, task = a_core(), a_task(1, [10.0])
    assert task.profile is not None
    (attempt,) = dispatched(submit(core, replace(task, profile=replace(task.profile, low=(8.0,), high=(13.0,)))))
    (run,) = complete(core, attempt, 1.0, 12.0).changes.runs
    assert (run.low, run.high) == pytest.approx((8.0, 13.0))


def test_a_run_on_hosts_of_several_classes_tells_nothing() -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, mixed_hosts()))
    for number, count in ((1, 3), (2, 1)):
        (attempt,) = dispatched(
            submit(core, on_both(number, [99.0] * (count - 1) + [5.0], [99.0] * (count - 1) + [5.0]))
        )
        runs = complete(core, attempt, 1.0, 6.0).changes.runs
        assert [run.hardware in ("fast", "slow") for run in runs] == [True] * (count == 1)


def test_a_task_leaves_for_idle_hosts_and_completes() -> None:
    core = a_core()
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    assert (attempt.task, attempt.hosts, attempt.predicted) == ("1", ("node01",), 10.0)
    start(core, attempt, 1.0)
    assert core.tasks["1"].status.state is TaskState.RUNNING
    outcome = complete(core, attempt, 1.0, 12.0)
    (task,) = outcome.changes.tasks.values()
    assert (task.status.state, task.status.actual, task.status.exit_code) == (TaskState.COMPLETED, 11.0, 0)
    assert not core.tasks
    assert not core.attempts


def test_the_attempt_is_in_the_outcome_that_dispatches_it_so_that_it_can_be_written_down_first() -> None:
    outcome = submit(a_core(), a_task(1))
    assert list(outcome.changes.attempts) == [attempt.uuid for attempt in dispatched(outcome)]
    assert [(task.id, task.status.state) for task in outcome.changes.tasks.values()] == [("1", TaskState.DISPATCHING)]


def test_a_new_task_waits_for_the_search_but_not_longer_than_the_staging_time() -> None:
    core = a_core(staging=2.0)
    assert not dispatched(submit(core, a_task(1)))
    assert not dispatched(core.handle(Tick(1.9)))
    assert dispatched(core.handle(Tick(2.0)))


def test_numbers_go_on_after_those_of_a_former_process_and_of_tasks_that_were_refused() -> None:
    core = a_core()
    restore(core, 0.0, tasks=[a_task(3)])
    assert core.next_number == 4
    submit(core, a_task(7), 1.0)
    core.handle(CancelRequested(2.0, "7"))
    assert (core.next_number, Coscheduler.from_snapshot(core.settings, core.snapshot()).next_number) == (8, 8)


def in_order(core: Coscheduler) -> list[str]:
    return list(core.plan.tasks)


@pytest.mark.parametrize(("policy", "behind"), [("genetic", "21"), ("titan-classic", "21"), ("edf", "12")])
def test_a_task_in_a_hurry_has_its_place_before_the_search_has_looked_at_it(policy: str, behind: str) -> None:
    core = a_core(1, staging=100.0, policy=policy)
    submit(core, a_task(0, [5.0]))  # runs, or will
    submit(core, a_task(1, [10.0]), 1.0)
    submit(core, a_task(2, [3.0], deadline=13.0), 2.0)
    assert "".join(in_order(core)).replace("0", "") == behind  # where plans are made at every event it is as it came


def test_tasks_that_arrive_together_are_in_order_of_their_deadlines() -> None:
    core = a_core(1, staging=100.0)
    for number in range(1, 4):
        submit(core, a_task(number, [3.0], deadline=9.1 - number), 0.01 * number)
    assert in_order(core) == ["3", "2", "1"]
    submit(core, a_task(4, [3.0]), 0.04)
    submit(core, a_task(5, [3.0], deadline=7.5), 0.05)
    assert in_order(core) == ["3", "2", "5", "1", "4"]


def test_a_new_task_in_a_hurry_stays_behind_its_predecessors() -> None:
    core = a_core(1, staging=100.0)
    submit(core, a_task(1, [10.0]))
    submit(core, a_task(2, [10.0]))
    submit(core, a_task(3, [3.0], deadline=4.0, after=("1",)))
    assert in_order(core) == ["1", "3", "2"]


def test_where_hosts_differ_a_new_task_that_is_in_a_hurry_is_first_on_the_fast_one() -> None:
    core = a_mixed_core(staging=100.0)
    submit(core, on_both(1, [10.0], [20.0]))
    submit(core, on_both(2, [3.0], [9.0], deadline=4.0), 1.0)
    assert in_order(core) == ["2", "1"]
    forecast = core.planning_view.forecast(1.0)
    assert forecast is not None
    assert [spot.hosts for spot in forecast[1].assignments if spot.task == "2"] == [("node01",)]


def a_mixed_core(**changes: Any) -> Coscheduler:
    core = Coscheduler(settings(**changes))
    core.handle(HostsObserved(0.0, mixed_hosts()))
    return core


def test_a_task_is_predicted_on_the_class_of_hosts_that_it_gets() -> None:
    """It was planned as if every host were of the slowest class."""
    core = a_mixed_core()
    (first,) = dispatched(submit(core, on_both(1, [4.0], [9.0])))
    (second,) = dispatched(submit(core, on_both(2, [4.0], [7.0])))
    assert (first.hosts, first.predicted) == (("node01",), 4.0)
    assert (second.predicted, core.tasks["2"].correction) == (7.0, "app/slow")


def test_waiting_for_a_fast_host_can_be_better_than_a_slow_one_that_is_idle() -> None:
    core = a_mixed_core()
    submit(core, on_both(1, [4.0], [9.0]))
    assert not dispatched(submit(core, on_both(2, [2.0], [20.0])))
    forecast = core.planning_view.forecast(0.0)
    assert forecast is not None
    assert [(item.hosts, item.end) for item in forecast[1].assignments] == [(("node01",), 6.0)]


def test_the_search_says_whose_hosts_a_task_takes() -> None:
    core = a_mixed_core(staging=100.0)
    submit(core, on_both(1, [5.0], [6.0]))
    submit(core, on_both(2, [5.0], [30.0]))
    outcome = core.handle(ScheduleImproved(0.1, TaskPlan(("1", "2"), (1, 1), ("slow", ""))))
    assert {attempt.task: attempt.hosts for attempt in dispatched(outcome)} == {"1": ("node02",), "2": ("node01",)}


def test_hosts_of_several_classes_together_are_as_slow_as_the_slowest() -> None:
    core = a_mixed_core()
    (attempt,) = dispatched(submit(core, on_both(1, [9.0, 6.0, 2.0], [20.0, 18.0, 2.5])))
    assert (len(attempt.hosts), attempt.predicted) == (3, 2.5)
    assert core.tasks["1"].correction == "app/fast+slow"


def test_what_a_class_teaches_holds_for_that_class() -> None:
    core = a_mixed_core()
    (attempt,) = dispatched(submit(core, on_both(1, [4.0], [9.0])))
    start(core, attempt, 0.0)
    complete(core, attempt, 0.0, 8.0)
    assert {key: learned.factor for key, learned in core.corrections().items()} == {"app/fast": pytest.approx(2.0)}
    (attempt,) = dispatched(submit(core, on_both(2, [4.0], [9.5]), 10.0))
    assert attempt.predicted == pytest.approx(8.0)


def test_a_class_that_was_not_known_when_the_task_came_counts_as_the_slowest() -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, (Host("new", "newest"),)))
    (attempt,) = dispatched(submit(core, on_both(1, [4.0], [9.0])))
    assert attempt.predicted == 9.0


@pytest.mark.parametrize("policy", ["fcfs-maximum", "fcfs-calculated", "fcfs-arbitrary", "easy", "edf"])
def test_other_policies_know_the_classes_too(policy: str) -> None:
    core = a_mixed_core(policy=policy)
    (attempt,) = dispatched(submit(core, on_both(1, [4.0], [9.0])))
    assert (attempt.hosts, attempt.predicted) == (("node01",), 4.0)


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


def test_run_times_correct_later_predictions() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    complete(core, attempt, 0.0, 20.0)
    (attempt,) = dispatched(submit(core, a_task(2, [10.0]), 30.0))
    assert attempt.predicted == pytest.approx(20.0)


def test_the_time_a_manager_takes_to_start_a_job_is_planned_with() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, attempt, 0.5)
    submit(core, a_task(2, [10.0]))
    forecast = core.planning_view.forecast(0.5)
    assert forecast is not None
    assert [(spot.start, spot.end) for spot in forecast[1].assignments] == [(10.0, 20.5)]
    (second,) = dispatched(complete(core, attempt, 0.5, 10.5))
    assert second.predicted == pytest.approx(10.0)


def test_a_job_that_outruns_its_prediction_is_planned_round() -> None:
    core = a_core(2)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, attempt, 0.0)
    assert core.domain.occupied(core.attempts.values(), 5.0) == {"node01": 10.0}
    late = core.domain.occupied(core.attempts.values(), 30.0)["node01"]
    assert late == pytest.approx(40.0)


def test_a_restart_adopts_what_lives_and_queues_what_waits() -> None:
    former = a_core(1)
    (running,) = dispatched(submit(former, a_task(1, [10.0])))
    submit(former, a_task(2, [10.0]))
    core = Coscheduler(settings())
    outcome = restore(core, 5.0, tasks=former.tasks.values(), attempts=former.attempts.values())
    assert located(outcome) == [running.uuid]
    core.handle(HostsObserved(5.0, hosts(1)))
    assert core.attempt_of("2") is None  # the only host may still be in use
    outcome = complete(core, running, 0.0, 9.0)
    assert [attempt.task for attempt in dispatched(outcome)] == ["2"]


def test_a_restart_goes_on_cancelling() -> None:
    former = a_core()
    (attempt,) = dispatched(submit(former, a_task(1)))
    former.handle(CancelRequested(1.0, "1"))
    core = Coscheduler(settings())
    assert cancelled(restore(core, 5.0, tasks=former.tasks.values(), attempts=former.attempts.values())) == [
        attempt.uuid
    ]


def test_a_restart_learns_from_what_completed() -> None:
    former = a_core(1)
    (attempt,) = dispatched(submit(former, a_task(1, [10.0])))
    done = complete(former, attempt, 0.0, 20.0).changes.tasks.values()
    core = Coscheduler(settings())
    restore(core, 25.0, completed=done)
    assert core.corrections() == former.corrections()
    assert core.corrections()["app/test"].factor == pytest.approx(2.0)


UNSURE = Profile((10.0, 6.0), PredictionSource.MODEL, "test", (8.0, 5.0), (15.0, 9.0))


@pytest.mark.parametrize(("quantile", "planned"), [(0.05, 8.0), (0.5, 10.0), (0.95, 15.0)])
def test_hosts_are_planned_for_the_share_of_runs_that_is_set(quantile: float, planned: float) -> None:
    core = a_core(1, quantile=quantile)
    task = replace(a_task(1), profile=UNSURE)
    (attempt,) = dispatched(outcome := submit(core, task))
    assert attempt.predicted == pytest.approx(planned)
    assert outcome.changes.tasks["1"].status.predicted == 10.0, "accuracy is measured by what is expected"
    submit(core, replace(task, id="2"), 1.0)
    problem, schedule = core.planning_view.forecast(1.0) or pytest.fail("nothing waits")
    assert problem.seconds[0, 0, 0] == pytest.approx(planned)
    assert schedule.assignments[0].start == pytest.approx(planned)  # from now: the first has not begun yet


def test_what_runs_have_taught_widens_what_is_planned_with() -> None:
    core = a_core(1, quantile=0.95)
    for number, actual in enumerate([10.0, 20.0, 10.0, 20.0, 10.0], start=1):
        (attempt,) = dispatched(submit(core, a_task(number, [10.0]), 100.0 * number))
        complete(core, attempt, 100.0 * number, 100.0 * number + actual)
    expected, learned = 10.0 * core.corrections()["app/test"].factor, core.corrections()["app/test"]
    (planned,) = (
        run_times(a_task(9, [10.0]), core.planning_view.assumptions(0.0), ("",), 1)[0]
        - core.planning_view.assumptions(0.0).handover
    )
    assert planned == pytest.approx(expected * math.exp(1.6449 * math.sqrt(learned.variance)), rel=1e-4)
    assert planned > 1.2 * expected


def reserve(core: Coscheduler, host: int, begin: float, end: float, time: float = 0.0) -> Reservation:
    each = Reservation(f"r{host}", (f"node{host:02d}",), begin, end, "course")
    core.handle(HostsReserved(time, each))
    return each


POLICIES = ["genetic", "edf", "two-phase", "easy", "conservative", "fcfs-calculated", "fcfs-maximum"]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_task_starts_only_where_it_ends_before_a_reservation(policy: str) -> None:
    core = a_core(2, policy=policy)
    reserve(core, 1, 8.0, 20.0)
    (long,) = dispatched(submit(core, a_task(1, [10.0])))
    assert long.hosts == ("node02",)
    assert not dispatched(submit(core, a_task(2, [9.0]), 1.0))
    core.handle(CancelRequested(1.0, "2"))
    (short,) = dispatched(submit(core, a_task(3, [7.0]), 1.0))
    assert short.hosts == ("node01",)


@pytest.mark.parametrize("policy", POLICIES)
def test_no_task_starts_on_a_host_while_it_is_reserved(policy: str) -> None:
    core = a_core(1, policy=policy)
    reserve(core, 1, 0.0, 20.0)
    assert not dispatched(submit(core, a_task(1, [1.0])))
    assert not dispatched(core.handle(Tick(19.0)))
    assert [attempt.hosts for attempt in dispatched(core.handle(Tick(20.5)))] == [("node01",)]


def test_a_released_reservation_is_nobodys() -> None:
    core = a_core(1)
    each = reserve(core, 1, 0.0, 20.0)
    submit(core, a_task(1, [1.0]))
    outcome = core.handle(ReservationReleased(3.0, each.id))
    assert outcome.changes.reservations == {each.id: replace(each, released=3.0)}
    assert len(dispatched(outcome)) == 1
    assert not core.handle(ReservationReleased(4.0, each.id)).changes


def test_a_reservation_is_written_down_once_and_searched_around() -> None:
    core = a_core(1)
    each = Reservation("r1", ("node01",), 5.0, 20.0)
    outcome = core.handle(HostsReserved(0.0, each))
    assert (outcome.changes.reservations, outcome.decisions) == ({each.id: each}, (Replan(),))
    assert not core.handle(HostsReserved(0.0, each)).changes
    over = replace(each, id="r2", begin=-9.0, end=0.0)
    assert not core.handle(HostsReserved(0.0, over)).changes  # over before it was told
    submit(core, a_task(1, [10.0]))
    snapshot = core.planning_view.snapshot(0.0)
    assert snapshot is not None
    assert [tuple(period) for period in snapshot[0].unavailability] == [(0, 5.0, 20.0)]


def test_a_task_that_runs_into_a_reservation_is_left_to_run_and_its_host_is_kept_after_it() -> None:
    core = a_core(1)
    (attempt,) = dispatched(submit(core, a_task(1, [10.0])))
    start(core, attempt, 0.0)
    assert core.handle(HostsReserved(1.0, Reservation("r1", ("node01",), 5.0, 20.0))).decisions == (Replan(),)
    assert core.planning_view.taken(6.0) == {"node01": 20.0}
    submit(core, a_task(2, [1.0]), 6.0)
    assert not dispatched(complete(core, attempt, 0.0, 12.0))
    assert len(dispatched(core.handle(Tick(20.0)))) == 1


def test_a_restart_keeps_reservations() -> None:
    core = a_core(1)
    restore(core, 0.0, reservations=[Reservation("r1", ("node01",), 0.0, 20.0)])
    assert not dispatched(submit(core, a_task(1, [1.0]), 1.0))


def test_a_reservation_far_ahead_does_not_make_planning_slow() -> None:
    """Where holes are filled decoding takes ten times as long: only where a task could run into the reservation."""
    core = a_core(2, staging=100.0)
    submit(core, a_task(1, [10.0]))
    reserve(core, 1, 50.0, 60.0)
    snapshot = core.planning_view.snapshot(0.0)
    assert snapshot is not None
    assert snapshot[0].unavailability == ()
    submit(core, a_task(2, [45.0]))
    submit(core, a_task(3, [45.0]))
    snapshot = core.planning_view.snapshot(0.0)
    assert snapshot is not None
    assert len(snapshot[0].unavailability) == 1


def test_attempts_of_another_database_have_other_names() -> None:
    (ours,) = dispatched(submit(a_core(), a_task(1)))
    other = a_core(instance="00000000-0000-0000-0000-000000000001")
    (theirs,) = dispatched(submit(other, a_task(1)))
    assert ours.uuid != theirs.uuid


def replayed(recording: str) -> list[ReplayedEvent]:
    entries = replay(read_recording(io.BytesIO(recording.encode()), "run"))
    return [each for each in entries if isinstance(each, ReplayedEvent)]


_SEARCH_START = 6.0
ALIVE = (JobState.RUNNING, JobState.QUEUED, JobState.HELD)


class AnyWeather(RuleBasedStateMachine):
    """A manager that loses answers, hosts and jobs, and reports late and twice; what it truly runs is kept apart."""

    shared = False
    elastic = ElasticSettings()
    licences: ClassVar[dict[str, int]] = {}

    @initialize(staging=st.sampled_from([0.0, 2.0]))
    def begin(self, staging: float) -> None:
        self.core = Coscheduler(
            settings(
                attempts=1000,
                starts=1000,
                start_grace=4.0,
                staging=staging,
                search_start=_SEARCH_START,
                share_hosts=self.shared,
                elastic=self.elastic,
                licences=self.licences,
            )
        )
        self.time = 0.0
        self.outcomes: list[Any] = []
        self.writer = RecordingWriter()
        self.recording: list[str] = []
        self.a_new_recording_begins()
        self.ended: dict[str, TaskState] = {}
        self.accepted = 0
        self.jobs: dict[str, JobState] = {}  # what the manager truly has
        self.fenced: set[str] = set()
        self.completed: list[str] = []  # tasks whose job truly completed
        self.owner: dict[str, str] = {}
        self.after: dict[str, tuple[str, ...]] = {}  # task → those that it comes after
        self.kept: dict[str, Reservation] = {}
        self.most: int | None = None  # hosts that ann may have
        self.awaited: float | None = None  # since when the search starts
        self.searched: set[str] = set()  # tasks that it has ever looked at
        self.spared: list[str] = []  # attempts that were to be called back and had begun
        self.asked: list[str] = []  # attempts of which the manager was asked why they have not begun
        self.tell(HostsObserved(0.0, self.domain()))

    def domain(self, down: Sequence[int] = ()) -> tuple[Host, ...]:
        return mixed_hosts(3, down=down)

    def tell(self, event: Event) -> None:
        if len(self.outcomes) % 13 == 6:
            self.a_new_recording_begins()
        self.note_search(event)
        outcome = None
        try:
            outcome = self.core.handle(event)
        finally:
            self.recording.append(self.writer.handled(event, outcome))
        self.outcomes.append(outcome)
        for task in outcome.changes.tasks.values():
            assert task.id not in self.ended, "a task that has ended changed"
            if task.status.state.final:
                self.ended[task.id] = task.status.state
        for decision in outcome.decisions:
            match decision:
                case DispatchAttempt(attempt, task):
                    assert attempt.uuid not in self.owner, "one name for two attempts"
                    self.is_alone(attempt)
                    assert attempt.worker or task.id not in self.completed, "a task ran twice"
                    assert not task.status.held_by, "a held task left"
                    before = [self.ended.get(name) for name in self.after.get(task.id, ())]
                    assert all(state is TaskState.COMPLETED for state in before), "it left before those it comes after"
                    if attempt.hosts and task.profile is not None and task.profile.classes:
                        used = {self.core.domain.hosts[host].host_class for host in attempt.hosts}
                        assert task.profile.hardware == "+".join(sorted(used)), "judged by other hosts"
                        assert math.isfinite(task.profile.on(attempt.count))
                    self.runs_into_nothing(attempt.hosts, event.time, event.time + (attempt.predicted or 0.0))
                    self.waits_for_the_search(attempt, task, event.time)
                    self.owner[attempt.uuid] = task.id
                    self.fits(attempt)
                    self.keeps_to_the_share(attempt)
                case CancelAttempt():
                    self.is_cancelled(decision)
                case DiagnoseAttempt(uuid):
                    self.asked.append(uuid)
                case LocateAttempt() | Replan():
                    pass

    def is_alone(self, attempt: Attempt) -> None:
        mine = [uuid for uuid, owner in self.owner.items() if owner == attempt.task]
        assert not any(self.jobs.get(uuid) in ALIVE for uuid in mine), "a second live attempt"

    def note_search(self, event: Event) -> None:
        match event:
            case ScheduleImproved(plan=plan):
                self.awaited = None
                self.searched |= set(plan.tasks)
            case SearchAwaited(time) if self.awaited is None:
                self.awaited = time

    def waits_for_the_search(self, attempt: Attempt, task: Task, time: float) -> None:
        if self.awaited is None or task.profile is None or attempt.worker or not self.core.settings.staging:
            return
        known = task.id in self.searched or task.id in self.owner.values()
        known = known or task.stage is not None  # the places of a chain were found when it came in
        assert known or time >= self.awaited + _SEARCH_START, "it left before the search that starts has answered"

    def is_worker(self, uuid: str) -> bool:
        """A machine of elastic tasks knows workers."""
        return False

    def fits(self, attempt: Attempt) -> None:
        """A machine of shared hosts asks for more."""

    def keeps_to_the_share(self, attempt: Attempt) -> None:
        if attempt.worker and not attempt.loan:
            return  # its lead is charged for promised hosts
        live, owner = self.core.attempts.values(), self.core.tasks[attempt.task].owner
        taken = sum(each.charged_hosts for each in live if self.core.tasks[each.task].owner == owner)
        assert owner != "ann" or self.most is None or taken <= self.most + 1e-6, "more hosts than the share allows"

    def is_cancelled(self, cancel: CancelAttempt) -> None:
        begun = (JobState.RUNNING, JobState.COMPLETED, JobState.FAILED)
        if cancel.unless_begun and self.jobs.get(cancel.attempt) in begun:
            self.spared.append(cancel.attempt)
        else:
            self.is_fenced(cancel.attempt)

    def is_fenced(self, uuid: str) -> None:
        self.fenced.add(uuid)
        if self.jobs.get(uuid) in (JobState.QUEUED, JobState.RUNNING, JobState.HELD):
            self.jobs[uuid] = JobState.REMOVED

    def runs_into_nothing(self, hosts: Sequence[str], start: float, end: float) -> None:
        for each in self.kept.values():
            apart = end <= each.begin + 1e-6 or start >= each.end - 1e-6
            assert apart or not set(hosts) & set(each.hosts), "it runs into a reservation"

    def later(self) -> float:
        self.time += 0.7
        return self.time

    def pick(self, number: int, among: list[str]) -> str:
        return sorted(among)[number % len(among)]

    @rule(
        seconds=st.one_of(st.none(), st.lists(st.sampled_from([1.0, 3.0, 9.0, math.inf]), min_size=1, max_size=4)),
        after=st.sets(st.integers(1, 20), max_size=2),
        due=st.one_of(st.none(), st.floats(0.0, 20.0)),
        owner=st.sampled_from(["ann", "bob"]),
    )
    def submit(self, seconds: list[float] | None, after: set[int], due: float | None, owner: str) -> None:
        if seconds is not None and not any(map(math.isfinite, seconds)):
            return
        before = tuple(str(number) for number in sorted(after) if number <= self.accepted)
        if any(self.ended.get(name, TaskState.COMPLETED) is not TaskState.COMPLETED for name in before):
            return  # refused before the core hears of it
        self.accepted += 1
        self.after[str(self.accepted)] = before
        deadline = None if due is None else self.time + due
        task = a_task(self.accepted, seconds, submitted=self.time, after=before, deadline=deadline, owner=owner)
        self.tell(TaskSubmitted(self.later(), task))

    @rule(
        fast=st.lists(st.sampled_from([1.0, 2.0]), min_size=3, max_size=3),
        slow=st.lists(st.sampled_from([3.0, 9.0]), min_size=3, max_size=3),
    )
    def submit_where_classes_differ(self, fast: list[float], slow: list[float]) -> None:
        self.accepted += 1
        self.tell(TaskSubmitted(self.later(), on_both(self.accepted, fast, slow, submitted=self.time)))

    @precondition(lambda self: any(uuid not in self.jobs for uuid in self.owner))
    @rule(number=st.integers(0, 99), arrives=st.booleans(), answered=st.booleans())
    def the_submit_happens(self, number: int, arrives: bool, answered: bool) -> None:
        uuid = self.pick(number, [uuid for uuid in self.owner if uuid not in self.jobs])
        if arrives or answered:
            self.jobs[uuid] = JobState.REMOVED if uuid in self.fenced else JobState.QUEUED
        if answered:
            self.tell(AttemptSubmitted(self.later(), uuid, "1.0"))
        else:
            self.tell(SubmitFailed(self.later(), uuid, "timed out", transient=True))

    @precondition(lambda self: any(uuid not in self.jobs for uuid in self.owner))
    @rule(number=st.integers(0, 99))
    def the_manager_is_full(self, number: int) -> None:
        uuid = self.pick(number, [uuid for uuid in self.owner if uuid not in self.jobs])
        self.jobs[uuid] = JobState.REMOVED
        self.tell(SubmitFailed(self.later(), uuid, "full", transient=True, refused=True))

    @precondition(lambda self: any(uuid not in self.jobs for uuid in self.owner))
    @rule(number=st.integers(0, 99))
    def absent_after_the_grace_and_fenced(self, number: int) -> None:
        uuid = self.pick(number, [uuid for uuid in self.owner if uuid not in self.jobs])
        self.fenced.add(uuid)
        self.jobs[uuid] = JobState.REMOVED  # whatever arrives later finds the fence
        self.tell(AttemptAbsent(self.later(), uuid))

    @precondition(lambda self: any(uuid not in self.jobs for uuid in self.owner))
    @rule(number=st.integers(0, 99))
    def missing_after_the_grace(self, number: int) -> None:
        uuid = self.pick(number, [uuid for uuid in self.owner if uuid not in self.jobs])
        self.tell(AttemptMissing(self.later(), uuid))

    @precondition(lambda self: any(s in (JobState.QUEUED, JobState.RUNNING) for s in self.jobs.values()))
    @rule(number=st.integers(0, 99), to=st.sampled_from([JobState.RUNNING, JobState.COMPLETED, JobState.FAILED]))
    def a_job_goes_on(self, number: int, to: JobState) -> None:
        uuid = self.pick(number, [u for u, s in self.jobs.items() if s in (JobState.QUEUED, JobState.RUNNING)])
        self.jobs[uuid] = to
        if to is JobState.COMPLETED and not self.is_worker(uuid):
            assert self.owner[uuid] not in self.completed, "a task ran twice"
            self.completed.append(self.owner[uuid])

    @precondition(lambda self: bool(self.spared))
    @rule(number=st.integers(0, 99))
    def the_manager_says_that_it_has_begun(self, number: int) -> None:
        self.tell(AttemptBegun(self.later(), self.pick(number, self.spared)))

    @precondition(lambda self: bool(self.asked))
    @rule(number=st.integers(0, 99), verdict=st.sampled_from(StartVerdict))
    def the_manager_says_why_it_has_not_begun(self, number: int, verdict: StartVerdict) -> None:
        uuid = self.pick(number, self.asked)
        self.tell(AttemptDiagnosed(self.later(), uuid, StartDiagnosis(verdict, "why")))

    @precondition(lambda self: bool(self.jobs))
    @rule(number=st.integers(0, 99), more=st.booleans())
    def the_manager_reports(self, number: int, more: bool) -> None:
        uuid = self.pick(number, list(self.jobs))
        report = JobReport(uuid, self.jobs[uuid], started=1.0, finished=2.0, exit_code=0)
        self.tell(JobReported(self.later(), report, more))

    @precondition(lambda self: JobState.RUNNING in self.jobs.values())
    @rule(number=st.integers(0, 99))
    def a_host_is_lost(self, number: int) -> None:
        uuid = self.pick(number, [u for u, s in self.jobs.items() if s is JobState.RUNNING])
        self.tell(JobReported(self.later(), JobReport(uuid, JobState.EVICTED, reason="host lost")))

    @precondition(lambda self: bool(self.owner))
    @rule(number=st.integers(0, 99))
    def an_old_report_comes_late(self, number: int) -> None:
        uuid = self.pick(number, list(self.owner))
        if self.jobs.get(uuid) in (JobState.COMPLETED, JobState.RUNNING):
            self.tell(JobReported(self.later(), JobReport(uuid, JobState.QUEUED)))

    @rule(number=st.integers(1, 20))
    def cancel(self, number: int) -> None:
        self.tell(CancelRequested(self.later(), str(number)))

    @rule(number=st.integers(1, 20))
    def hold(self, number: int) -> None:
        before = self.core.tasks.get(str(number))
        self.tell(HoldRequested(self.later(), str(number), "ann"))
        held = self.core.tasks.get(str(number))
        if before is not None and before.status.state is TaskState.QUEUED:
            assert held is not None
            assert held.status.held_by == "ann"
        else:
            assert held == before

    @rule(number=st.integers(1, 20))
    def release(self, number: int) -> None:
        self.tell(ReleaseRequested(self.later(), str(number), "ann"))

    @rule(number=st.integers(1, 20), due=st.one_of(st.none(), st.floats(0.0, 20.0)), name=st.sampled_from([None, "n"]))
    def edit(self, number: int, due: float | None, name: str | None) -> None:
        before = self.core.tasks.get(str(number))
        time = self.later()
        edit = TaskEdit(name, None if due is None else time + due, without_deadline=due is None)
        self.tell(EditRequested(time, str(number), edit, "ann"))
        if before is not None and before.status.state is not TaskState.QUEUED:
            assert str(number) not in self.outcomes[-1].changes.tasks, "a task was changed that had left"

    @rule(down=st.sets(st.integers(1, 3)))
    def hosts_come_and_go(self, down: set[int]) -> None:
        self.tell(HostsObserved(self.later(), self.domain(down=sorted(down)), self.core.domain.loads))

    @rule(parts=st.lists(st.sampled_from([0.0, 0.25, 0.5]), min_size=3, max_size=3))
    def owners_come_more_or_less_often(self, parts: list[float]) -> None:
        loads = {
            f"node{place:02d}": HostLoad(part / (1 - part) / 4.0, 4.0, 32.0)
            for place, part in enumerate(parts, 1)
            if part
        }
        self.tell(HostsObserved(self.later(), tuple(self.core.domain.hosts.values()), loads))

    @rule(
        order=st.permutations([str(n) for n in range(1, 6)]),
        count=st.integers(0, 5),
        kind=st.sampled_from(["", "fast", "slow", "gone"]),
    )
    def the_search_says(self, order: list[str], count: int, kind: str) -> None:
        kinds = (kind,) * len(order)
        self.tell(ScheduleImproved(self.later(), TaskPlan(tuple(order), (count,) * len(order), kinds)))

    @rule()
    def the_search_starts(self) -> None:
        self.tell(SearchAwaited(self.later()))

    @rule(hosts=st.sets(st.integers(1, 3), min_size=1), begin=st.floats(-5, 20), length=st.floats(0.1, 30))
    def hosts_are_reserved(self, hosts: set[int], begin: float, length: float) -> None:
        names = tuple(f"node{number:02d}" for number in sorted(hosts))
        time = self.later()
        each = Reservation(f"r{len(self.outcomes)}", names, time + begin, time + begin + length)
        self.kept[each.id] = each
        self.tell(HostsReserved(time, each))

    @precondition(lambda self: bool(self.kept))
    @rule(number=st.integers(0, 99))
    def a_reservation_is_released(self, number: int) -> None:
        name = self.pick(number, list(self.kept))
        del self.kept[name]
        self.tell(ReservationReleased(self.later(), name))

    @rule(
        hosts=st.sampled_from([None, 1, 2]), budget=st.sampled_from([None, 0.002]), weight=st.sampled_from([1.0, 9.0])
    )
    def the_domain_is_divided(self, hosts: int | None, budget: float | None, weight: float) -> None:
        self.most = hosts
        users = {"ann": Share(weight, budget, hosts)}
        self.tell(SharesChanged(self.later(), Shares(half_life=50.0, window=20.0, users=users)))

    @rule()
    def a_new_recording_begins(self) -> None:
        self.recording.append(self.writer.start(self.core.settings, self.time, self.core.snapshot()))

    @rule(available=st.booleans(), offer_on_time=st.booleans())
    def neighbours_come_and_go(self, available: bool, offer_on_time: bool) -> None:
        self.tell(NeighboursChanged(self.later(), available, offer_on_time))

    @rule()
    def time_goes_by(self) -> None:
        self.time += 5.0
        self.tell(Tick(self.later()))

    @invariant()
    def no_host_has_two_attempts(self) -> None:
        taken = [
            host
            for attempt in self.core.attempts.values()
            if attempt.state is not AttemptState.HELD
            for host in attempt.hosts
        ]
        assert len(taken) == len(set(taken))

    @invariant()
    def every_accepted_task_lives_or_has_ended(self) -> None:
        known = set(self.core.tasks) | set(self.ended)
        assert known == {str(number) for number in range(1, self.accepted + 1)}

    @invariant()
    def a_live_task_waits_or_has_one_attempt(self) -> None:
        for name, task in self.core.tasks.items():
            waits = task.status.state is TaskState.QUEUED
            assert waits == (self.core.attempt_of(name) is None)

    @invariant()
    def a_held_task_is_in_no_plan(self) -> None:
        planned = set(self.core.plan.tasks)
        assert not any(task.status.held_by and name in planned for name, task in self.core.tasks.items())
        waiting = {
            name
            for name, task in self.core.tasks.items()
            if task.status.state is TaskState.QUEUED and task.profile is not None and not task.status.held_by
        }
        assert planned == waiting

    @invariant()
    def nobody_waits_for_what_will_never_have_completed(self) -> None:
        for name, task in self.core.tasks.items():
            for other in task.spec.after:
                assert self.ended.get(other, TaskState.COMPLETED) is TaskState.COMPLETED
            assert self.core.predecessors(name) == tuple(other for other in task.spec.after if other not in self.ended)

    @invariant()
    def the_plan_keeps_to_the_order(self) -> None:
        forecast = self.core.planning_view.forecast(self.time)
        if forecast is None:
            return
        assert check_schedule(*forecast) == []
        for spot in forecast[1].assignments:
            self.runs_into_nothing(spot.hosts, self.time + spot.start, self.time + spot.end)
        starts = {spot.task: spot.start for spot in forecast[1].assignments}
        for name, start_of in starts.items():
            running = [self.core.attempt_of(other) for other in self.core.predecessors(name)]
            ends = [expected_end(attempt, self.time) for attempt in running if attempt is not None]
            assert all(self.time + start_of >= end - 1e-6 for end in ends), (
                "planned before those it comes after have ended"
            )

    def teardown(self) -> None:
        if not hasattr(self, "recording"):
            return
        failing = isinstance(sys.exc_info()[1], Exception)  # Hypothesis ends a run by others
        try:
            if not failing:
                self.replays()
        except AssertionError:
            failing = True
            raise
        finally:
            if failing:
                path = Path(tempfile.gettempdir(), "cosched-any-weather.jsonl")
                path.write_text("".join(self.recording))
                note(f"see `cosched replay {path}`")

    def replays(self) -> None:
        """Replay the run: whole, from the middle on or redacted, each as often as the others."""
        match len(self.outcomes) % 3:
            case 0:
                again = replayed("".join(self.recording))
                assert [each.outcome for each in again] == self.outcomes, "a replay went another way"
                assert all(each.same for each in again)
            case 1:
                self.goes_on_from_the_middle()
            case _:
                entries = read_recording(io.BytesIO("".join(self.recording).encode()), "run")
                hidden = replayed("".join(map(RecordingWriter(redacted=True).again, entries)))
                same = [each.same for each in hidden]
                assert same == [True] * len(self.outcomes), "a redacted recording went another way"

    def goes_on_from_the_middle(self) -> None:
        starts = [place for place, text in enumerate(self.recording) if text.startswith('{"recording"')]
        middle = starts[len(starts) // 2]
        rest = [text for place, text in enumerate(self.recording) if place > middle and place not in starts]
        later = replayed(self.recording[middle] + "".join(rest))
        assert [each.outcome for each in later] == self.outcomes[len(self.outcomes) - len(later) :]


AnyWeather.TestCase.settings = hypothesis_settings(max_examples=examples(15), stateful_step_count=40, deadline=None)
TestAnyWeather = AnyWeather.TestCase
