"""Calibration turns measured run times into corrections of later predictions.

`Correction` learns a factor and a variance, `DispatchLatency` the time from a decision to the start of its job.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.prediction.profile import quantile_times

if TYPE_CHECKING:
    from cosched.prediction.profile import Profile, Spread

__all__ = ["AS_EXPECTED", "Correction", "DispatchLatency"]

_ALL = slice(None)
AS_EXPECTED = 0.5
_ONE_IN_TWENTY = 0.05
_NEWEST = 0.2  # the newest run weighs at least this much, so that the factor follows a machine that changes
_REMEMBERED = 2 / _NEWEST - 1  # as many equal weights have the variance of a mean that forgets at that rate
_STATED = 3.0  # runs; a model's word about itself is soon outweighed
_FEWEST = 2
_SHORT = 1.0  # seconds; less is mostly start-up, which longer runs have only once, too
_LARGEST = 10.0  # one run may not say more than this: a stray measurement must not turn the plan over


@dataclass(frozen=True, slots=True)
class Correction:
    """Learnt error of a model on one class of hosts: a factor and its variation.

    Both are means: plain over the first runs, exponentially forgetting after that. The logarithm makes twice too long
    and twice too short cancel.

    Attributes:
        factor: multiplies a raw prediction; 1 before the first run.
        runs: how many runs it was learned from.
        variance: mean square of log(actual / corrected prediction), each run against what the runs before it had
            taught; 0 before the second run, as the first only says where the others are expected.
    """

    factor: float = 1.0
    runs: int = 0
    variance: float = 0.0

    def learn(self, predicted: float, actual: float) -> Correction:
        """Return the correction after one more run.

        Args:
            predicted: the model's own figure in seconds, before any correction; > 0.
            actual: measured run time in seconds; a run too short to measure (<= 0) teaches nothing.
        """
        if actual <= 0 or not math.isfinite(actual):
            return self
        ratio = min(max(actual / predicted, 1 / _LARGEST), _LARGEST)
        trust = min(actual / _SHORT, 1.0) ** 2
        weight = trust * max(1 / (self.runs + 1), _NEWEST)
        off = math.log(ratio) - math.log(self.factor)
        factor = math.exp(math.log(self.factor) + weight * off)
        variance = 0.0
        if self.runs:
            weight = trust * max(1 / self.runs, _NEWEST)
            variance = (1 - weight) * self.variance + weight * off**2
        return Correction(factor, self.runs + 1, variance)

    def corrected(self, profile: Profile) -> Profile:
        """Return the profile as the runs have taught: times corrected, uncertainty widened or narrowed."""
        scaled, spread = profile.scaled(self.factor), self._spread(profile)
        return scaled if spread is None else scaled.with_spread(*spread)

    def planned(self, profile: Profile, quantile: float) -> list[float]:
        """Return corrected times to plan with; a share of the runs stays below them.

        Args:
            profile: the model's own figures, before any correction.
            quantile: that share, above 0 and below 1; it changes nothing where no uncertainty is known.

        Returns:
            Seconds on 1, 2, … hosts, infinite where that count cannot be used.
        """
        times = [value * self.factor for value in profile.seconds]
        spread = None if quantile == AS_EXPECTED else self._spread(profile)
        return times if spread is None else quantile_times(times, spread, quantile)

    def ends(self, profile: Profile, count: int) -> tuple[float, float] | None:
        """Return the 5 % and 95 % quantiles of the run time, or None.

        The time is that on `count` hosts, in seconds.
        """
        alone = slice(count - 1, count)  # a plan asks for a thousand tasks: of each on this count only
        spread = self._spread(profile, alone)
        if spread is None:
            return None
        times = [value * self.factor for value in profile.seconds[alone]]
        low, high = (quantile_times(times, spread, share)[0] for share in (_ONE_IN_TWENTY, 1 - _ONE_IN_TWENTY))
        return low, high

    def _spread(self, profile: Profile, counts: slice = _ALL) -> Spread | None:
        """Return how uncertain the times on these counts are; None where too little is known.

        What the model states counts as much as `_STATED` runs would; where it states nothing, two deviations are the
        least that a range is made from.
        """
        stated = profile.spread(counts)
        seen = min(self.runs - 1, _REMEMBERED)
        if stated is None:
            known = [math.sqrt(self.variance)] * len(profile.seconds[counts])
            return (known, known) if seen >= _FEWEST else None
        if seen < 1:
            return stated
        below, above = (
            [math.sqrt((_STATED * value**2 + seen * self.variance) / (_STATED + seen)) for value in side]
            for side in stated
        )
        return below, above


# Longer is no hand-over any more but a manager in trouble, and says nothing about the next one. Seconds.
_LONGEST_HANDOVER = 60.0
_SLOWEST_KEPT = 600.0  # seconds; a job that was held for an hour must not keep the next ones from being missed
_KEPT = 30  # newest hand-overs that a quantile is taken from
_STEP = 0.05  # seconds; finer would turn every plan over for nothing


@dataclass(frozen=True, slots=True)
class DispatchLatency:
    """Seconds from our decision to a job's start, learnt from jobs.

    The hosts are spoken for meanwhile, so a plan that leaves it out promises ends that cannot be kept, and values short
    jobs on many hosts too highly.

    Attributes:
        mean: seconds, newer jobs weighing more.
        jobs: how many it was learned from.
        newest: seconds of the newest ones, oldest first.
    """

    mean: float = 0.0
    jobs: int = 0
    newest: tuple[float, ...] = ()

    def learn(self, seconds: float) -> DispatchLatency:
        """Return the hand-over corrected by the start of one more job."""
        weight = max(1 / (self.jobs + 1), _NEWEST)
        seconds = max(seconds, 0.0)
        return DispatchLatency(
            (1 - weight) * self.mean + weight * min(seconds, _LONGEST_HANDOVER),
            self.jobs + 1,
            (*self.newest, min(seconds, _SLOWEST_KEPT))[-_KEPT:],
        )

    @property
    def seconds(self) -> float:
        """Return the planned latency, in whole steps."""
        return round(self.mean / _STEP) * _STEP

    @property
    def slow(self) -> float:
        """Return the seconds below which nine hand-overs in ten stay; 0 before the first."""
        return sorted(self.newest)[math.ceil(0.9 * len(self.newest)) - 1] if self.newest else 0.0
