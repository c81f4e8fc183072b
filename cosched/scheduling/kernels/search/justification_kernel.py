"""Double justification of plans on shared hosts, in machine code.

What a serial decoder leaves idle before a wide task stays idle. Justification packs the plan anew from its end: the
tasks are placed in the order in which they end, the last one first, which is the plan seen backwards in time; done
twice, time runs forwards again and little of the plan is lost, but for gaps (Valls, Ballestin and Quintanilla,
"Justification and RCPSP: A technique that pays", European Journal of Operational Research 165(2), 2005).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.decoding.packed_decode_kernel import population_spans
from cosched.scheduling.kernels.jit import compiled
from cosched.scheduling.kernels.search.genetic_operators import random_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.packing_tables import PackingTables

__all__ = ["justify"]


@compiled
def justify(
    problem: PackingTables,
    state: NDArray[np.uint64],
    share: float,
    orders: NDArray[np.int64],
    shapes: NDArray[np.int64],
) -> None:
    """Justify some plans of a population, each with probability `share`.

    Args:
        problem: see `packing_kernel.tabulate`; no task of it depends on another one.
        state: of the random numbers.
        share: from 0 to 1.
        orders: (P, m), changed in place.
        shapes: (P, m) by task.
    """
    starts, ends = np.empty((1, orders.shape[1])), np.empty((1, orders.shape[1]))
    for plan in range(orders.shape[0]):
        if random_unit(state) >= share:
            continue
        for _ in range(2):
            population_spans(problem, orders[plan : plan + 1], shapes[plan : plan + 1], starts, ends)
            orders[plan, :] = np.argsort(-ends[0], kind="mergesort")
