"""The best of the heuristics' plans: what answers where there is no time to search, or nothing to search with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling import backfill, heuristics
from cosched.scheduling.baselines import calculated_counts
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.metrics import measure_plan, objective
from cosched.scheduling.widths import best_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cosched.scheduling.problem import Plan, Problem, Weights

__all__ = ["best_heuristic"]


def best_heuristic(problem: Problem, weights: Weights, within: Callable[[], bool]) -> tuple[Plan, int]:
    """Return the plan with the least objective among those of the heuristics, and how many were compared.

    Args:
        problem: at least one task.
        weights: of the objective.
        within: whether there is time for one more; asked before each but the first.
    """
    bound = lower_bound(problem)
    best: Plan | None = None
    least, compared = np.inf, 0
    for plan in _plans(problem):
        cost = objective(measure_plan(problem, plan), weights, bound)
        compared += 1
        if best is None or cost < least:
            best, least = plan, cost
        if not within():
            break
    assert best is not None, "there is a first heuristic"
    return best, compared


def _plans(problem: Problem) -> Iterator[Plan]:
    """Yield the plans, the quickest first."""
    yield heuristics.earliest_deadline_first(problem)
    if np.isfinite(problem.deadline).any():
        yield heuristics.late_last(problem)
    yield heuristics.longest_first(problem)
    yield heuristics.earliest_finish(problem)
    yield heuristics.two_phase(problem)  # a second for 3,000 tasks on 256 hosts, ten times as long as those before
    yield backfill.easy(problem, calculated_counts(best_seconds(problem)))
