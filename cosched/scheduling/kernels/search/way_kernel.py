"""Ways of chains of tasks (see `scheduling.ways`) in machine code, for whole populations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.kernels.jit import compiled
from cosched.scheduling.kernels.search.genetic_operators import random_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.ways import ChainWays

__all__ = ["WayTables", "choose_ways", "lead_along", "tabulate_ways"]

_LED_OTHERWISE = 0.3  # share of plans in which a chain changes its way


class WayTables(NamedTuple):
    """The ways of C chains.

    Attributes:
        rows: the tasks that are stages, those of chain c in rows[first[c]:first[c+1]].
        first: (C+1,) see `rows`.
        leader: (C,) place in `rows` of the stage by whose host count a way is known.
        ways: (C,) how many each chain has.
        hosts: (W, R) host count of each stage in each way of its chain, which may have fewer ways than W.
    """

    rows: NDArray[np.int64]
    first: NDArray[np.int64]
    leader: NDArray[np.int64]
    ways: NDArray[np.int64]
    hosts: NDArray[np.int64]


def tabulate_ways(chains: Sequence[ChainWays]) -> WayTables:
    """Lay out chains' ways for the compiled code."""
    first = np.cumsum([0, *(len(chain.rows) for chain in chains)], dtype=np.int64)
    hosts = np.zeros((max((len(chain.hosts) for chain in chains), default=0), int(first[-1])), dtype=np.int64)
    for begin, chain in zip(first.tolist(), chains, strict=False):
        hosts[: len(chain.hosts), begin : begin + len(chain.rows)] = chain.hosts
    return WayTables(
        rows=np.array([row for chain in chains for row in chain.rows], dtype=np.int64),
        first=first,
        leader=np.array([begin + chain.leader for begin, chain in zip(first, chains, strict=False)], dtype=np.int64),
        ways=np.array([len(chain.hosts) for chain in chains], dtype=np.int64),
        hosts=hosts,
    )


@compiled
def choose_ways(state: NDArray[np.uint64], tables: WayTables, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (P, C): the way of each chain in (P, m) counts, and now and then another one of a chain.

    It is the first way where the leader's count is of none.
    """
    plans, chains = counts.shape[0], tables.leader.shape[0]
    chosen = np.zeros((plans, chains), dtype=np.int64)
    if chains == 0:
        return chosen
    for plan in range(plans):
        for chain in range(chains):
            leader = tables.leader[chain]
            for way in range(tables.ways[chain]):
                if tables.hosts[way, leader] == counts[plan, tables.rows[leader]]:
                    chosen[plan, chain] = way
                    break
        if random_unit(state) < _LED_OTHERWISE:
            chain = int(random_unit(state) * chains)
            chosen[plan, chain] = int(random_unit(state) * tables.ways[chain])
    return chosen


@compiled
def lead_along(tables: WayTables, chosen: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Give the stages in (P, m) counts the host counts of (P, C) ways."""
    for plan in range(counts.shape[0]):
        for chain in range(chosen.shape[1]):
            for stage in range(tables.first[chain], tables.first[chain + 1]):
                counts[plan, tables.rows[stage]] = tables.hosts[chosen[plan, chain], stage]
