"""Free times of identical hosts as one ascending row, in machine code: the processor moves several of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.jit import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["occupied", "room"]


@compiled
def room(rows: int, hosts: int) -> NDArray[np.float64]:
    """Return (rows, 2 N) of infinity: free times belong into the first N columns, and may be read beyond them."""
    return np.full((rows, 2 * hosts), np.inf)


@compiled
def occupied(free: NDArray[np.float64], hosts: int, count: int, end: float, after: NDArray[np.float64]) -> None:
    """Write down when hosts become free once the first `count` of them are taken until `end`.

    Those that were free from `count` on move to the left while they are no later than the end, and later ones stay:
    min(max(f[i], end), f[i + count]) is both, and has no branch for the processor to guess.

    Args:
        free: (2 N,) ascending, see `room`; the first `count` are no later than `end`.
        hosts: N.
        count: 1 … N.
        end: seconds.
        after: (2 N,) another row, of which the first N are written.
    """
    ahead = free[count:]
    for host in range(hosts):
        here, there = free[host], ahead[host]
        later = here if here > end else end
        after[host] = later if later < there else there
