"""Some plans as the search keeps them: two arrays and what each plan costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.problem import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Population"]


@dataclass
class Population:
    """P plans and their costs: orders (P, m), counts (P, m) that are widths (see `compiled.Tables`), costs (P,)."""

    orders: NDArray[np.int64]
    counts: NDArray[np.int64]
    costs: NDArray[np.float64]

    @classmethod
    def of(cls, plans: Sequence[Plan]) -> Population:
        """Return the plans in this order, not judged yet."""
        orders, counts = np.array([plan.order for plan in plans]), np.array([plan.counts for plan in plans])
        return cls(orders, counts, np.full(len(plans), np.inf))

    def plan(self, index: int) -> Plan:
        """Return one of the plans."""
        return Plan(self.orders[index].copy(), self.counts[index].copy())

    def copy(self) -> Population:
        """Return a population that shares nothing with this one."""
        return Population(self.orders.copy(), self.counts.copy(), self.costs.copy())
