"""The place of a new task: the others stay as they are, and no place that a plain search of four finds is better."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.availability import Unavailability
from cosched.scheduling.decoding.decoder import decode, dependency_order, spans
from cosched.scheduling.heuristics import insertion, moldable_tasks
from cosched.scheduling.heuristics.insertion import insert
from cosched.scheduling.host_counts import single_class
from cosched.scheduling.objective.metrics import measure
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.plan import Plan
from cosched.scheduling.schedule import check_schedule
from tests.scheduling.problems import a_plan, a_problem, plans, problems, unconstrained

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.scheduling.problem import Problem

LATENESS = Weights(makespan=1e-6, idle=0.0, lateness=1.0)


def inserted(problem: Problem, plan: Plan, task: int, weights: Weights = LATENESS) -> Plan:
    found = insert(problem, plan, task, weights)
    assert found is not None
    return found


@given(st.data())
def test_the_others_keep_their_order_and_counts(data: st.DataObject) -> None:
    problem = replace(data.draw(problems(tasks=6, classes=1)), depends_on=())
    new = data.draw(st.integers(0, len(problem.tasks) - 1))
    known = moldable_tasks.two_phase(problem)
    before = Plan(known.order[known.order != new], known.counts)
    plan = inserted(problem, before, new)
    assert check_schedule(problem, decode(problem, plan)) == []
    assert plan.order[plan.order != new].tolist() == before.order.tolist()
    assert np.delete(plan.counts, new).tolist() == np.delete(known.counts, new).tolist()


def test_an_urgent_task_is_placed_ahead_of_the_queue() -> None:
    problem = a_problem([[5.0], [5.0], [5.0], [5.0], [2.0]], hosts=1, deadline=[99.0, 99.0, 99.0, 99.0, 3.0])
    plan = inserted(problem, Plan(np.arange(4), np.ones(5, dtype=np.int64)), 4)
    assert plan.order.tolist()[0] == 4
    assert measure(problem, decode(problem, plan)).on_time == 5


def test_a_task_that_can_wait_goes_to_the_end() -> None:
    problem = a_problem([[5.0], [5.0], [2.0]], deadline=[5.0, 99.0, 99.0])
    assert inserted(problem, a_plan([0, 1], [1, 1, 1]), 2).order.tolist() == [0, 1, 2]


def _drawn(draw: np.random.Generator, tasks: int, hosts: int) -> Problem:
    """Draw whole numbers, so that sums are exact; from a seed, as hypothesis takes long for so many."""
    profiles = draw.integers(1, 6, (tasks, hosts)).astype(float)
    due = draw.integers(1, 3 + 4 * tasks // hosts, tasks).astype(float)
    return a_problem(
        profiles.tolist(),
        hosts,
        deadline=np.where(draw.random(tasks) < 0.2, np.inf, due).tolist(),
        release=draw.integers(0, 4, tasks).astype(float).tolist(),
        free=draw.integers(0, 4, hosts).astype(float).tolist(),
    )


def _price(problem: Problem, plan: Plan, weights: Weights) -> tuple[int, float]:
    """Return the missed deadlines where they come first, then makespan and mean lateness by their weights."""
    ends = np.array(spans(problem, plan)[1])
    late = np.maximum(ends - problem.deadline, 0.0)
    due = max(int(np.isfinite(problem.deadline).sum()), 1)
    missed = int((late > 0).sum()) if weights.deadlines_first else 0
    return missed, round(weights.makespan * float(ends.max()) + weights.lateness * float(late.sum()) / due, 6)


@pytest.mark.parametrize(
    "weights", [LATENESS, Weights(), Weights(deadlines_first=True), Weights(makespan=1.0, idle=0.0, lateness=0.0)]
)
@given(st.integers(0, 1 << 32), st.integers(1, 26), st.integers(1, 5))
def test_no_quarter_of_the_queue_is_a_better_place_on_the_same_hosts_for_a_late_task(
    weights: Weights, seed: int, tasks: int, hosts: int
) -> None:
    problem = _drawn(np.random.default_rng(seed), tasks, hosts)
    new = len(problem.tasks) - 1
    known = moldable_tasks.earliest_deadline_first(problem)
    before = Plan(known.order[known.order != new], known.counts)
    chosen = inserted(problem, before, new, weights)
    ends = spans(problem, chosen)[1]
    if chosen.order[-1] == new and ends[new] <= problem.deadline[new]:
        return  # at the end and on time: nothing else is tried
    found = _price(problem, chosen, weights)
    count = _first_to_end(problem, before, new)
    for step in range(5):
        counts = known.counts.copy()
        counts[new] = count
        plain = Plan(np.insert(before.order, len(before.order) * step // 4, new), counts)
        assert found <= _price(problem, plain, weights)


def _first_to_end(problem: Problem, before: Plan, new: int) -> int:
    """Return the count on which the new task ends first behind all others, the cheapest of equals."""
    tries = []
    for column in np.flatnonzero(np.isfinite(problem.seconds[problem.host_class[0], new])).tolist():
        counts = before.counts.copy()
        counts[new] = column + 1
        ends = spans(problem, Plan(np.append(before.order, new), counts))[1]
        tries.append((ends[new], problem.seconds[problem.host_class[0], new, column] * (column + 1), column + 1))
    return int(min(tries)[2])


def test_a_late_task_is_tried_at_the_last_place_where_it_would_be_on_time() -> None:
    # Behind ten of the others it is on time, and so are all: a quarter is too early for one, a half too late for it.
    deadline = [*[float(task + 1) for task in range(6)], *[99.0] * 10, 11.0]
    problem = a_problem([[1.0]] * 17, hosts=1, deadline=deadline)
    plan = inserted(problem, Plan(np.arange(16), np.ones(17, dtype=np.int64)), 16)
    assert plan.order.tolist().index(16) == 10
    assert measure(problem, decode(problem, plan)).on_time == 17


def _long(deadline: list[float]) -> Problem:
    """Return a queue on one host of tasks that take a second, the last of them the new one."""
    names = tuple(str(task) for task in range(len(deadline)))
    return replace(a_problem([[1.0]] * len(deadline), hosts=1, deadline=deadline), tasks=names)


def test_in_a_long_queue_the_best_place_is_found_by_placing_few_tasks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ahead of half of 1,100 others the new task makes them late, behind three quarters it is too late itself."""
    placed: list[int] = []

    def counted(free: list[float], tasks: Iterable[tuple[int, float, float]]) -> list[float]:
        known = list(tasks)
        placed.append(len(known))
        return place(free, known)

    place = insertion._placed
    monkeypatch.setattr(insertion, "_placed", counted)
    deadline = [*[float(task + 1) for task in range(550)], *[1e6] * 550, 826.0]
    problem = _long(deadline)
    plan = inserted(problem, Plan(np.arange(1100), np.ones(1101, dtype=np.int64)), 1100)
    assert plan.order.tolist().index(1100) == 825
    assert measure(problem, decode(problem, plan)).on_time == 1101
    assert sum(placed) < 1200


def test_a_task_that_is_late_everywhere_goes_ahead_of_a_long_queue_that_can_wait() -> None:
    problem = _long([*[1e6] * 1100, 0.5])
    plan = inserted(problem, Plan(np.arange(1100), np.ones(1101, dtype=np.int64)), 1100)
    assert plan.order.tolist().index(1100) == 0


def test_a_task_that_would_make_a_long_queue_late_goes_behind_it() -> None:
    problem = _long([*[float(task + 1) for task in range(1100)], 0.5])
    plan = inserted(problem, Plan(np.arange(1100), np.ones(1101, dtype=np.int64)), 1100, Weights(deadlines_first=True))
    assert plan.order.tolist().index(1100) == 1100


def test_a_first_task_is_the_plan() -> None:
    problem = unconstrained(a_problem([[4.0, 2.0]], deadline=[1.0]))
    plan = inserted(problem, a_plan([], [1]), 0)
    assert (plan.order.tolist(), plan.counts.tolist()) == ([0], [2])


@pytest.mark.parametrize(("before", "place"), [((), 0), ((0,), 1), ((1,), 2), ((0, 2), 3)])
def test_a_task_goes_ahead_of_others_but_not_of_those_that_it_comes_after(before: tuple[int, ...], place: int) -> None:
    problem = a_problem([[5.0], [5.0], [5.0], [2.0]], hosts=1, deadline=[99.0, 99.0, 99.0, 6.0])
    problem = replace(problem, depends_on=((), (0,), (), before))
    plan = inserted(problem, Plan(np.arange(3), np.ones(4, dtype=np.int64)), 3)
    assert plan.order.tolist().index(3) == place


@given(st.data())
def test_whoever_comes_after_others_stays_behind_them(data: st.DataObject) -> None:
    problem = data.draw(problems(tasks=6, classes=1))
    new = len(problem.tasks) - 1
    before = problem.depends_on or ((),) * len(problem.tasks)
    problem = replace(problem, depends_on=before)
    known = moldable_tasks.two_phase(problem)
    others = Plan(known.order[known.order != new], known.counts)
    plan = insert(problem, others, new, LATENESS)
    if any(new in each for each in before):
        assert plan is None
        return
    assert plan is not None
    assert check_schedule(problem, decode(problem, plan)) == []
    places = plan.order.tolist()
    assert all(places.index(other) < places.index(task) for task, each in enumerate(before) for other in each)
    assert plan.order[plan.order != new].tolist() == dependency_order(problem, others.order.tolist())


@given(st.data())
def test_on_several_classes_the_others_keep_order_counts_and_classes(data: st.DataObject) -> None:
    problem = replace(data.draw(problems(tasks=6)), depends_on=())
    known = data.draw(plans(problem))
    new = data.draw(st.integers(0, len(problem.tasks) - 1))
    before = replace(known, order=known.order[known.order != new])
    plan = inserted(problem, before, new)
    assert check_schedule(problem, decode(problem, plan)) == []
    assert plan.order[plan.order != new].tolist() == before.order.tolist()
    assert np.delete(plan.counts, new).tolist() == np.delete(known.counts, new).tolist()
    if single_class(problem) is None:
        assert plan.classes is not None
        was = np.full(len(problem.tasks), -1) if known.classes is None else known.classes
        assert np.delete(plan.classes, new).tolist() == np.delete(was, new).tolist()


def _two_classes(profiles: list[list[float]], deadline: list[float]) -> Problem:
    """Return a problem on a quick host and one that takes three times as long."""
    one = a_problem(profiles, hosts=2, deadline=deadline)
    seconds = np.concatenate([one.seconds, 3 * one.seconds])
    return replace(one, classes=("quick", "slow"), host_class=np.arange(2), seconds=seconds)


def test_an_urgent_task_takes_the_quick_host_ahead_of_a_queue_on_both() -> None:
    problem = _two_classes([[5.0], [5.0], [5.0], [2.0]], [99.0, 99.0, 99.0, 3.0])
    plan = inserted(problem, Plan(np.arange(3), np.ones(4, dtype=np.int64)), 3)
    assert plan.order.tolist()[0] == 3
    assert plan.classes is not None
    assert plan.classes.tolist() == [-1, -1, -1, 0]
    assert measure(problem, decode(problem, plan)).on_time == 4


def test_a_task_that_can_wait_leaves_the_quick_host_to_others() -> None:
    problem = _two_classes([[5.0], [5.0], [2.0]], [99.0, 99.0, 99.0])
    plan = inserted(problem, Plan(np.arange(2), np.ones(3, dtype=np.int64), np.zeros(3, dtype=np.int64)), 2)
    assert plan.order.tolist() == [0, 1, 2]
    assert plan.classes is not None
    assert plan.classes.tolist() == [0, 0, 1]


def test_a_task_that_no_class_alone_has_hosts_for_takes_those_of_any() -> None:
    problem = _two_classes([[5.0], [math.inf, 2.0]], [99.0, 9.0])
    plan = inserted(problem, a_plan([0], [1, 1]), 1)
    assert plan.order.tolist() == [1, 0]
    assert plan.counts.tolist() == [1, 2]
    assert plan.classes is not None
    assert plan.classes.tolist() == [-1, -1]


def test_where_hosts_leave_or_others_come_after_the_task_it_is_left_to_the_search() -> None:
    problem = a_problem([[4.0, 2.0], [4.0, 2.0]])
    known = a_plan([0], [1, 1])
    assert insert(problem, known, 1, Weights()) is not None
    awaited = replace(problem, depends_on=((1,), ()))
    leaving = replace(problem, absences=(Unavailability(0, 5.0, 9.0),))
    gone = replace(problem, free=np.array([0.0, math.inf]))
    assert [insert(each, known, 1, Weights()) for each in (awaited, leaving, gone)] == [None] * 3
