"""Predictions on hosts whose owners come back: longer, and less certain. Start at `loaded_profile`.

A program on several hosts waits for all of them (`interrupted_together`), unless its model says that its parts are
independent (`last_of_parts`).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from cosched.prediction.independent_parts import last_of_parts
from cosched.prediction.loads.completion import interrupted_together, restarted
from cosched.prediction.loads.host_load import Coupling, HostLoad, Interruption
from cosched.prediction.profile import LONGEST
from cosched.prediction.student import NORMAL_TAIL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.prediction.profile import Profile

__all__ = ["loaded_profile", "loaded_profile_on", "times_longer"]


def loaded_profile(profile: Profile, loads: Sequence[tuple[HostLoad, int]], interruption: Interruption) -> Profile:
    """Return the profile of a program on hosts of which so many have a load, as if it always had these.

    Its times are the expected ones, its ranges those of the profile with that of the interruptions. The profiles of
    single classes stay as they are.

    Args:
        profile: on idle hosts.
        loads: the heaviest first, each with the number of hosts that have it; all others have none.
        interruption: what their owners do to programs.
    """
    heaviest = tuple(loads)
    if interruption is Interruption.EVICT or profile.coupling is Coupling.INDEPENDENT:
        return _loaded(
            profile,
            lambda count, work: _completion(work, _first(heaviest, count), interruption, profile.coupling),
        )
    together = _together_on(heaviest, len(profile.seconds))
    return _loaded(profile, lambda count, work: _coupled(work, *together[count - 1]))


def loaded_profile_on(profile: Profile, loads: Sequence[HostLoad], count: int, interruption: Interruption) -> Profile:
    """Return the profile of a program on so many hosts alone, of which some have a load; see `loaded_profile`.

    Args:
        profile: on idle hosts; it has a time on so many.
        loads: of those hosts that have one.
        count: number of its hosts.
        interruption: what their owners do to programs.
    """
    alike, alone = Counter(loads), replace(profile, classes=()).only((count,))
    return _loaded(alone, lambda _, work: _completion(work, alike, interruption, profile.coupling))


def _loaded(profile: Profile, completion: Callable[[int, float], tuple[float, float]]) -> Profile:
    """Return the profile with the expected time and the deviation of its logarithm, by hosts and undisturbed time."""
    seconds, below, above = [], [], []
    spread = profile.spread() or ([0.0] * len(profile.seconds), [0.0] * len(profile.seconds))
    for count, (work, one, other) in enumerate(zip(profile.seconds, *spread, strict=True), start=1):
        mean, deviation = work, 0.0
        if math.isfinite(work):
            mean, deviation = completion(count, work)
        seconds.append(mean)
        undisturbed = math.log(mean / work) / NORMAL_TAIL if math.isfinite(work) else 0.0  # nothing ends before that
        below.append(math.hypot(one, min(deviation, undisturbed)))
        above.append(math.hypot(other, deviation))
    return replace(profile, seconds=tuple(seconds), low=None, high=None).with_spread(below, above)


def times_longer(profile: Profile | None, loads: Sequence[HostLoad], count: int, interruption: Interruption) -> float:
    """Return how many times longer than on idle hosts a run lasts that ends well.

    One that is driven away ends; its next try takes its time. No run is expected to last longer than predictions may.

    Args:
        profile: of the program, on idle hosts; None where nothing is known of it.
        loads: of those of its hosts that have one.
        count: number of its hosts.
        interruption: what an owner does to programs.
    """
    if interruption is Interruption.EVICT or not loads:
        return 1.0
    work = math.inf if profile is None else profile.on(count)
    if profile is not None and profile.coupling is Coupling.INDEPENDENT and math.isfinite(work):
        return _last(work, Counter(loads))[0] / work
    return min(_together(_sorted(Counter(loads)))[0], LONGEST / (work if math.isfinite(work) else 1.0))


def _completion(
    work: float, loads: Mapping[HostLoad, int], interruption: Interruption, coupling: Coupling
) -> tuple[float, float]:
    """Return the expected time and the standard deviation of its logarithm.

    Args:
        work: seconds on idle hosts, finite.
        loads: how many hosts have which.
        interruption: what their owners do to programs.
        coupling: of the program's parts.
    """
    if interruption is Interruption.EVICT:  # the job ends wherever an owner comes, whatever its parts do
        found = restarted(work, _any_of(loads))
        return _bounded(found.mean, found.variance)
    if coupling is Coupling.INDEPENDENT:
        return _bounded(*_last(work, loads))
    return _coupled(work, *_together(_sorted(loads)))


def _coupled(work: float, longer: float, variability: float) -> tuple[float, float]:
    return _bounded(work * longer, work * variability)


def _bounded(mean: float, variance: float) -> tuple[float, float]:
    """Return a time that a prediction may have, and the standard deviation of its logarithm."""
    mean = min(mean, LONGEST)
    relative = variance / mean**2 if math.isfinite(variance) else 1.0
    return mean, math.sqrt(math.log1p(relative))


def _first(loads: Sequence[tuple[HostLoad, int]], count: int) -> dict[HostLoad, int]:
    """Return which loads the first of some hosts have, and how many of them."""
    found, left = dict[HostLoad, int](), count
    for load, hosts in loads:
        if left:
            found[load] = min(hosts, left)
            left -= found[load]
    return found


@lru_cache(256)  # one for each kind of hosts and longest profile, at a few levels
def _together_on(loads: tuple[tuple[HostLoad, int], ...], most: int) -> tuple[tuple[float, float], ...]:
    """Return `_together` of the first 1 to `most` hosts."""
    return tuple([_together(_sorted(_first(loads, count))) for count in range(1, most + 1)])


def _any_of(loads: Mapping[HostLoad, int]) -> HostLoad:
    """Return the load by whichever of several hosts' owners comes first."""
    rates = [(load.rate * hosts, load) for load, hosts in loads.items()]
    rate = sum(each for each, _ in rates)
    if rate <= 0:
        return HostLoad()
    mean, square = (
        sum(each * moment for (each, _), moment in zip(rates, moments, strict=True)) / rate
        for moments in zip(*[(load.mean, load.square) for load in loads], strict=True)
    )
    return HostLoad(rate, mean, square)


def _last(work: float, loads: Mapping[HostLoad, int]) -> tuple[float, float]:
    """Return mean and variance of the time until the last part ends, as if all loads were the heaviest of them."""
    heaviest = max(loads, key=lambda load: load.lost)
    return last_of_parts(work, heaviest, sum(loads.values()))


def _sorted(loads: Mapping[HostLoad, int]) -> tuple[tuple[HostLoad, int], ...]:
    return tuple(sorted(loads.items()))


@lru_cache(2**15)  # all numbers of hosts at a few levels
def _together(loads: tuple[tuple[HostLoad, int], ...]) -> tuple[float, float]:
    """Return mean and variance of the time on hosts with these loads, so many with each, per second of the work."""
    found = interrupted_together(1.0, [load for load, hosts in loads for _ in range(hosts)])
    return found.mean, found.variance
