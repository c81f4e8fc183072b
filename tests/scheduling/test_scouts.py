from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cosched.scheduling.absences import Absence
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.compiled import tables
from cosched.scheduling.decoder import spans
from cosched.scheduling.population import Population
from cosched.scheduling.problem import Problem, Weights
from cosched.scheduling.scouts import Scouts, are_of_use
from tests.scheduling.problems import a_plan, a_problem

UNLIKE = np.arange(1.0, 9.0).reshape(2, 2, 2)
DUE = a_problem([[2.0], [3.0]], deadline=[1.0, 9.0])


def missed(problem: Problem, order: list[int], counts: list[int]) -> int:
    return int((np.array(spans(problem, a_plan(order, counts))[1]) > problem.deadline).sum())


def test_scouts_find_whom_to_give_up() -> None:
    # One host: all but the longest task can be in time, and in order of deadlines all but the first are late.
    lengths = [9.0, *[2.0] * 7]
    problem = a_problem([[length] for length in lengths], hosts=1, deadline=[9.0, *np.arange(2.0, 16.0, 2.0)])
    plan = a_plan(list(range(8)), [1] * 8)
    assert missed(problem, plan.order.tolist(), plan.counts.tolist()) > 1
    bound = lower_bound(problem)
    people = Population.of([plan] * 10)
    scouts = Scouts(problem, tables(problem, Weights(), bound), bound, np.array([5], dtype=np.uint64), people)
    fewest = 8
    for _ in range(150):
        assert scouts.generation() >= 10
        found = scouts.best()
        assert missed(problem, found.order.tolist(), found.counts.tolist()) == scouts.missed.min()
        fewest = min(fewest, int(scouts.missed.min()))
    assert fewest == 1
    assert people.orders.tolist() == [list(range(8))] * 10  # theirs are copies


@pytest.mark.parametrize(
    ("problem", "use"),
    [
        (DUE, True),
        (a_problem([[2.0], [3.0]]), False),
        (a_problem([[2.0], [3.0]], deadline=[1.0, 9.0], depends_on=((), (0,))), False),
        (replace(DUE, absences=(Absence(0, 1.0, 2.0),)), False),
        (
            replace(DUE, host_class=np.arange(2), classes=("a", "b"), seconds=np.arange(1.0, 9.0).reshape(2, 2, 2)),
            False,
        ),
    ],
)
def test_scouts_need_deadlines_and_tasks_and_hosts_without_ties(problem: Problem, use: bool) -> None:
    assert are_of_use(problem) is use
