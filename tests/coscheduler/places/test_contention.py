"""Tasks side by side on shared hosts: what the core notes of them, learns, plans, starts, expects and says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cosched.connector.hosts import Host, HostShare
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.edits import TaskEdit
from cosched.coscheduler.end_ranges import EndRanges
from cosched.coscheduler.events import EditRequested, HostsObserved
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.learnt_corrections import LearntCorrections
from cosched.coscheduler.planning.what_if import predict_placement
from cosched.coscheduler.task import TaskState
from cosched.scheduling.decoding.packed_decoder import PackedDecoder
from tests.coscheduler.makers import a_core, a_task, complete, dispatched, restore, settings, start, submit, with_shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.task import Task


def nodes(count: int = 1, **changes: Any) -> tuple[Host, ...]:
    """Return hosts of 8 cores and 16000 MiB."""
    return tuple(replace(Host(f"node{n:02d}", memory=16000, cores=8), **changes) for n in range(1, count + 1))


def a_sharing_core(count: int = 1, **changes: Any) -> Coscheduler:
    core = Coscheduler(settings(share_hosts=True, **changes))
    core.handle(HostsObserved(0.0, nodes(count)))
    return core


def a_part(number: int, cores: int, seconds: Sequence[float] = (100.0,), **changes: Any) -> Task:
    needs = {name: changes.pop(name) for name in ("memory", "exclusive") if name in changes}
    task = a_task(number, seconds, **changes)
    return replace(task, spec=replace(task.spec, cores=cores, **needs))


def begun(core: Coscheduler, task: Task, time: float) -> Attempt:
    """Submit a task that starts at once."""
    (attempt,) = dispatched(submit(core, task, time))
    start(core, attempt, time)
    return attempt


def teach(core: Coscheduler, slowdown: float, runs: int = 5, first: int = 1000) -> float:
    """Have half of some runs of 4 cores be alone, and half beside a longer task; return when the last ended."""
    time = 0.0
    for number in range(runs):
        attempt = begun(core, a_part(first + number, 4), time)
        complete(core, attempt, time, time := time + 100.0)
    for number in range(runs, 2 * runs):
        other = begun(core, a_part(first + 100 + number, 4, (500.0,), correction="other/test"), time)
        attempt = begun(core, a_part(first + number, 4), time)
        complete(core, attempt, time, time := time + 100.0 * (1 + slowdown) ** 0.5)
        complete(core, other, time - 500.0, time)
    return time


def test_what_is_beside_a_run_is_noted_at_its_end() -> None:
    core = a_sharing_core()
    long = begun(core, a_part(1, 4), 0.0)
    short = begun(core, a_part(2, 2), 10.0)
    (ended,) = complete(core, short, 10.0, 40.0).changes.tasks.values()
    assert ended.status.beside == pytest.approx(4 / 8)
    (ended,) = complete(core, long, 0.0, 100.0).changes.tasks.values()
    assert ended.status.beside == pytest.approx(2 / 8 * 0.3)


def test_jobs_of_others_are_beside_a_run_too() -> None:
    core = a_sharing_core()
    attempt = begun(core, a_part(1, 2), 0.0)
    core.handle(HostsObserved(50.0, nodes(others=HostShare(4000, 6, 0))))
    (ended,) = complete(core, attempt, 0.0, 100.0).changes.tasks.values()
    assert ended.status.beside == pytest.approx(6 / 8 / 2)


def test_of_several_hosts_the_fullest_counts() -> None:
    core = a_sharing_core(2)
    attempt = begun(core, a_part(1, 2, (float("inf"), 100.0)), 0.0)
    begun(core, a_part(2, 6), 0.0)
    (ended,) = complete(core, attempt, 0.0, 100.0).changes.tasks.values()
    assert ended.status.beside == pytest.approx(6 / 8)


def test_a_task_that_has_its_host_for_itself_has_nothing_beside_it() -> None:
    core = a_sharing_core()
    attempt = begun(core, a_part(1, 2, exclusive=True), 0.0)
    (ended,) = complete(core, attempt, 0.0, 100.0).changes.tasks.values()
    assert ended.status.beside == 0.0


@pytest.mark.parametrize("change", [{"share_hosts": False}, {"share_hosts": True, "unparted": True}])
def test_nothing_is_noted_where_nobody_can_be_beside_or_be_seen(change: dict[str, bool]) -> None:
    core = Coscheduler(settings(share_hosts=change.pop("share_hosts")))
    core.handle(HostsObserved(0.0, nodes(2, **change)))
    attempt = begun(core, a_part(1, 2), 0.0)
    (ended,) = complete(core, attempt, 0.0, 100.0).changes.tasks.values()
    assert (ended.status.state, ended.status.beside) == (TaskState.COMPLETED, None)


def test_a_run_that_began_under_a_former_process_teaches_nothing() -> None:
    core = a_sharing_core()
    attempt = begun(core, a_part(1, 2), 0.0)
    restore(core, 50.0, tasks=core.tasks.values(), attempts=core.attempts.values())
    core.handle(HostsObserved(50.0, nodes()))
    other = begun(core, a_part(2, 2), 60.0)
    (ended,) = complete(core, attempt, 0.0, 100.0).changes.tasks.values()
    assert ended.status.beside is None
    (ended,) = complete(core, other, 60.0, 140.0).changes.tasks.values()
    assert ended.status.beside == pytest.approx(2 / 8 / 2)  # it was there all the same


def test_tasks_beside_others_are_planned_longer_once_runs_have_taught_it() -> None:
    core = a_sharing_core()
    time = teach(core, 0.44)
    assert core.contentions()["app/test"].slowdown == pytest.approx(0.44)
    (half,) = dispatched(submit(core, a_part(1, 4), time))
    assert half.predicted == pytest.approx(120.0)
    assert core.tasks["1"].status.predicted == pytest.approx(120.0)
    (rest,) = dispatched(submit(core, a_part(2, 4, correction="quiet/test"), time))
    assert rest.predicted == 100.0  # of another application nothing is known


@pytest.mark.parametrize("changes", [{"cores": 8}, {"cores": 1, "exclusive": True}, {"cores": 1, "memory": 16000}])
def test_who_leaves_nothing_to_others_is_planned_as_alone(changes: dict[str, Any]) -> None:
    core = a_sharing_core()
    time = teach(core, 0.44)
    (attempt,) = dispatched(submit(core, a_part(1, **changes), time))
    assert attempt.predicted == pytest.approx(100.0)


def test_corrections_and_histories_learn_the_time_alone() -> None:
    core = a_sharing_core()
    time = teach(core, 0.44)
    assert core.corrections()["app/test"].factor == pytest.approx(1.0)  # what others cost is no error of the model
    assert core.corrections()["app/test"].runs == 10
    other = begun(core, a_part(1, 4, (500.0,), correction="other/test"), time)
    attempt = begun(core, a_part(2, 4), time)
    (run,) = complete(core, attempt, time, time + 120.0).changes.runs
    assert (run.predicted, run.seconds) == pytest.approx((100.0, 100.0))
    assert core.corrections()["app/test"].factor == pytest.approx(1.0)
    (run,) = complete(core, other, time, time + 500.0).changes.runs
    assert run.seconds == 500.0


def test_a_restarted_core_has_learnt_the_same() -> None:
    core, completed = a_sharing_core(), []
    known = LearntCorrections()
    for number, beside in enumerate((0.0,) * 5 + (0.5,) * 5):
        task = a_part(number, 4)
        seconds = 100.0 * 1.44**beside
        completed.append(task.with_status(hosts=("node01",), state=TaskState.COMPLETED, actual=seconds, beside=beside))
        known.learn_run_time(completed[-1])
    restore(core, 0.0, completed=completed)
    assert core.contentions() == known.contentions
    assert core.contentions()["app/test"].slowdown == pytest.approx(0.44)


def test_a_program_without_a_model_is_told_apart_by_its_user() -> None:
    known = LearntCorrections()
    for owner in ("ann", "bob"):
        task = a_part(1, 4, owner=owner, correction="")
        ended = task.with_status(hosts=("node01",), state=TaskState.COMPLETED, actual=100.0, beside=0.5)
        known.learn_run_time(ended)
    assert sorted(known.contentions) == ["ann app/test", "bob app/test"]
    assert known.corrections == {}


def test_runs_are_compared_by_what_the_model_says_whatever_runs_have_made_of_that() -> None:
    known = LearntCorrections()
    for number, beside in enumerate((0.0, 0.5) * 5):
        task = a_part(number, 4, (100.0 + 10 * number,), correction="app+runs/test" if number else "app/test")
        assert task.profile is not None
        task = replace(task, profile=replace(task.profile, stated=(50.0,)))
        seconds = 100.0 * 1.44**beside
        known.learn_run_time(
            task.with_status(hosts=("node01",), state=TaskState.COMPLETED, actual=seconds, beside=beside)
        )
    (found,) = known.contentions.values()
    assert found.slowdown == pytest.approx(0.44)
    assert [run.ratio for run in found.runs] == pytest.approx([2.0, 2.4] * 5)
    waiting = a_part(99, 4, correction="app+runs/test")
    assert known.contention.times_longer(waiting, "test", "", 0.5) == pytest.approx(1.2)
    # What is left of the error of histories is not what the model is off by.
    assert known.corrections["app/test"].factor == pytest.approx(2.0)
    assert known.corrections["app+runs/test"].factor < 1.0


def test_programs_that_ran_last_are_remembered() -> None:
    known = LearntCorrections()

    def run(program: str, beside: float) -> None:
        task = a_part(1, 4, owner="ann", correction="")
        task = replace(task, spec=replace(task.spec, application=program))
        seconds = 100.0 * 1.44**beside
        known.learn_run_time(
            task.with_status(hosts=("node01",), state=TaskState.COMPLETED, actual=seconds, beside=beside)
        )

    for beside in (0.0, 0.5) * 5:
        run("first", beside)
    for number in range(1023):
        run(f"program{number}", 0.0)
    assert set(known.contention.learnt) == {"ann first/test"}
    run("first", 0.0)  # it is the newest now
    run("another", 0.0)
    assert "ann program0/test" not in known.contentions
    assert set(known.contention.learnt) == {"ann first/test"}
    for number in range(1024):
        run(f"program{number}", 0.0)
    assert len(known.contentions) == 1024
    assert known.contention.learnt == {}


def test_the_administrator_may_state_it_until_runs_have_taught_it() -> None:
    stated = {"default": 0.21, "sun": 0.0}
    core = a_sharing_core(contention=stated)
    (attempt,) = dispatched(submit(core, a_part(1, 4)))
    assert attempt.predicted == pytest.approx(110.0)
    sun = Coscheduler(settings(share_hosts=True, contention=stated))
    sun.handle(HostsObserved(0.0, nodes(host_class="sun")))
    assert dispatched(submit(sun, a_part(1, 4)))[0].predicted == 100.0
    taught = a_sharing_core(contention=stated)
    time = teach(taught, 0.0)
    assert dispatched(submit(taught, a_part(1, 4), time))[0].predicted == pytest.approx(100.0)


def test_runs_are_not_divided_by_what_is_only_stated_of_others_beside_them() -> None:
    """The user's exact 40 s became 37 s: nothing had slowed the runs, and 8 % had been stated."""
    core = a_sharing_core(contention={"default": 0.44})
    begun(core, a_part(1, 4, (1000.0,)), 0.0)
    attempt = begun(core, a_part(2, 4, (40.0,), correction=""), 0.0)
    assert attempt.predicted == pytest.approx(48.0)  # it has not run yet
    (run,) = complete(core, attempt, 0.0, 40.0).changes.runs
    assert run.seconds == pytest.approx(40.0)
    assert run.predicted == pytest.approx(40.0)
    known = a_part(3, 4, (40.0,), correction="")
    assert known.profile is not None
    again = begun(core, replace(known, profile=replace(known.profile, runs=1)), 40.0)
    assert again.predicted == pytest.approx(40.0)


def test_plain_hosts_are_planned_as_ever_whatever_is_stated() -> None:
    plain, stated = a_core(2), a_core(2, contention={"default": 0.5})
    for core in (plain, stated):
        for number in (1, 2, 3):
            submit(core, a_part(number, 4, (100.0, 60.0)))
    first, second = plain.planning_view.problem(0.0), stated.planning_view.problem(0.0)
    assert first is not None
    assert second is not None
    assert first.packing is second.packing is None
    assert first.seconds.tolist() == second.seconds.tolist()
    assert plain.snapshot() == stated.snapshot()


def test_shared_hosts_of_which_nothing_is_known_are_planned_as_ever() -> None:
    core = a_sharing_core()
    begun(core, a_part(1, 8), 0.0)
    submit(core, a_part(2, 4), 0.0)
    problem = core.planning_view.problem(0.0)
    assert problem is not None
    assert problem.packing is not None
    assert problem.packing.seconds.tolist() == [[100.0]]


def test_cores_are_chosen_with_what_others_cost() -> None:
    """Two cores are quicker than all of them, as long as nobody is beside it."""
    for slowdown, cores in ((0.0, 2), (0.5, 8)):
        core, task = (
            a_sharing_core(contention={"default": slowdown}),
            with_shapes(a_part(2, 2), {2: (95.0,), 8: (99.0,)}),
        )
        placed = predict_placement(core, task, 0.0)
        assert placed is not None
        assert placed.cores == cores
        begun(core, a_part(1, 8), 0.0)
        submit(core, task)
        problem = core.planning_view.problem(0.0)
        assert problem is not None
        assert problem.packing is not None
        (few,), (all_of_it,) = problem.packing.seconds.tolist()
        assert (few, all_of_it) == pytest.approx((95.0 * (1 + slowdown) ** 0.75, 99.0))


def test_a_waiting_task_that_gets_its_host_for_itself_is_planned_as_alone() -> None:
    """Regression: it kept the time beside others that it had been planned with."""
    core = a_sharing_core(contention={"default": 0.44})
    begun(core, a_part(1, 8), 0.0)
    submit(core, a_part(2, 4))
    for exclusive, seconds in ((None, 120.0), (True, 100.0), (False, 120.0)):
        core.handle(EditRequested(1.0, "2", TaskEdit(exclusive=exclusive), "ann"))
        problem = core.planning_view.problem(1.0)
        assert problem is not None
        assert problem.packing is not None
        assert problem.packing.seconds.tolist() == [[pytest.approx(seconds)]]


def test_both_decoders_see_the_same_times() -> None:
    core = a_sharing_core(2, contention={"default": 0.5})
    for number in (1, 2):
        begun(core, a_part(number, 8), 0.0)
    for number in (3, 4, 5):
        submit(core, a_part(number, 3))
    found = core.planning_view.snapshot(0.0)
    assert found is not None
    problem, plan = found
    starts, ends = PackedDecoder(problem).spans(plan.order.tolist(), plan)
    assert [end - begin for begin, end in zip(starts, ends, strict=True)] == pytest.approx([100 * 1.5 ** (5 / 8)] * 3)


def test_ranges_of_ends_are_longer_too() -> None:
    task = a_part(1, 4)
    assert task.profile is not None
    task = replace(task, profile=task.profile.with_spread([0.1], [0.1]))
    found = []
    for slowdown in (0.0, 0.44):
        core = a_sharing_core(contention={"default": slowdown})
        begun(core, task, 0.0)
        ends = EndRanges(core).of(task, ["node01"], 50.0)
        assert ends is not None
        found.append([end - 50.0 for end in ends])
    assert found[1] == pytest.approx([1.2 * seconds for seconds in found[0]])


def test_a_task_is_told_what_others_cost_it() -> None:
    core = a_sharing_core()
    time = teach(core, 0.44)
    long = begun(core, a_part(1, 8, (600.0,), correction="long/test"), time)
    submit(core, a_part(2, 4), time)
    core.handle(HostsObserved(time, nodes()))
    told = explain(core, "2", time)
    assert told is not None
    assert told.would_change[-1] == (
        "alone on its host (`--exclusive`) it would run 1 min 40 s instead of 2 min: beside others it is predicted to "
        "run 20% longer (learnt from 10 runs)"
    )
    complete(core, long, time, time + 600.0)
    running = explain(core, "2", time + 600.0)
    assert running is not None
    assert running.waits_for[-1] == (
        "beside others on its host it is predicted to run 20% longer than alone: 2 min in place of 1 min 40 s "
        "(learnt from 10 runs)"
    )
    stated = a_sharing_core(contention={"default": 0.44})
    submit(stated, a_part(1, 4))
    first = explain(stated, "1", 0.0)
    assert first is not None
    assert first.waits_for[-1] == (
        "beside others on its host it is predicted to run 20% longer than alone: 2 min in place of 1 min 40 s "
        "(as the configuration says)"
    )


def test_a_core_goes_on_from_a_snapshot_with_what_it_has_seen() -> None:
    core = a_sharing_core()
    time = teach(core, 0.44)
    first = begun(core, a_part(1, 4), time)
    begun(core, a_part(2, 2), time + 10.0)
    again = Coscheduler.from_snapshot(core.settings, core.snapshot())
    assert again.snapshot() == core.snapshot()
    assert complete(core, first, time, time + 120.0) == complete(again, first, time, time + 120.0)
    assert again.snapshot() == core.snapshot()
