"""The parts of the objective that whole and shared hosts have in common, for compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.jit import compiled
from cosched.scheduling.objective.objective import MISSED
from cosched.scheduling.objective.slowdown import Slowdowns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.problem import Problem

__all__ = ["counted_slowdowns", "mean_slowdown", "term_weights"]

_NONE = Slowdowns(np.empty(0), np.empty(0), 1.0)


def counted_slowdowns(problem: Problem, weights: Weights) -> Slowdowns:
    """Return the slowdowns of a problem's tasks; of no task where nobody asks for them.

    Raises:
        ValueError: they have a weight, and the problem does not say how long its tasks have waited.
    """
    return Slowdowns.of(problem) if weights.slowdown or problem.waited is not None else _NONE


def term_weights(
    problem: Problem, weights: Weights, bound: float, idle_unit: float, least: float
) -> NDArray[np.float64]:
    """Return the weights by which the terms are multiplied as they are.

    Args:
        problem: for the number of deadlines.
        weights: of the objective.
        bound: as in `objective.objective`.
        idle_unit: what the idle time of all hosts together is divided by.
        least: lower bound of the mean slowdown.

    Returns:
        (5,) weights of makespan, idle time, lateness, a missed deadline and the mean slowdown.
    """
    with_deadline = max(int(np.isfinite(problem.deadline).sum()), 1)
    weight = np.array([weights.makespan, weights.idle, weights.lateness, weights.slowdown])
    makespan, idle, lateness, slowdown = (
        weight * np.array([1 / bound, 1 / idle_unit, 1 / (with_deadline * bound), 1 / least]) / weight.sum()
    )
    return np.array([makespan, idle, lateness, MISSED if weights.deadlines_first else 0.0, slowdown])


@compiled
def mean_slowdown(waited: NDArray[np.float64], rate: NDArray[np.float64], ends: NDArray[np.float64]) -> float:
    """Return the mean bounded slowdown of tasks that end then; 0 where it is not counted."""
    total: float = 0.0
    count: int = rate.shape[0]
    for task in range(count):
        total += max(1.0, float((waited[task] + ends[task]) * rate[task]))
    return total / max(count, 1)
