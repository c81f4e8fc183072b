"""Hosts are unavailable during maintenance and reservations: the periods, and the host-seconds left."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["Unavailability", "normalised_availability", "time_to_offer"]


class Unavailability(NamedTuple):
    """A time in which a host runs nothing.

    Attributes:
        host: its index in the problem.
        begin: in seconds from the origin.
        end: likewise, later than `begin`; infinite for a host that does not come back.
    """

    host: int
    begin: float
    end: float


def normalised_availability(
    free: NDArray[np.float64], unavailability: Iterable[Unavailability]
) -> tuple[NDArray[np.float64], tuple[Unavailability, ...]]:
    """Return when each host becomes free, and its later unavailability.

    Periods that overlap or touch become one; those that begin before a host is free put that off.

    Args:
        free: (N,) when each host's running task ends.
        unavailability: periods in any order.
    """
    later = free.copy()
    kept: list[Unavailability] = []
    for host, begin, end in sorted(unavailability):
        if begin <= later[host]:
            later[host] = max(later[host], end)
        elif kept and kept[-1].host == host and begin <= kept[-1].end:
            kept[-1] = Unavailability(host, kept[-1].begin, max(kept[-1].end, end))
        else:
            kept.append(Unavailability(host, begin, end))
    return later, tuple(kept)


def time_to_offer(
    free: NDArray[np.float64],
    unavailability: Iterable[Unavailability],
    area: float,
    prices: NDArray[np.float64] | None = None,
) -> float:
    """Return when hosts have offered `area` host-seconds, infinite where they never will.

    Args:
        free: (N,) when each host becomes free.
        unavailability: after that, as of `normalised_availability`.
        area: work in host-seconds.
        prices: (N,) what a second of each host counts, above 0; 1 unless given.
    """
    unavailability, prices = tuple(unavailability), np.ones(len(free)) if prices is None else prices
    if not unavailability:
        ascending = np.argsort(free)
        missing = np.cumsum(prices[ascending] * free[ascending])
        return float(((area + missing) / np.cumsum(prices[ascending])).min())
    changes = [(time, price) for time, price in zip(free.tolist(), prices.tolist(), strict=True)]
    for host, begin, end in unavailability:
        changes += [(begin, -float(prices[host])), (end, float(prices[host]))]
    nothing = 1e-9 * float(prices.min())  # what is left of prices that were added and taken away again
    offered, rate, before = 0.0, 0.0, 0.0
    for time, change in sorted(item for item in changes if item[0] < math.inf):
        if rate > nothing and offered + rate * (time - before) >= area:
            break
        offered += rate * (time - before) if rate > nothing else 0.0
        rate, before = rate + change, time
    return before + (area - offered) / rate if rate > nothing else math.inf
