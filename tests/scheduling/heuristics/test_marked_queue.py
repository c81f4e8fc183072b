from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.heuristics.insertion import MarkedQueue, RunOption
from tests.scheduling.problems import a_plan, a_problem, plans, problems

if TYPE_CHECKING:
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem


def _independent(data: st.DataObject) -> tuple[Problem, Plan]:
    problem = replace(data.draw(problems()), depends_on=())
    return problem, data.draw(plans(problem))


@given(st.data())
def test_a_queue_is_placed_as_it_is_decoded(data: st.DataObject) -> None:
    problem, plan = _independent(data)
    queue, ends = MarkedQueue(problem, plan), np.array(spans(problem, plan)[1])
    assert queue.late.tolist() == (ends - problem.deadline)[plan.order].tolist()
    assert queue.latest == ends.max()
    assert sorted(time for row in queue.free[0] for time in row) == sorted(problem.free.tolist())


@given(st.data())
def test_behind_one_more_all_are_placed_anew_as_decoded_on_hosts_of_one_class(data: st.DataObject) -> None:
    """On several classes each keeps how many of which it takes, which the decoder may choose anew."""
    problem = replace(data.draw(problems(classes=1)), depends_on=())
    plan = data.draw(plans(problem))
    *others, new = plan.order.tolist()
    queue = MarkedQueue(problem, replace(plan, order=np.array(others, dtype=np.int64)))
    mark, count = data.draw(st.integers(0, len(queue.places) - 1)), int(plan.counts[new])
    seconds = float(problem.seconds[problem.host_class[0], new, count - 1])
    found = queue.with_one_more(mark, RunOption(0, count, (seconds,)), float(problem.release[new]))
    order = np.insert(np.array(others, dtype=np.int64), queue.places[mark], new)
    ends = np.array(spans(problem, replace(plan, order=order))[1])
    assert found.end == ends[new]
    assert found.latest == max(ends.max(), queue.latest)
    assert found.late.tolist() == (ends - problem.deadline)[others].tolist()
    assert found.placed == len(others) - queue.places[mark]


def _with_a_class(problem: Problem, slowdown: float, host_class: list[int]) -> Problem:
    """Return a problem with a second class of hosts, which take so many times as long."""
    seconds = np.concatenate([problem.seconds, slowdown * problem.seconds])
    return replace(problem, classes=("a", "b"), host_class=np.array(host_class), seconds=seconds)


def test_a_task_on_hosts_of_two_classes_keeps_them_behind_one_more() -> None:
    # One host of each class until 2; then the new task has the quick one until 5, and the wide one follows.
    one = a_problem([[2.0, 2.0], [1.0, 1.0]], hosts=2, deadline=[9.0, 9.0])
    problem = replace(
        one, classes=("a", "b"), host_class=np.arange(2), seconds=np.concatenate([one.seconds] * 2) * [[[1.0]], [[2.0]]]
    )
    queue = MarkedQueue(problem, a_plan([0], [2, 1]))
    assert queue.late.tolist() == [4.0 - 9.0]
    found = queue.with_one_more(0, RunOption(0, 1, (5.0, math.inf)), 0.0)
    assert (found.end, found.late.tolist(), found.latest, found.placed) == (5.0, [9.0 - 9.0], 9.0, 1)


def test_what_a_host_is_worth_is_how_quick_its_class_is_for_these_tasks() -> None:
    one = a_problem([[2.0], [4.0]], hosts=3)
    slower = one.seconds * 3
    problem = replace(
        one, classes=("a", "b"), host_class=np.array([0, 0, 1]), seconds=np.concatenate([one.seconds, slower])
    )
    assert MarkedQueue(one, a_plan([0, 1], [1, 1])).worth == [1 / 3]
    assert np.allclose(MarkedQueue(problem, a_plan([0, 1], [1, 1])).worth, [3 / 7, 1 / 7])
