"""A profile is a task's predicted run time on 1 to N hosts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from statistics import NormalDist
from typing import TYPE_CHECKING

from cosched.counts import plural
from cosched.errors import UserError
from cosched.prediction.loads.host_load import Coupling
from cosched.prediction.student import NORMAL_TAIL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

__all__ = ["LONGEST", "PredictionSource", "Profile", "Spread", "quantile_times", "slowest_profile"]

Spread = tuple["Sequence[float]", "Sequence[float]"]
"""Standard deviations of the logarithm of the run time below and above the expected one, on 1, 2, … hosts."""

LONGEST = 10 * 365 * 86400.0
"""Seconds that a prediction may have at most."""

_SHORTEST = 1e-9  # seconds; planning divides by the squares of times
_FARTHEST = 600.0  # logarithms of ends and quantiles from the middle; what a model states of its error has no bound
_ALL = slice(None)
_NORMAL = NormalDist()


class PredictionSource(StrEnum):
    """The source of a profile."""

    MODEL = "model"
    USER = "user"
    HISTORY = "history"


@dataclass(frozen=True, slots=True)
class Profile:
    """Predicted run time by number of hosts; more hosts may be slower.

    It is neither monotone nor convex in general.

    Attributes:
        seconds: run time in seconds on 1, 2, … hosts, as expected: half of the runs take longer; infinite where that
            count cannot be used.
        source: the origin of the prediction.
        hardware: name of the resource model it was evaluated on; empty for the user's own figures.
        low: times that one run in twenty stays below, seconds on 1, 2, … hosts; None if unknown.
        high: times that one run in twenty exceeds, likewise; None together with `low`.
        classes: the profile on hosts of each class alone, its `hardware` the name of the class; empty where one profile
            holds for all hosts. The times above are then those of the slowest class that is reckoned with.
        runs: from how many runs it was learnt, or corrected; 0 for none.
        stated: what the source said before runs corrected it, seconds on 1, 2, … hosts; empty where none did.
        explores: whether it has the one number of hosts that was chosen to learn how long a run takes there.
        changed: number of the first of these runs after all had become slower or faster; 0: they have not.
        coupling: whether its parts on several hosts wait for one another where owners come back.
    """

    seconds: tuple[float, ...]
    source: PredictionSource
    hardware: str = ""
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    classes: tuple[Profile, ...] = ()
    runs: int = 0
    stated: tuple[float, ...] = ()
    explores: bool = False
    changed: int = 0
    coupling: Coupling = Coupling.COUPLED

    def __post_init__(self) -> None:
        if not any(math.isfinite(value) for value in self.seconds):
            raise UserError("the prediction allows no host count at all: give a time for at least one")
        for count, value in enumerate(self.seconds, start=1):
            if not (_SHORTEST <= value <= LONGEST or value == math.inf):
                raise UserError(
                    f"the prediction for {plural(count, 'host')} is {value!r} s: "
                    f"it must be at least {_SHORTEST:g} and at most {LONGEST:.0f}"
                )
        if (self.low is None) != (self.high is None):
            raise UserError("the prediction has one end of its range only: give both low and high, or none")
        if self.low is not None and self.high is not None:
            self._check_range(self.low, self.high)

    def _check_range(self, low: tuple[float, ...], high: tuple[float, ...]) -> None:
        if not len(low) == len(high) == len(self.seconds):
            raise UserError("the prediction has another number of low or high times than of times: give as many")
        for count, (least, value, most) in enumerate(zip(low, self.seconds, high, strict=True), start=1):
            if not 0 < least <= value <= most or math.isinf(most) != math.isinf(value):
                raise UserError(
                    f"the prediction for {plural(count, 'host')} is {least!r} to {most!r} s around {value!r} s: "
                    "low, expected and high must ascend"
                )

    def on(self, count: int) -> float:
        """Return the run time on `count` hosts in seconds, infinite where the count is impossible."""
        return self.seconds[count - 1] if 1 <= count <= len(self.seconds) else math.inf

    @property
    def shortest(self) -> float:
        """The shortest run time over all host counts, in seconds."""
        return min(self.seconds)

    @property
    def best_count(self) -> int:
        """The smallest host count with the shortest run time."""
        return self.seconds.index(self.shortest) + 1

    @property
    def quickest(self) -> Profile:
        """The profile of the class that has the shortest run time."""
        return min(self.classes or (self,), key=lambda each: each.shortest)

    def scaled(self, factor: float) -> Profile:
        """Return the profile with all times multiplied by `factor` (> 0).

        Results stay within the bounds of predictions.
        """
        return _with_all_times(self, lambda times: tuple(_clamped(value * factor) for value in times))

    def among(self, names: Iterable[str]) -> Profile:
        """Return the profile of hosts of these classes together.

        Where one of the classes is not known, it is that of all classes.
        """
        if not self.classes:
            return self
        wanted = set(names)
        found = [each for each in self.classes if each.hardware in wanted]
        if len(found) < len(wanted) or not found:
            found = list(self.classes)
        return replace(slowest_profile(found, "+".join(each.hardware for each in found)), classes=self.classes)

    def limited(self, most: int, least: int = 1) -> Profile:
        """Return the profile with host counts outside least…most impossible, cut above `most`."""
        return _with_all_times(
            self, lambda times: tuple(chain([math.inf] * min(least - 1, most), times[least - 1 : most]))
        )

    def only(self, counts: Collection[int]) -> Profile:
        """Return the profile with all other host counts impossible, cut above the largest of these."""
        most = max(counts)
        return _with_all_times(
            self,
            lambda times: tuple(
                [value if count in counts else math.inf for count, value in enumerate(times[:most], 1)]
            ),
        )

    def with_spread(self, below: Sequence[float], above: Sequence[float]) -> Profile:
        """Return the profile with `low` and `high` from standard deviations.

        Args:
            below: standard deviation of the logarithm of the run time under the expected one, on 1, 2, … hosts, each ≥
                0.
            above: likewise over it.
        """
        low = (_times_off(value, -NORMAL_TAIL * spread) for value, spread in zip(self.seconds, below, strict=True))
        high = (_times_off(value, NORMAL_TAIL * spread) for value, spread in zip(self.seconds, above, strict=True))
        return replace(self, low=tuple(low), high=tuple(high))

    def spread(self, counts: slice = _ALL) -> Spread | None:
        """Return what `with_spread` takes, of all counts or some; None where no uncertainty is known."""
        if self.low is None or self.high is None:
            return None
        low, times, high = self.low[counts], self.seconds[counts], self.high[counts]
        return _logarithms(low, times), _logarithms(times, high)

    def widened(self, factor: float) -> Profile:
        """Return the profile with all deviations multiplied by `factor` (> 0); without a range it stays as it is."""
        known = self.spread()
        classes = tuple(each.widened(factor) for each in self.classes)
        if known is None:
            return replace(self, classes=classes)
        below, above = ([factor * one for one in side] for side in known)
        return replace(self, classes=classes).with_spread(below, above)

    def at_quantile(self, share: float) -> Profile:
        """Return the times that a share of runs stays below.

        0.5 gives the expected times, 0.95 gives `high`.

        Run times are taken as log-normal on either side of the expected one (products of many small disturbances are).

        Args:
            share: above 0 and below 1.

        Returns:
            A profile without uncertainty; this one's times where none is known.

        Raises:
            UserError: `share` is no such number.
        """
        if not 0 < share < 1:
            raise UserError(f"a quantile of {share!r}: give a number between 0 and 1")
        known = self.spread()
        seconds = self.seconds if known is None else tuple(quantile_times(self.seconds, known, share))
        classes = tuple(each.at_quantile(share) for each in self.classes)
        return replace(self, seconds=seconds, low=None, high=None, classes=classes)


def quantile_times(seconds: Sequence[float], spread: Spread, share: float) -> list[float]:
    """Return the times that a share of runs stays below; see `Profile.at_quantile`.

    Args:
        seconds: as expected, on 1, 2, … hosts.
        spread: argument of `Profile.with_spread`.
        share: above 0 and below 1.
    """
    deviations = _NORMAL.inv_cdf(share)
    side = spread[0] if deviations < 0 else spread[1]
    times = (_times_off(value, deviations * one) for value, one in zip(seconds, side, strict=True))
    return [_clamped(time) for time in times]


def _times_off(time: float, logarithm: float) -> float:
    return time * math.exp(min(max(logarithm, -_FARTHEST), _FARTHEST))


def _clamped(time: float) -> float:
    """Return the time, or the nearest that a prediction may be."""
    return min(max(time, _SHORTEST), LONGEST) if math.isfinite(time) else time


def slowest_profile(profiles: Sequence[Profile], hardware: str) -> Profile:
    """Return the profile of hosts of several classes together, with that of each class.

    On each host count the slowest class decides.

    Args:
        profiles: one for each class, its `hardware` the name of the class, of the same number of counts and from the
            same source; at least one.
        hardware: the name to give the whole.
    """
    triples = zip(
        *(zip(item.seconds, item.low or item.seconds, item.high or item.seconds, strict=True) for item in profiles),
        strict=True,
    )
    seconds, low, high = zip(*(max(triple) for triple in triples), strict=True)
    classes, first = tuple(profiles) if len(profiles) > 1 else (), profiles[0]
    whole = Profile(seconds, first.source, hardware, classes=classes, runs=first.runs, changed=first.changed)
    whole = replace(whole, coupling=first.coupling)
    if all(item.stated for item in profiles):
        whole = replace(whole, stated=tuple(map(max, *(item.stated for item in (first, *profiles)))))
    return whole if all(item.low is None for item in profiles) else replace(whole, low=low, high=high)


def _logarithms(least: tuple[float, ...], most: tuple[float, ...]) -> tuple[float, ...]:
    """Return the standard deviation of the logarithm between each pair of times.

    The pairs are medians and 5 % or 95 % quantiles; two infinities have 0.
    """
    return tuple(
        math.log(high / low) / NORMAL_TAIL if math.isfinite(high) else 0.0
        for low, high in zip(least, most, strict=True)
    )


def _with_all_times(profile: Profile, change: Callable[[tuple[float, ...]], tuple[float, ...]]) -> Profile:
    """Return the profile with all its times changed, and so those of every class."""
    low, high = (None if times is None else change(times) for times in (profile.low, profile.high))
    classes = tuple(_with_all_times(item, change) for item in profile.classes)
    return replace(profile, seconds=change(profile.seconds), low=low, high=high, classes=classes)
