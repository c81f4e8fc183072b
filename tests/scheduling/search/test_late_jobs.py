from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.scheduling.availability import Unavailability
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.kernels.objective.objective_kernel import tabulate
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.search.initial_population import Population
from cosched.scheduling.search.late_jobs import LateJobSearch, late_job_search_applies
from tests.scheduling.problems import a_plan, a_problem

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

UNLIKE = np.arange(1.0, 9.0).reshape(2, 2, 2)
DUE = a_problem([[2.0], [3.0]], deadline=[1.0, 9.0])


def missed(problem: Problem, order: list[int], counts: list[int]) -> int:
    return int((np.array(spans(problem, a_plan(order, counts))[1]) > problem.deadline).sum())


def test_the_search_finds_the_task_to_give_up() -> None:
    # One host: all but the longest task can be in time, and in order of deadlines all but the first are late.
    lengths = [9.0, *[2.0] * 7]
    problem = a_problem([[length] for length in lengths], hosts=1, deadline=[9.0, *np.arange(2.0, 16.0, 2.0)])
    plan = a_plan(list(range(8)), [1] * 8)
    assert missed(problem, plan.order.tolist(), plan.counts.tolist()) > 1
    bound = lower_bound(problem)
    search = LateJobSearch(
        problem, tabulate(problem, Weights(), bound), bound, np.array([5], dtype=np.uint64), plan.order
    )
    fewest = 8
    for _ in range(80):
        assert search.generation() > 0
        found = search.best()
        assert missed(problem, found.order.tolist(), found.counts.tolist()) == search.missed
        fewest = min(fewest, search.missed)
    assert fewest == 1
    assert search.annealings == 2  # of 25 and 50 generations
    assert plan.order.tolist() == list(range(8))  # its own is a copy
    people = Population.of([plan] * 3)
    search.rescue(people)
    rows = zip(people.orders.tolist(), people.counts.tolist(), strict=True)
    assert [missed(problem, *row) for row in rows] == [5] * 3  # whoever is late behind the first, but for two, stays so


@pytest.mark.parametrize(
    ("problem", "use"),
    [
        (DUE, True),
        (a_problem([[2.0], [3.0]]), False),
        (a_problem([[2.0], [3.0]], deadline=[1.0, 9.0], depends_on=((), (0,))), False),
        (replace(DUE, unavailability=(Unavailability(0, 1.0, 2.0),)), False),
        (
            replace(DUE, host_class=np.arange(2), classes=("a", "b"), seconds=np.arange(1.0, 9.0).reshape(2, 2, 2)),
            False,
        ),
    ],
)
def test_late_job_search_needs_deadlines_free_tasks_and_hosts_alike(problem: Problem, use: bool) -> None:
    assert late_job_search_applies(problem) is use
