"""How many hosts a task gets where its user decides: the three ways of using Condor in the Titan paper (Table 1)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BASELINES", "baseline_count"]

BASELINES = ("fcfs-arbitrary", "fcfs-maximum", "fcfs-calculated")
"""First come, first served: with arbitrary, maximum and calculated host counts."""


def baseline_count(policy: str, seconds: NDArray[np.float64], seed: str) -> int:
    """Return the host count of one task under a baseline policy.

    arbitrary: any count that the task can use, drawn from the seed; maximum: the largest such count; calculated: what
    a user works out who wants to waste nothing, the count with the fewest host-seconds (ties: the faster).

    Args:
        policy: one of `BASELINES`.
        seconds: (N,) run time by host count, infinite where impossible; at least one is finite.
        seed: anything that is different for each task and the same in each run.
    """
    usable = np.flatnonzero(np.isfinite(seconds)) + 1
    if policy == "fcfs-arbitrary":
        return int(random.Random(seed).choice(usable.tolist()))  # noqa: S311  a repeatable draw, not a secret
    if policy == "fcfs-maximum":
        return int(usable[-1])
    area = seconds[usable - 1] * usable
    return int(usable[np.lexsort((seconds[usable - 1], area))[0]])
