"""The place of a new task: the others stay as they are, and no place that a plain search of four finds is better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling import heuristics
from cosched.scheduling.checker import check
from cosched.scheduling.decoder import decode, spans
from cosched.scheduling.insertion import append
from cosched.scheduling.metrics import measure
from cosched.scheduling.problem import Plan, Problem
from tests.scheduling.problems import a_plan, a_problem, problems, unconstrained


@given(st.data())
def test_an_appended_task_leaves_the_others_in_their_order(data: st.DataObject) -> None:
    problem = replace(data.draw(problems(tasks=6, absences=True)), depends_on=())
    new = data.draw(st.integers(0, len(problem.tasks) - 1))
    known = heuristics.two_phase(problem)
    before = Plan(known.order[known.order != new], known.counts)
    plan = append(problem, before, new)
    assert check(problem, decode(problem, plan)) == []
    assert plan.order[plan.order != new].tolist() == before.order.tolist()
    assert np.delete(plan.counts, new).tolist() == np.delete(known.counts, new).tolist()


def test_an_urgent_task_is_placed_ahead_of_the_queue() -> None:
    problem = a_problem([[5.0], [5.0], [5.0], [5.0], [2.0]], hosts=1, deadline=[99.0, 99.0, 99.0, 99.0, 3.0])
    plan = append(problem, Plan(np.arange(4), np.ones(5, dtype=np.int64)), 4)
    assert plan.order.tolist()[0] == 4
    assert measure(problem, decode(problem, plan)).on_time == 5


def test_a_task_that_can_wait_goes_to_the_end() -> None:
    problem = a_problem([[5.0], [5.0], [2.0]], deadline=[5.0, 99.0, 99.0])
    assert append(problem, a_plan([0, 1], [1, 1, 1]), 2).order.tolist() == [0, 1, 2]


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


def _late_and_makespan(problem: Problem, plan: Plan) -> tuple[float, float]:
    ends = np.array(spans(problem, plan)[1])
    return float(np.maximum(ends - problem.deadline, 0.0).sum()), float(ends.max())


@given(st.integers(0, 1 << 32), st.integers(1, 26), st.integers(1, 5))
def test_no_quarter_of_the_queue_is_a_better_place_on_the_same_hosts_for_a_late_task(
    seed: int, tasks: int, hosts: int
) -> None:
    problem = _drawn(np.random.default_rng(seed), tasks, hosts)
    new = len(problem.tasks) - 1
    known = heuristics.earliest_deadline_first(problem)
    before = Plan(known.order[known.order != new], known.counts)
    chosen = append(problem, before, new)
    ends = spans(problem, chosen)[1]
    if chosen.order[-1] == new and ends[new] <= problem.deadline[new]:
        return  # at the end and on time: nothing else is tried
    found = _late_and_makespan(problem, chosen)
    count = _first_to_end(problem, before, new)
    for step in range(5):
        counts = known.counts.copy()
        counts[new] = count
        plain = Plan(np.insert(before.order, len(before.order) * step // 4, new), counts)
        assert found <= _late_and_makespan(problem, plain)


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
    plan = append(problem, Plan(np.arange(16), np.ones(17, dtype=np.int64)), 16)
    assert plan.order.tolist().index(16) == 10
    assert measure(problem, decode(problem, plan)).on_time == 17


@pytest.mark.parametrize("classes", [1, 2])
def test_a_first_task_is_the_plan(classes: int) -> None:
    problem = unconstrained(a_problem([[4.0, 2.0]], deadline=[1.0]))
    problem = replace(problem, classes=("a", "b")[:classes], host_class=np.arange(2) % classes,
                      seconds=np.concatenate([problem.seconds * (1 + kind) for kind in range(classes)]))  # fmt: skip
    plan = append(problem, a_plan([], [1]), 0)
    assert (plan.order.tolist(), plan.counts.tolist()) == ([0], [2 if classes == 1 else 1])
