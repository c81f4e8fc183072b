"""Predictions on hosts whose owners come back: longer, and less certain. Start at `loaded_profile`.

A program on several hosts waits for all of them (`interrupted_together`), unless its model says that its parts are
independent (`last_of_parts`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from cosched.prediction.independent_parts import last_of_parts
from cosched.prediction.loads.completion import interrupted_together, restarted
from cosched.prediction.loads.host_load import Coupling, HostLoad, Interruption

if TYPE_CHECKING:
    from cosched.prediction.profile import Profile

__all__ = ["loaded_profile", "times_longer"]

_TAIL = NormalDist().inv_cdf(0.95)  # as of any range
_LONGEST = 10 * 365 * 86400.0  # seconds, as of any prediction


def loaded_profile(profile: Profile, load: HostLoad, interruption: Interruption) -> Profile:
    """Return the profile of a program on hosts that all have a load.

    Its times are the expected ones, its ranges those of the profile with that of the interruptions. The profiles of
    single classes stay as they are.

    Args:
        profile: on idle hosts.
        load: of each host.
        interruption: what its owner does to programs.
    """
    seconds, below, above = [], [], []
    spread = profile.spread() or ([0.0] * len(profile.seconds), [0.0] * len(profile.seconds))
    for count, (work, one, other) in enumerate(zip(profile.seconds, *spread, strict=True), start=1):
        mean, deviation = work, 0.0
        if math.isfinite(work):
            mean, deviation = _completion(work, load, count, interruption, profile.coupling)
        seconds.append(mean)
        undisturbed = math.log(mean / work) / _TAIL if math.isfinite(work) else 0.0  # nothing ends before that
        below.append(math.hypot(one, min(deviation, undisturbed)))
        above.append(math.hypot(other, deviation))
    return replace(profile, seconds=tuple(seconds), low=None, high=None).with_spread(below, above)


def times_longer(profile: Profile | None, load: HostLoad, count: int, interruption: Interruption) -> float:
    """Return how many times longer than on idle hosts a run lasts that ends well.

    One that is driven away ends; its next try takes its time. No run is expected to last longer than predictions may.

    Args:
        profile: of the program, on idle hosts; None where nothing is known of it.
        load: of each of its hosts.
        count: number of its hosts.
        interruption: what an owner does to programs.
    """
    if interruption is Interruption.EVICT:
        return 1.0
    work = math.inf if profile is None else profile.on(count)
    if math.isinf(work):
        return min(_together(load, count)[0], _LONGEST)
    if profile is not None and profile.coupling is Coupling.INDEPENDENT:
        return last_of_parts(work, load, count)[0] / work
    return min(_together(load, count)[0], _LONGEST / work)


def _completion(
    work: float, load: HostLoad, count: int, interruption: Interruption, coupling: Coupling
) -> tuple[float, float]:
    """Return the expected time and the standard deviation of its logarithm."""
    if interruption is Interruption.EVICT:  # the job ends wherever an owner comes, whatever its parts do
        found = restarted(work, replace(load, rate=load.rate * count))
        mean, variance = min(found.mean, _LONGEST), found.variance
    elif coupling is Coupling.INDEPENDENT:
        mean, variance = last_of_parts(work, load, count)
        mean = min(mean, _LONGEST)
    else:
        longer, variability = _together(load, count)
        mean, variance = min(work * longer, _LONGEST), work * variability
    relative = variance / mean**2 if math.isfinite(variance) else 1.0
    return mean, math.sqrt(math.log1p(relative))


@lru_cache(2**15)  # all numbers of hosts at a few levels
def _together(load: HostLoad, count: int) -> tuple[float, float]:
    """Return mean and variance of the time on so many hosts, per second of the work."""
    found = interrupted_together(1.0, (load,) * count)
    return found.mean, found.variance
