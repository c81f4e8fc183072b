"""The peer: pymoo's genetic algorithm on random keys for the order and the widths. Loading this module loads pymoo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.problem import ElementwiseProblem
from pymoo.optimize import minimize

from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.host_counts import useful_counts
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

__all__ = ["pymoo_peer"]


class _Keys(ElementwiseProblem):  # type: ignore[misc]  # pymoo has no types
    """Two keys in [0, 1] for each task: its rank in the order, and which of its useful counts it takes."""

    def __init__(self, queue: Problem) -> None:
        self._queue = queue
        self._widths = [np.flatnonzero(row) + 1 for row in useful_counts(queue)]
        super().__init__(n_var=2 * len(self._widths), n_obj=1, xl=0.0, xu=1.0)

    def _evaluate(self, x: Any, out: dict[str, Any], *_: object, **__: object) -> None:
        ranks, keys = np.split(x, 2)
        counts = [row[min(int(key * len(row)), len(row) - 1)] for row, key in zip(self._widths, keys, strict=True)]
        out["F"] = max(spans(self._queue, Plan(np.argsort(ranks), np.array(counts)))[1])


def pymoo_peer(problem: Problem, seconds: float, seed: int) -> float:
    """Return the best makespan after so many seconds, from a random start, population 40."""
    limit = ("time", seconds)
    return float(minimize(_Keys(problem), GA(pop_size=40), limit, seed=seed, verbose=False).F[0])
