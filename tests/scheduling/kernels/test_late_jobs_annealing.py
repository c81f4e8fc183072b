from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.kernels.late_jobs_kernel import (
    AnnealedPlan,
    anneal,
    evaluate_from,
    new_annealed_plan,
    tabulate_late_jobs,
)
from cosched.scheduling.kernels.objective_kernel import tabulate
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.plan import Plan
from tests.scheduling.problems import a_problem, problems

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem


def annealed(
    problem: Problem, steps: int, mercy: float = 0.0, temperature: float = 0.1
) -> tuple[int, Plan, AnnealedPlan]:
    """Return the fewest deadlines missed on the way from the tasks in order of index, that plan, and the last one."""
    asking = tabulate_late_jobs(problem, tabulate(problem, Weights(), lower_bound(problem)))
    plan, trial, best = [new_annealed_plan(asking, np.arange(len(problem.tasks))) for _ in range(3)]
    state = np.array([5], dtype=np.uint64)
    fewest = anneal(state, asking, mercy, temperature, steps, plan, trial, best)
    again = new_annealed_plan(asking, plan.order)
    again.asked[:] = plan.asked
    kept, _ = evaluate_from(asking, mercy, np.inf, 0, again)
    assert again.order.tolist() == plan.order.tolist()
    assert again.free[: kept + 1].tolist() == plan.free[: kept + 1].tolist()  # nothing is left over from other plans
    assert again.costs[: kept + 1].tolist() == plan.costs[: kept + 1].tolist()
    return fewest, Plan(best.order, best.counts), plan


def missed(problem: Problem, plan: Plan) -> int:
    return int((np.array(spans(problem, plan)[1]) > problem.deadline).sum())


@settings(deadline=None, max_examples=60)
@given(problems(classes=1), st.sampled_from([0.0, 5.0]), st.sampled_from([0.05, 1.0]))
def test_the_best_plan_on_the_way_misses_what_is_said(problem: Problem, mercy: float, temperature: float) -> None:
    problem = replace(problem, depends_on=())
    start = annealed(problem, 0, mercy)[0]
    fewest, best, last = annealed(problem, 60, mercy, temperature)
    assert sorted(best.order.tolist()) == sorted(last.order.tolist()) == list(range(len(problem.tasks)))
    assert missed(problem, best) == fewest <= start


def test_another_order_and_dearer_counts_are_found() -> None:
    # Two hosts. In time are b on both of them and then a and c beside each other, and nothing else.
    problem = a_problem([[4.0, 3.0], [9.0, 4.5], [4.0, 3.9]], deadline=[9.0, 5.0, 9.0])
    assert annealed(problem, 0)[0] > 0
    fewest, best, _ = annealed(problem, 200)
    assert fewest == 0
    assert best.order[0] == 1
    assert best.counts.tolist() == [1, 2, 1]


def test_nothing_is_tried_once_nobody_is_late() -> None:
    problem = a_problem([[1.0], [2.0]], deadline=[9.0, 9.0])
    assert annealed(problem, 1000)[2].order.tolist() == [0, 1]
