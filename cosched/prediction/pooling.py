"""Pooling makes one prediction of several, each weighted by how well it foretold.

A linear pool of log-normal predictions with the weights of dynamic model averaging (Raftery, Kárný and Ettler 2010),
with Student's density, so that a single run cannot end the trust in a source. Start at `Pool`.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.prediction.history import History, Run, times_by_count
from cosched.prediction.others.exponents import USUAL_NUMBER
from cosched.prediction.student import NORMAL_TAIL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.prediction.others.exponents import Exponent
    from cosched.prediction.others.other_programs import OtherPrograms
    from cosched.prediction.profile import Profile

__all__ = ["Level", "Pool", "pool_quantiles", "pooled_weights"]

_STATED_DEVIATION = 0.1  # of the logarithm, where a model or a user says nothing of how sure they are
_STATED_RUNS = 3.0  # as many runs' residuals does that weigh
_SLOWEST = 0.1  # the newest run moves the level by at least this much
_SURPRISING = 3.0  # deviations
_SMALLEST = 0.01  # deviation; nothing is foretold more exactly
_DOUBT = 0.8
_CALMER = 0.5  # doubt that a run leaves which does not surprise

_SHORT = 1.0  # seconds; less is mostly start-up, which longer runs have only once, too

_FORGETTING = 0.9
_LEAST_WEIGHT = 0.02
_FREEDOM = 4

_GRID = np.linspace(-8.0, 8.0, 3201)
_NORMAL = np.array([0.5 * (1 + math.erf(x / math.sqrt(2))) for x in _GRID])
_NEAR = 1e-4  # of a deviation; where Newton's method moves a quantile by less, it is a hundred times as exact
_MOST_STEPS = 60
_SPARSE = 1e-300  # a density that is no 0
_SHARES = (0.05, 0.5, 0.95)
_START = (0.45, 0.45, 0.1)  # weights before the first run: what is stated, that as runs correct it, runs alone
_LEAST_SCORED = 3  # runs before a history without any statement is judged


@dataclass(frozen=True, slots=True)
class Level:
    """How far the times that a source states are off, by one factor.

    Attributes:
        bias: mean logarithm of the time taken by the stated one.
        variance: mean square of its residuals.
        runs: how many runs it was learnt from since it last began anew.
        doubt: the range is at least as wide as this deviation since a run surprised.
        surprise: the last residual, where it surprised; else 0.
    """

    bias: float = 0.0
    variance: float = _STATED_DEVIATION**2
    runs: int = 0
    doubt: float = 0.0
    surprise: float = 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation of the logarithm of the next run, without doubt."""
        return math.sqrt(self.variance * (1 + 1 / (self.runs + 1)))

    @property
    def doubtful_deviation(self) -> float:
        """The same with the doubt since a run that surprised."""
        return math.hypot(self.deviation, self.doubt)

    def learn(self, off: float, trust: float = 1.0) -> Level:
        """Return the level after one more run.

        Args:
            off: logarithm of its time by the stated one.
            trust: how much it says, 0 to 1.
        """
        residual = off - self.bias
        bound = _SURPRISING * self.deviation
        if (
            abs(residual) > bound and residual * (self.surprise - self.bias) > 0 and self.surprise
        ):  # no stray run: it has changed
            both = (self.surprise, off)
            bias = sum(both) / 2
            variance = max((both[1] - both[0]) ** 2 / 2, _SMALLEST**2)
            blended = (_STATED_RUNS * _STATED_DEVIATION**2 + 2 * variance) / (_STATED_RUNS + 2)
            return Level(bias, blended, 2)
        if not self.runs:
            return Level(trust * off, self.variance, 1)
        cut = min(max(residual, -bound), bound)
        weight = _STATED_RUNS + min(self.runs, 1 / _SLOWEST)
        variance = max((weight * self.variance + cut**2) / (weight + 1), _SMALLEST**2)
        bias = self.bias + trust * max(1 / (self.runs + 1), _SLOWEST) * cut
        surprising = abs(residual) > bound
        doubt = _DOUBT * abs(residual) if surprising else _CALMER * self.doubt
        return Level(bias, variance, self.runs + 1, doubt, off if surprising else 0.0)


class Pool:
    """What a model or a user states, corrected by runs of a program.

    The sources are: what is stated with its level mended, the same as a history corrects it, and a history of the runs
    alone.

    Attributes:
        alone: the history of the runs alone.
        weights: one for each source, in this order.
    """

    def __init__(self, runs: Sequence[Run], number: Exponent = USUAL_NUMBER) -> None:
        """Learn from runs of one key with what was stated, the newest last; see `History`."""
        self._corrected = History(runs)
        self.alone = History((replace(run, stated=None) for run in runs), number)
        self._levels: dict[str, Level] = {}
        self.weights: Sequence[float] = _START
        foretold = zip(self._corrected.runs, self._corrected.foretold, self.alone.foretold, strict=True)
        for seen, (run, corrected, alone) in enumerate(foretold):
            self._judge(run, corrected, alone if seen >= _LEAST_SCORED else None)

    def add(self, run: Run) -> None:
        """Take one more run in; see `History.add`. A copy may be added to.

        Raises:
            ValueError: it is not like the others.
        """
        self._corrected, self.alone = copy(self._corrected), copy(self.alone)
        self._corrected.add(run)
        self.alone.add(replace(run, stated=None))
        self._judge(run, self._corrected.foretold[-1], self.alone.foretold[-1])

    def _judge(self, run: Run, corrected: tuple[float, float] | None, alone: tuple[float, float] | None) -> None:
        """Weigh the sources by a run: how far it was from what two of them said, with the deviations they expected."""
        level = self._levels.get(run.hardware, Level())
        off = math.log(run.seconds / (run.stated or 1.0))
        scores = (
            _log_density(off - level.bias, level.deviation) if level.runs else None,
            _log_density(*corrected) if corrected is not None and level.runs else None,
            _log_density(*alone) if alone is not None else None,
        )
        self.weights = pooled_weights(self.weights, scores)
        self._levels = {**self._levels, run.hardware: level.learn(off, min(run.seconds / _SHORT, 1.0) ** 2)}

    def hear(self, others: OtherPrograms) -> None:
        """Have other programs tell of numbers of hosts; see `History.hear`."""
        self._corrected, self.alone = copy(self._corrected), copy(self.alone)
        self._corrected.hear(others)
        self.alone.hear(others)

    @property
    def counts(self) -> set[int]:
        """Numbers of hosts that were tried."""
        return self._corrected.counts

    def tried(self, count: int) -> int:
        """Return how many runs had a number of hosts."""
        return self._corrected.tried(count)

    def corrected(self, numbers: Sequence[float], stated: Profile, hardware: str, program: str = "") -> Profile | None:
        """Return a stated prediction as runs have corrected it, with a range.

        It is for hosts of one class. None where the runs tell nothing.

        Args:
            numbers: see `Run`.
            stated: what a model or a user says.
            hardware: class of the hosts, as the manager names it.
            program: digest of the program.
        """
        counts = [count for count, seconds in enumerate(stated.seconds, 1) if seconds < math.inf]
        sides, times = stated.spread(), [stated.on(count) for count in counts]
        unsure = None if sides is None else [max(side[count - 1] for side in sides) for count in counts]
        low, median, high = self.quantiles(numbers, times, counts, hardware, program, unsure)
        seconds, least, most = times_by_count(counts, low, median, high, len(stated.seconds))
        if seconds.count(math.inf) > stated.seconds.count(math.inf):
            return None
        runs, changed = len(self._corrected.runs), self._corrected.changed
        return replace(stated, seconds=seconds, low=least, high=most, runs=runs, stated=stated.seconds, changed=changed)

    def quantiles(
        self,
        numbers: Sequence[float],
        stated: Sequence[float],
        counts: Sequence[int],
        hardware: str,
        program: str = "",
        unsure: Sequence[float] | None = None,
    ) -> list[NDArray[np.float64]]:
        """Return 5, 50 and 95 % quantiles of the next run's seconds, by host count.

        Args:
            numbers: see `Run`.
            stated: seconds that a model or a user says, by host count.
            counts: numbers of hosts.
            hardware: class of the hosts, as the manager names it.
            program: digest of the program.
            unsure: deviations of the logarithms of these times, where it is said: runs tell better how far they are off
                where such have run, and elsewhere nobody does.
        """
        level = self._levels.get(hardware)
        if level is None:  # the class that has run most is the best guess
            level = max(self._levels.values(), key=lambda each: each.runs)
        seen = self._corrected.seen(numbers, counts)
        weights = np.repeat(np.array([self.weights]).T, len(counts), axis=1)
        weights[2] *= seen  # where nothing like it ran, the runs alone know nothing, and the level may be another one
        weights /= weights.sum(axis=0)
        elsewhere = abs(level.bias - math.log(self._corrected.unit))
        deviation = np.hypot(level.doubtful_deviation, np.where(seen, 0.0, elsewhere))
        fall, unlike = self._corrected.elsewhere(counts)
        unlike = np.hypot(unlike, self._corrected.beyond_counts(counts))
        means, deviations = [np.log(stated) + level.bias + fall], [np.hypot(deviation, unlike)]
        for history, foretold in ((self._corrected, stated), (self.alone, None)):
            median, slow = history.predict(numbers, counts, hardware, program, foretold)
            means.append(np.log(median))
            deviations.append(np.log(slow / median) / NORMAL_TAIL)
        if unsure is not None:
            beyond = np.where(seen, 0.0, unsure)
            deviations[:2] = [np.maximum(deviation, beyond) for deviation in deviations[:2]]
        return [np.exp(logs) for logs in pool_quantiles(weights, np.array(means), np.array(deviations), _SHARES)]


def pooled_weights(weights: Sequence[float], scores: Sequence[float | None]) -> list[float]:
    """Return the weight of each source after one more run, their sum 1.

    Args:
        weights: those before.
        scores: the logarithm of the density that each source gave the run; None where it said nothing.
    """
    known = [score for score in scores if score is not None]
    if not known:
        return list(weights)
    best, aged = max(known), [weight**_FORGETTING for weight in weights]
    said = sum(weight for weight, score in zip(aged, scores, strict=True) if score is not None)
    grown = [
        weight if score is None else weight * math.exp(score - best) for weight, score in zip(aged, scores, strict=True)
    ]
    mean = sum(weight for weight, score in zip(grown, scores, strict=True) if score is not None) / said
    grown = [weight * mean if score is None else weight for weight, score in zip(grown, scores, strict=True)]
    total = sum(grown)
    floored = [max(weight / total, _LEAST_WEIGHT) for weight in grown]
    return [weight / sum(floored) for weight in floored]


def _log_density(residual: float, deviation: float) -> float:
    """Return the logarithm of Student's density of a residual, up to a constant."""
    return -math.log(deviation) - (_FREEDOM + 1) / 2 * math.log1p((residual / deviation) ** 2 / _FREEDOM)


def pool_quantiles(
    weights: NDArray[np.float64], means: NDArray[np.float64], deviations: NDArray[np.float64], shares: Sequence[float]
) -> list[NDArray[np.float64]]:
    """Return quantiles of the pool, by Newton's method, halving where that leads out of where they can be.

    Args:
        weights: a row for each source, a column for each place; the sum of a column is 1.
        means: likewise.
        deviations: likewise.
        shares: which quantiles, each above 0 and below 1.
    """
    wanted = np.array(shares)[:, np.newaxis]
    ends = means + np.interp(shares, _NORMAL, _GRID)[:, np.newaxis, np.newaxis] * deviations
    low, high = ends.min(axis=1), ends.max(axis=1)  # a quantile of the pool lies between those of its sources
    near, dense = _NEAR * float(deviations.min()), weights / (deviations * math.sqrt(2 * math.pi))
    found = np.einsum("sp,qsp->qp", weights, ends)
    for _ in range(_MOST_STEPS):
        place = (found[:, np.newaxis] - means) / deviations
        missing = wanted - np.einsum("sp,qsp->qp", weights, np.interp(place, _GRID, _NORMAL))
        density = np.einsum("sp,qsp->qp", dense, np.exp(-0.5 * place * place))
        above = missing > 0
        low, high = np.where(above, found, low), np.where(above, high, found)
        nearer = found + missing / np.maximum(density, _SPARSE)
        nearer = np.where((nearer >= low) & (nearer <= high), nearer, (low + high) / 2)
        moved = float(np.abs(nearer - found).max())
        found = nearer
        if moved <= near:
            break
    return list(found)
