"""How many hosts a task gets where its user decides: the three ways of using Condor in the Titan paper (Table 1)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BASELINES", "baseline_count", "calculated_counts"]

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
    if policy == "fcfs-calculated":
        return int(calculated_counts(seconds[None])[0])
    usable = np.flatnonzero(np.isfinite(seconds)) + 1
    if policy == "fcfs-arbitrary":
        return int(random.Random(seed).choice(usable.tolist()))  # noqa: S311  a repeatable draw, not a secret
    return int(usable[-1])


def calculated_counts(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the calculated count of each task, (m,); `seconds` is (m, N), each row as of `baseline_count`."""
    area = seconds * np.arange(1, seconds.shape[1] + 1)
    least = area == area.min(axis=1, keepdims=True)
    counts: NDArray[np.int64] = np.where(least, seconds, np.inf).argmin(axis=1) + 1
    return counts
