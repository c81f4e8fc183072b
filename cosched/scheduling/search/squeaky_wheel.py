"""Of tasks that share hosts, those that end too late come earlier in the next plan.

A makespan is that of the few tasks that end last, and a change elsewhere in the order does nothing for it. Squeaky
wheel optimisation (Joslin and Clements, Journal of Artificial Intelligence Research 10, 1999) makes a schedule of
priorities, blames whoever does badly there, and gives these more priority before the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.decoding.packed_decode_kernel import population_spans
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.packing_tables import PackingTables

__all__ = ["SqueakyWheel"]

_PLANS = 40  # of a generation
_STEP = 1.0  # largest part of a task's priority that it gains
_LATE = 0.9  # of the way from the bound to the shortest makespan: who ends later is blamed


class SqueakyWheel:
    """One order and its priorities.

    Attributes:
        makespan: the shortest so far, in seconds.
        better: whether the last generation found a shorter one.
    """

    def __init__(
        self,
        tables: PackingTables,
        first: Plan,
        bound: float,
        repair: Callable[[NDArray[np.int64]], None],
        draw: np.random.Generator,
    ) -> None:
        """Start from a plan.

        Args:
            tables: of the problem; no task of it is elastic.
            first: its shapes stay.
            bound: lower bound of the makespan, in seconds.
            repair: makes (1, m) orders such as the problem allows.
            draw: source of random numbers.
        """
        self._tables, self._bound, self._repair, self._draw = tables, bound, repair, draw
        self._shapes = first.counts[np.newaxis].copy()
        self._priority = np.empty(len(first.order))
        self._priority[first.order] = 1.0 / np.arange(1, len(first.order) + 1)
        self._best = first.order
        self._starts, self._ends = np.empty(self._shapes.shape), np.empty(self._shapes.shape)
        self.makespan, self.better = np.inf, False

    def generation(self) -> int:
        """Go on for one generation; return how many plans were judged."""
        before = self.makespan
        for _ in range(_PLANS):
            self._next()
        self.better = self.makespan < before
        return _PLANS

    def best(self) -> Plan:
        """Return the plan with the shortest makespan so far."""
        return Plan(self._best.copy(), self._shapes[0].copy())

    def _next(self) -> None:
        order = np.argsort(-self._priority, kind="stable")[np.newaxis]
        self._repair(order)
        population_spans(self._tables, order, self._shapes, self._starts, self._ends)
        [ends] = self._ends
        makespan = float(ends.max())
        if makespan < self.makespan:
            self.makespan, self._best = makespan, order[0]
        late = ends > min(self._bound + _LATE * (self.makespan - self._bound), makespan * (1 - 1e-12))
        self._priority[late] *= 1 + _STEP * self._draw.random(int(late.sum()))
