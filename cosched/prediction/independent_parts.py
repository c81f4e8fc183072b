"""When the last of a program's parts ends that run on a host each and do not wait for one another.

Their completion times are independent (GHS: the product of their distributions). `completion.LastCompletion` integrates
that for one program; here a table for each load serves all programs, for plans ask for thousands of them. Its means are
within 2 % of those (5 % for sixty parts, where few presences of even length decide).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.prediction.loads.completion import interrupted, lower_gamma

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.prediction.loads.host_load import HostLoad

__all__ = ["last_of_parts"]

_FEW, _MANY = 1e-3, 1e4  # expected interruptions between which the table is made; beyond, what it says stays the same
_WORKS = 29
_TIMES = 65
_BELOW, _ABOVE = 6.0, 14.0  # standard deviations around the mean delay that are integrated


class _Delays(NamedTuple):
    """Delays of one part by interruptions, for several works.

    Attributes:
        works: shape (works,), ascending, seconds.
        times: shape (works, times), ascending: delays in seconds, from the first that is at all likely.
        within: shape (works, times): probability of at most so much delay.
    """

    works: NDArray[np.float64]
    times: NDArray[np.float64]
    within: NDArray[np.float64]


def last_of_parts(work: float, load: HostLoad, count: int) -> tuple[float, float]:
    """Return mean and variance of the time until the last of several parts ends, in seconds and their square.

    Args:
        work: seconds of each part on an idle host, above 0 and finite.
        load: of each host.
        count: number of parts, each on a host of its own, at least 1.
    """
    if load.rate * load.mean <= 0:
        return work, 0.0
    works, delay, variance = _relative(load, count)
    place = math.log(work)
    mean = work * (1 + float(np.interp(place, works, delay)))
    return mean, work * float(np.interp(place, works, variance))


@lru_cache(4096)
def _relative(load: HostLoad, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return logarithms of works with the mean delay of the last part and its variance, per second of the work."""
    works, times, within = _delays(load)
    running = 1 - within**count
    first = times[:, 0]
    mean = first + np.trapezoid(running, times, axis=1)
    square = first**2 + np.trapezoid(2 * times * running, times, axis=1)
    return np.log(works), mean / works, np.maximum(square - mean**2, 0.0) / works


@lru_cache(64)
def _delays(load: HostLoad) -> _Delays:
    """Return the delays of one part, the disturbed ones as gamma-distributed with their two moments."""
    works = np.geomspace(_FEW, _MANY, _WORKS) / load.rate
    times, within = np.empty((_WORKS, _TIMES)), np.empty((_WORKS, _TIMES))
    for row, work in enumerate(works.tolist()):
        part = interrupted(work, load)
        disturbed, delay = -math.expm1(-load.rate * work), part.mean - work
        expected = delay / disturbed
        spread = max((part.variance + delay**2) / disturbed - expected**2, (1e-6 * expected) ** 2)
        shape, scale, deviation = expected**2 / spread, spread / expected, math.sqrt(spread)
        undisturbed = 1 - disturbed
        certain = undisturbed < 1e-9  # else a delay of 0 is likely
        least = max(expected - _BELOW * deviation, 0.0) if certain else 0.0
        times[row] = np.linspace(least, expected + _ABOVE * deviation, _TIMES)
        within[row] = [undisturbed + disturbed * lower_gamma(shape, time / scale) for time in times[row].tolist()]
    return _Delays(works, times, within)
