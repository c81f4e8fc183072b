from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cosched.connector.jobs import JobState, LaunchMode
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import (
    CancelRequested,
    HostsObserved,
    Tick,
)
from cosched.coscheduler.planning.problem_builder import run_times
from cosched.coscheduler.task import TaskState
from cosched.prediction.profile import PredictionSource, Profile
from tests.coscheduler.makers import (
    a_core,
    a_task,
    cancelled,
    complete,
    dispatched,
    hosts,
    in_order,
    located,
    mixed_hosts,
    on_both,
    report,
    restore,
    settings,
    start,
    submit,
)


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


def test_attempts_of_another_database_have_other_names() -> None:
    (ours,) = dispatched(submit(a_core(), a_task(1)))
    other = a_core(instance="00000000-0000-0000-0000-000000000001")
    (theirs,) = dispatched(submit(other, a_task(1)))
    assert ours.uuid != theirs.uuid
