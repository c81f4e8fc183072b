"""The peer: pymoo's genetic algorithm on random keys for the order and the widths. Loading this module loads pymoo."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.problem import ElementwiseProblem
from pymoo.core.termination import Termination
from pymoo.optimize import minimize

from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.heuristics.moldable_tasks import two_phase
from cosched.scheduling.host_counts import useful_counts
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.scheduling.problem import Problem

__all__ = ["pymoo_genetic"]

_POPULATION = 40


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

    def keys(self, plan: Plan) -> Any:
        """Return the keys of a plan."""
        ranks = (np.argsort(plan.order) + 0.5) / len(plan.order)
        chosen = zip(self._widths, plan.counts, strict=True)
        return np.concatenate([ranks, [(np.searchsorted(row, count) + 0.5) / len(row) for row, count in chosen]])


class _After(Termination):  # type: ignore[misc]
    """Ends after so many seconds of a clock."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        super().__init__()
        self._seconds, self._clock, self._began = seconds, clock, clock()

    def _update(self, _algorithm: object) -> float:
        return (self._clock() - self._began) / self._seconds


def pymoo_genetic(
    problem: Problem,
    seconds: float,
    seed: int,
    clock: Callable[[], float] = time.perf_counter,
    *,
    from_heuristic: bool = False,
) -> float:
    """Return the best makespan after so many seconds of the clock, population 40.

    It starts from random plans, or with the two-phase heuristic's plan among them.
    """
    keys = _Keys(problem)
    draw = np.random.default_rng(seed)
    first = draw.random((_POPULATION, keys.n_var))
    if from_heuristic:
        first[0] = keys.keys(two_phase(problem))
    # pymoo copies what it is given, and cannot copy a clock.
    ended = minimize(
        keys, GA(pop_size=_POPULATION, sampling=first), _After(seconds, clock), seed=seed, copy_termination=False
    )
    return float(ended.F[0])
