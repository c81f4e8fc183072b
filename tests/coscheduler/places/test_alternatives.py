"""Tasks that may run in several shapes: which are worth planning with, which is chosen, and what the job gets."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector.hosts import Host, HostShare
from cosched.connector.jobs import JobState
from cosched.coscheduler.changes import DispatchAttempt
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import HostsObserved, ScheduleImproved, SharesChanged, Tick
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.places.alternatives import (
    Alternative,
    alternative_on,
    quickest_profile,
    tried_numbers,
    useful_alternatives,
)
from cosched.coscheduler.planning.problem_builder import run_times
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.planning.what_if import predict_placement
from cosched.coscheduler.sharing.shares import Share, Shares
from cosched.prediction.profile import PredictionSource, Profile, slowest_profile
from cosched.scheduling.schedule import check_schedule
from tests.coscheduler.makers import (
    a_core,
    a_task,
    complete,
    dispatched,
    hosts,
    on_both,
    report,
    settings,
    start,
    submit,
    under_plan,
    with_shapes,
)
from tests.coscheduler.places.test_departures import a_part, a_sharing_core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.task import Task


def an_alternative(cores: int, seconds: Sequence[float], **fields: int) -> Alternative:
    return Alternative(cores, Profile(tuple(seconds), PredictionSource.USER), **fields)


def kept(alternatives: Sequence[Alternative], among: Sequence[Host] = ()) -> dict[int, list[int]]:
    """Return the numbers of hosts that are kept, by cores."""
    return {
        each.cores: [count for count, seconds in enumerate(each.profile.seconds, 1) if seconds < math.inf]
        for each in useful_alternatives(alternatives, among)
    }


def nodes(*cores: int) -> list[Host]:
    return [Host(f"node{number:02d}", cores=each, memory=1000 * each) for number, each in enumerate(cores, 1)]


def a_choosing(number: int = 1, **changes: Any) -> Task:
    """Return a task that takes 60 s on two cores, 35 s on four and 20 s on eight."""
    return with_shapes(a_task(number, **changes), {2: (60.0,), 4: (35.0,), 8: (20.0,)})


def test_ranges_are_looked_at_where_it_may_matter() -> None:
    assert tried_numbers(8, 32) == [8, 12, 16, 24, 32]
    assert tried_numbers(5, 5) == [5]
    assert tried_numbers(1, 10) == [1, 2, 3, 4, 6, 8, 10]
    assert len(tried_numbers(1, 256)) == 16


def test_a_shape_that_takes_no_less_and_is_no_quicker_is_left_out() -> None:
    found = kept([an_alternative(2, [60.0, 40.0]), an_alternative(4, [35.0, 38.0]), an_alternative(8, [35.0, 20.0])])
    # Two hosts of two cores take as much as one of four; four cores on two hosts as much as eight on one.
    assert found == {2: [1], 4: [1], 8: [2]}


def test_what_is_hardly_quicker_is_not_worth_more_cores() -> None:
    times = {2: 100.0, 3: 99.0, 4: 97.5, 6: 96.0, 8: 95.0}  # each step is small, and the last is worth one together
    assert kept([an_alternative(cores, [seconds]) for cores, seconds in times.items()]) == {2: [1], 4: [1], 8: [1]}


def test_a_shape_stays_that_fits_where_the_better_one_does_not() -> None:
    both = [an_alternative(4, [90.0, 30.0]), an_alternative(8, [29.0])]
    assert kept(both, nodes(8, 8)) == {4: [1], 8: [1]}
    assert kept(both, nodes(8, 4, 4)) == {4: [1, 2], 8: [1]}
    assert kept(both, nodes(4, 4)) == {4: [1, 2]}
    assert kept(both, nodes(2, 2)) == {}


def test_of_many_numbers_of_hosts_some_are_looked_at() -> None:
    found = kept([an_alternative(1, [100.0 / count for count in range(1, 41)])])
    assert found == {1: tried_numbers(1, 40)}


def test_each_class_of_hosts_counts() -> None:
    def on_both(cores: int, fast: float, slow: float) -> Alternative:
        each = [Profile((time,), PredictionSource.MODEL, name) for name, time in (("fast", fast), ("slow", slow))]
        return Alternative(cores, slowest_profile(each, "fast+slow"))

    assert kept([on_both(2, 10.0, 20.0), on_both(4, 10.0, 19.0), on_both(8, 10.0, 19.0)]) == {2: [1], 4: [1]}
    quickest = quickest_profile([on_both(2, 10.0, 20.0), on_both(4, 11.0, 19.0)])
    assert [each.seconds for each in quickest.classes] == [(10.0,), (19.0,)]
    assert (quickest.seconds, quickest.hardware) == ((19.0,), "fast+slow")


@given(
    st.lists(
        st.tuples(st.integers(1, 16), st.lists(st.sampled_from([1.0, 2.0, 4.0, math.inf]), min_size=1, max_size=4)),
        min_size=1,
        max_size=6,
        unique_by=lambda each: each[0],
    ).filter(lambda shapes: all(min(seconds) < math.inf for _, seconds in shapes)),
    st.lists(st.sampled_from([2, 4, 16]), min_size=1, max_size=4),
)
def test_for_each_possible_shape_one_is_kept_that_is_as_good_wherever_it_fits(
    shapes: list[tuple[int, list[float]]], sizes: list[int]
) -> None:
    alternatives = [an_alternative(cores, seconds) for cores, seconds in shapes]
    found = useful_alternatives(alternatives, nodes(*sizes))
    stay = [
        (each.cores, count, seconds)
        for each in found
        for count, seconds in enumerate(each.profile.seconds, 1)
        if seconds < math.inf
    ]
    for cores, seconds in shapes:
        room = sum(size >= cores for size in sizes)
        for count, time in enumerate(seconds, 1):
            if count <= room and time < math.inf:
                assert any(
                    other * on <= cores * count
                    and quicker <= 1.02 * time
                    and all(size >= other for size in sizes if size >= cores)
                    for other, on, quicker in stay
                )
    assert all(sum(size >= cores for size in sizes) >= count for cores, count, _ in stay)


def test_on_whole_hosts_the_quickest_shape_is_taken_and_of_equals_that_with_fewest_cores() -> None:
    one, two = an_alternative(4, [9.0, 5.0]), an_alternative(8, [7.0, 5.0])
    assert alternative_on([one, two], 0, hosts(1)) is two
    assert alternative_on([one, two], 0, hosts(2)) is one
    assert alternative_on([one, two], 4, hosts(1)) is one
    assert alternative_on([one, two], 0, nodes(4)) is one  # the other does not fit there


def test_a_whole_host_domain_gives_the_job_the_quickest_shape() -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, tuple(nodes(4, 4))))
    task = a_choosing()
    assert task.spec.cores == 2
    outcome = submit(core, task)
    (decision,) = [each for each in outcome.decisions if isinstance(each, DispatchAttempt)]
    assert decision.attempt.share is None
    assert (decision.task.spec.cores, decision.task.profile) == (4, task.alternatives[1].profile)
    assert decision.attempt.predicted == 35.0


def test_before_any_search_the_least_is_taken_that_meets_the_deadline() -> None:
    core = a_sharing_core()
    (first,) = dispatched(submit(core, a_choosing(1)))
    assert (first.share, first.predicted, first.part) == (HostShare(4000, 2, 0), 60.0, 0.25)
    (second,) = dispatched(submit(core, a_choosing(2, deadline=40.0)))
    assert (second.cores, second.predicted) == (4, 35.0)


def test_the_plan_chooses_the_shape_and_the_job_gets_it() -> None:
    core = a_sharing_core(staging=100.0)
    submit(core, a_choosing(1))
    snapshot = core.planning_view.snapshot(0.0)
    assert snapshot is not None
    problem, plan = snapshot
    assert problem.packing is not None
    assert problem.packing.demand[:, 0].tolist() == [2, 4, 8]
    assert problem.packing.seconds[:, 0].tolist() == [60.0, 35.0, 20.0]
    assert problem.seconds[0, 0, 0] == 20.0
    assert plan.counts.tolist() == [0]
    proposed = TaskPlan.of(problem, replace(plan, counts=np.array([2])))
    assert proposed == TaskPlan(("1",), (1,), (), (8,))
    (attempt,) = dispatched(core.handle(ScheduleImproved(0.5, proposed)))
    assert (attempt.share, attempt.predicted) == (HostShare(16000, 8, 0), 20.0)
    assert core.tasks["1"].spec.cores == 8


def test_a_chosen_shape_that_cannot_be_had_any_more_is_chosen_anew() -> None:
    core = a_sharing_core(staging=100.0)
    submit(core, a_choosing(1))
    core = under_plan(core, TaskPlan(("1",), (1,), (), (8,)))
    core.handle(HostsObserved(1.0, (Host("node01", memory=8000, cores=4),)))
    problem = core.planning_view.problem(1.0)
    assert problem is not None
    assert problem.packing is not None
    plan = core.planning_view.plan(problem, 1.0)
    assert problem.packing.demand[plan.counts, 0].tolist() == [2]


def test_a_task_whose_host_is_lost_has_all_its_shapes_again() -> None:
    core = a_sharing_core(1, staging=100.0)
    task = a_choosing(1)
    submit(core, task)
    core = under_plan(core, TaskPlan(("1",), (1,), (), (8,)))
    (attempt,) = dispatched(core.handle(ScheduleImproved(0.5, core.plan)))
    start(core, attempt, 1.0)
    assert core.tasks["1"].profile == task.alternatives[2].profile
    core.handle(HostsObserved(2.0, hosts(1, down=[1])))
    report(core, attempt, JobState.EVICTED, 2.0, reason="gone")
    report(core, attempt, JobState.REMOVED, 3.0)
    again = core.tasks["1"]
    assert (again.spec, again.profile, again.alternatives) == (task.spec, task.profile, task.alternatives)
    assert core.plan.cores == ()


def test_runs_teach_by_the_shape_that_was_taken() -> None:
    core = a_sharing_core(staging=100.0)
    submit(core, a_choosing(1))
    (attempt,) = dispatched(core.handle(ScheduleImproved(0.5, TaskPlan(("1",), (1,), (), (4,)))))
    outcome = complete(core, attempt, 1.0, 71.0)
    (run,) = outcome.changes.runs
    assert (run.numbers, run.stated, run.seconds) == ((4.0,), 35.0, 70.0)
    assert core.corrections()["app/test"].factor > 1.0
    rigid, ranged = a_part(2, 4), a_choosing(3)
    assert rigid.spec.features("ann").key != ranged.spec.features("ann").key
    eight = ranged.shaped(8, ())
    assert eight.spec.features("ann").numbers == (8.0,)


def test_a_task_that_waits_says_what_is_missing_and_with_what_it_would_be_quicker() -> None:
    core = a_sharing_core()
    (busy,) = dispatched(submit(core, a_part(1, 7, [30.0])))
    start(core, busy, 0.0)
    submit(core, a_choosing(2, deadline=70.0))
    core = under_plan(core, TaskPlan(("2",), (1,), (), (4,)))
    found = explain(core, "2", 0.0)
    assert found is not None
    assert found.planned_cores == 4
    assert found.waits_for[0].startswith("4 cores and 8000M of memory on one host: node01 has that in")
    assert "on 8 cores of one host it would run 20 s instead of 35 s on 4 cores of one host" in found.would_change


def test_a_new_task_is_foreseen_in_the_shape_that_ends_first() -> None:
    core = a_sharing_core()
    place = predict_placement(core, a_choosing(1), 0.0)
    assert place is not None
    assert (place.cores, place.end - place.start) == (8, 20.0)
    (busy,) = dispatched(submit(core, a_part(2, 2, [300.0])))
    start(core, busy, 0.0)
    place = predict_placement(core, a_choosing(1), 0.0)
    assert place is not None
    assert (place.cores, place.end - place.start) == (4, 35.0)
    whole = predict_placement(a_core(2), a_choosing(1), 0.0)
    assert whole is not None
    assert (whole.cores, whole.end - whole.start) == (8, 20.0)


def test_a_limit_of_hosts_leaves_out_the_shapes_beyond_it() -> None:
    core = a_sharing_core(2, staging=100.0)
    core.handle(SharesChanged(0.0, Shares(users={"ann": Share(hosts=1)})))
    task = with_shapes(a_task(1, owner="ann"), {4: (40.0, 20.0), 8: (20.0, 10.0)})
    submit(core, task)
    problem = core.planning_view.problem(0.0)
    assert problem is not None
    assert problem.packing is not None
    shapes = zip(problem.packing.hosts.tolist(), problem.packing.demand[:, 0].tolist(), strict=True)
    assert list(shapes) == [(1, 4), (2, 4), (1, 8)]


def test_a_domain_without_ranges_makes_the_same_problems_and_plans_as_before() -> None:
    """The path of rigid tasks builds no shape beside those by the number of hosts."""
    core = a_sharing_core(2, staging=100.0)
    submit(core, a_part(1, 4, [10.0, 6.0]))
    problem = core.planning_view.problem(0.0)
    assert problem is not None
    assert problem.packing is not None
    assert not problem.packing.varied.any()
    assert TaskPlan.of(problem, core.planning_view.plan(problem, 0.0)).cores == ()


@given(st.data())
def test_what_is_planned_of_ranges_fits(data: st.DataObject) -> None:
    core = a_sharing_core(3, staging=1e9)
    for number in range(1, data.draw(st.integers(1, 8), label="tasks") + 1):
        shapes = data.draw(
            st.dictionaries(st.integers(1, 8), st.lists(st.floats(1.0, 99.0), min_size=1, max_size=3), min_size=1)
        )
        task = with_shapes(a_task(number), shapes) if len(shapes) > 1 else a_part(number, *shapes.popitem())
        submit(core, task)
    forecast = core.planning_view.forecast(0.0)
    assert forecast is not None
    assert check_schedule(*forecast) == []
    cores = tuple(data.draw(st.integers(0, 8)) for _ in core.plan.tasks)
    core = under_plan(core, replace(core.plan, counts=(1,) * len(cores), cores=cores))
    forecast = core.planning_view.forecast(0.0)
    assert forecast is not None
    assert check_schedule(*forecast) == []
    core.handle(Tick(1.0))


@pytest.mark.parametrize("cores", [(1, 2, 3), (0,)])
def test_a_plan_has_a_number_of_cores_for_each_task_or_none(cores: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="number of cores"):
        TaskPlan(("1", "2"), (1, 1), (), cores)


def test_plans_keep_the_chosen_cores() -> None:
    plan = TaskPlan(("1", "2", "3"), (1, 1, 1), (), (4, 0, 8))
    assert plan.reordered(["3", "1"]).cores == (8, 0, 4)
    assert plan.with_counts({"1": 2}).cores == (4, 0, 8)
    assert plan.replanned(TaskPlan(("3", "2"), (1, 1), (), (2, 0))) == TaskPlan(
        ("3", "2", "1"), (1, 1, 1), (), (2, 0, 4)
    )
    assert TaskPlan(("1",), (1,), (), (0,)) == TaskPlan(("1",), (1,))


@pytest.mark.parametrize("quantile", [0.5, 0.9])
def test_each_alternative_is_corrected_as_a_task_of_that_shape_would_be(quantile: float) -> None:
    core = a_sharing_core(2, quantile=quantile)
    core.handle(HostsObserved(0.0, (Host("a", "fast", memory=8000, cores=4), Host("b", "slow", memory=16000, cores=8))))

    def on_classes(cores: int, fast: float, slow: float) -> Alternative:
        each = [
            Profile((time,), PredictionSource.MODEL, name, (0.9 * time,), (1.2 * time,))
            for name, time in (("fast", fast), ("slow", slow))
        ]
        return Alternative(cores, slowest_profile(each, "fast+slow"))

    found = (on_classes(2, 10.0, 20.0), on_classes(8, 4.0, 7.0))
    task = a_task(2, correction="app/fast+slow", begin=1e6)  # it waits
    task = replace(task, alternatives=found, profile=quickest_profile(found)).reopened()
    (attempt,) = dispatched(submit(core, on_both(1, [5.0], [9.0])))
    submit(core, task)

    def holds(time: float) -> None:
        problem = core.planning_view.problem(time)
        assert problem is not None
        assert problem.packing is not None
        shapes = [run_times(each, core.planning_view.assumptions(time), problem.classes, 1) for each in task.shapes()]
        assert problem.packing.seconds.tolist() == [each[:, 0].tolist() for each in shapes]

    holds(0.0)
    complete(core, attempt, 0.0, 30.0)
    assert len(core.corrections()) == 1
    holds(30.0)
    core.handle(HostsObserved(31.0, (Host("b", "slow", memory=16000, cores=8),)))
    holds(31.0)
