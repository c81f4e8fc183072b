from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.kernels.objective import objective_kernel, packing_kernel
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.plan import Plan
from cosched.scheduling.search.squeaky_wheel import SqueakyWheel
from tests.scheduling.packed import a_packed_problem, packed_problems

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


def wheel(problem: Problem, first: Plan, bound: float) -> SqueakyWheel:
    tables = packing_kernel.tabulate(problem, Weights(), bound)
    return SqueakyWheel(
        tables,
        first,
        bound,
        lambda orders: objective_kernel.repair_orders(tables.before, tables.first, orders),
        np.random.default_rng(3),
    )


def test_a_long_task_at_the_end_comes_to_the_front() -> None:
    """On two cores twelve short tasks, then a long one: 18 s, where 12 s will do."""
    short, long = [(1, (1,), (1.0,))], [(1, (1,), (12.0,))]
    problem = a_packed_problem([*[short] * 12, long], [(2,)])
    search = wheel(problem, Plan(np.arange(13), np.arange(13)), 12.0)
    assert search.generation() > 0
    assert search.better
    assert search.makespan == 12.0
    assert decode(problem, search.best()).makespan == 12.0
    search.generation()
    assert not search.better


@given(packed_problems(), st.permutations(range(8)))
@settings(max_examples=20)
def test_its_best_plan_is_as_short_as_it_says_and_no_longer_than_the_first(problem: Problem, order: list[int]) -> None:
    assert problem.packing is not None
    shapes = problem.packing.first[:-1].copy()
    begin = np.array([task for task in order if task < len(problem.tasks)])
    tables = packing_kernel.tabulate(problem, Weights(), 1.0)
    objective_kernel.repair_orders(tables.before, tables.first, begin[np.newaxis])
    first = Plan(begin, shapes)
    longest = decode(problem, first).makespan
    search = wheel(problem, first, 1.0)
    search.generation()
    assert search.makespan <= longest
    assert decode(problem, search.best()).makespan == search.makespan
