"""Chains of tasks with several ways: host counts of their stages that go together. Start at `ChainWays`.

Which way a chain has is a gene of the search: it is read from the counts. `kernels/search/way_kernel.py` does so for
children, and leads chains along other ways; plans from elsewhere are led by `along_ways`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.plan import Plan

__all__ = ["ChainWays", "along_ways", "plan_along_ways"]


@dataclass(frozen=True)
class ChainWays:
    """The ways of one chain.

    Attributes:
        rows: (S,) int64, the tasks that are its stages, as the problem counts them.
        hosts: (W, S) int64, host count of each stage in each way. The first way is the one that it has now.
        leader: index of the stage by whose host count a way is known: no two ways have the same there.
    """

    rows: NDArray[np.int64]
    hosts: NDArray[np.int64]
    leader: int

    def chosen(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (P,): the way of each of (P, m) counts, the first where its leader's count is of none."""
        leaders = counts[:, self.rows[self.leader], np.newaxis]
        found: NDArray[np.int64] = (leaders == self.hosts[:, self.leader]).argmax(axis=1)
        return found

    def lead(self, counts: NDArray[np.int64], ways: NDArray[np.int64]) -> None:
        """Give the stages in (P, m) counts the host counts of (P,) ways."""
        counts[:, self.rows] = self.hosts[ways]


def along_ways(ways: Sequence[ChainWays], counts: NDArray[np.int64]) -> None:
    """Give all stages of each chain the counts of one way, that of its leader, in (P, m) counts."""
    for chain in ways:
        chain.lead(counts, chain.chosen(counts))


def plan_along_ways(ways: Sequence[ChainWays], plan: Plan) -> Plan:
    """Return a plan with all stages of each chain in one way."""
    if not ways:
        return plan
    counts = plan.counts[np.newaxis].copy()
    along_ways(ways, counts)
    return replace(plan, counts=counts[0])
