"""Bounded slowdown: how many times its run time a task takes from its submission to its end.

A rigid task's is that of Feitelson and Rudolph ("Metrics and benchmarking for parallel job scheduling", JSSPP 1998).
Of a task on several host counts its shortest run time counts: else a plan would look better that runs it slowly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.host_counts import best_seconds, quickest_seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.problem import Problem

__all__ = ["SHORTEST_COUNTED", "Slowdowns", "UnknownWaitsError", "with_waits"]

SHORTEST_COUNTED = 10.0
"""Seconds as which shorter run times count, as in the literature: else the mean would be that of the shortest tasks."""


class UnknownWaitsError(ValueError):
    """Slowdown is asked for, and nobody knows how long tasks have waited; `with_waits` says it."""

    def __init__(self) -> None:
        super().__init__("slowdown is asked for, and the problem does not say how long its tasks have waited")


def with_waits(problem: Problem, weights: Weights) -> Problem:
    """Return a problem that says how long its tasks have waited where an objective asks: not at all, unless it does."""
    if not weights.slowdown or problem.waited is not None:
        return problem
    return replace(problem, waited=np.zeros(len(problem.tasks)))


class Slowdowns(NamedTuple):
    """What the slowdowns of a problem's tasks follow from: max(1, (waited + end) · rate).

    Attributes:
        waited: (m,) seconds since each task's submission, at the origin.
        rate: (m,) 1 ÷ the run time that counts, in 1/s.
        least: lower bound of their mean: each task on idle hosts of its own.
    """

    waited: NDArray[np.float64]
    rate: NDArray[np.float64]
    least: float

    @classmethod
    def of(cls, problem: Problem) -> Slowdowns:
        """Return those of a problem.

        Raises:
            UnknownWaitsError: the problem does not say how long its tasks have waited.
        """
        if problem.waited is None:
            raise UnknownWaitsError
        shortest = best_seconds(problem).min(axis=1)
        rate = 1.0 / np.maximum(shortest, SHORTEST_COUNTED)
        soonest = np.maximum(problem.release, problem.free.min()) + quickest_seconds(problem).min(axis=1)
        return cls(problem.waited, rate, float(np.maximum((problem.waited + soonest) * rate, 1.0).mean()))

    def mean(self, tasks: NDArray[np.int64], ends: NDArray[np.float64]) -> float:
        """Return the mean of tasks, by their places in the problem and their ends."""
        return float(np.maximum((self.waited[tasks] + ends) * self.rate[tasks], 1.0).mean())
