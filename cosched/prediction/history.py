"""History predicts a run from those that were like it: start-up, and work by a Gaussian process.

Start at `History`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.prediction.gaussian_process import Covariance, Places, Work, bent, fitted, likely, most_likely
from cosched.prediction.number_scale import NumberScale
from cosched.prediction.profile import PredictionSource, Profile
from cosched.prediction.student import t_quantile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["FEWEST_RUNS", "MOST_RUNS", "History", "Run", "history_profile", "times_by_count"]

FEWEST_RUNS = 3
MOST_RUNS = 100  # newest ones; more take longer and teach little

_CLASS = 0.4  # deviation between classes of hosts
_PROGRAM = 0.4  # between what a program was before it was built anew, or edited, and after
_CHANGE = 0.5  # between runs before and after something changed
_KINDS = np.array([_CLASS**2, _PROGRAM**2, _CHANGE**2])
_SURE = 5.0  # logarithm of how much likelier a change must make the runs
_NEWEST = (2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48)  # runs since a change
_STRAY = 3.5  # times the usual distance from what the other runs say, beyond which a run is left out
_STRAY_AT_LEAST = math.log(1.5)  # and so much too long or too short
_FEWEST_BENT = 10  # runs from which it is learnt which numbers bend the times
_SEVERAL = 3  # numbers, that of hosts among them; of two, both bend often, and which one is told by few runs
_FEWEST_JUDGED = 5  # runs among which a stray one is looked for
_STARTUPS = (0.35, 0.6, 0.8, 0.9, 0.96)  # of the shortest run's time, that all runs may have whatever their size
_RARE_STARTUP = 5.0  # a weak prior: logarithm of how much rarer each of them is than none
_LEAST_SHARE = 0.02  # of work in a run time
_FEWEST_PLACES = 2  # different ones, from which a start-up can be told from a power of the numbers
_SHORTEST, _LONGEST = 1e-6, 10 * 365 * 86400.0  # seconds; nobody plans with less or more
_FARTHEST = 100.0  # logarithms of run times end here


@dataclass(frozen=True, slots=True)
class Run:
    """A run that completed.

    Attributes:
        numbers: see `RunFeatures`.
        hosts: how many it had.
        hardware: class of its hosts, empty where the manager names none.
        seconds: run time.
        program: digest of the program, empty where it is not known.
        stated: seconds that its model or its user foretold, where the history is of how far they are off.
    """

    numbers: tuple[float, ...]
    hosts: int
    hardware: str
    seconds: float
    program: str = ""
    stated: float | None = None


@dataclass(frozen=True, slots=True)
class _Prior:
    """What is taken for likely before the first run: deviations of logarithms.

    Attributes:
        level: that of the run time, or of how far a stated one is off.
        slope: that of the exponent of a number.
        hosts: mean of the exponent of the number of hosts.
        hosts_slope: deviation of that.
        startup: seconds that every run takes longer, whatever its size.
        rare_curve: see `Covariance`.
        beyond: how much wider the range is outside of what was seen.
    """

    level: float
    slope: float
    hosts: float
    hosts_slope: float
    startup: float = 0.0
    rare_curve: float = 0.0
    beyond: float = 1.3


_NOTHING_STATED = _Prior(2.0, 1.0, -0.7, 0.5)
_STATED = _Prior(0.5, 0.2, 0.0, 0.5, 0.5, rare_curve=1.0, beyond=1.0)


class History:
    """Runs of one program, and what they tell of the next one.

    Where all runs have stated times, it is learnt how far these are off, by a factor and by seconds of start-up.

    Attributes:
        runs: those that it learns from, the newest last.
        since_change: how many of them came after the times of all had changed, without their numbers; 0: no change.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        """Learn from runs of one key, the newest last.

        Raises:
            ValueError: there is none, or they have different numbers of numbers.
        """
        self.runs = tuple(runs)[-MOST_RUNS:]
        if not self.runs:
            raise ValueError("a history needs a run")
        self._classes = sorted({run.hardware for run in self.runs})
        self._programs = sorted({run.program for run in self.runs})
        self._stated = all(run.stated is not None for run in self.runs)
        self._prior = _STATED if self._stated else _NOTHING_STATED
        off = float(np.median([math.log(run.seconds / (run.stated or run.seconds)) for run in self.runs]))
        self._unit = math.exp(off)  # of stated times, in seconds: a count may be stated in any
        self._scales = [NumberScale.of(column) for column in zip(*(run.numbers for run in self.runs), strict=True)]
        points = np.array([self._point(run.numbers, run.hosts, run.stated) for run in self.runs])
        self._centre = points.mean(axis=0)
        self._centre[-1] = 0.0  # a start-up is nothing to the longest runs, not to the mean of those seen
        self._low, self._high = points.min(axis=0), points.max(axis=0)
        startup = min(self._prior.startup, *(run.seconds for run in self.runs))
        slopes = [*[self._prior.slope] * (points.shape[1] - 2), self._prior.hosts_slope, startup]
        level = max(self._prior.level, abs(off))
        self._covariance = Covariance(level, np.array(slopes), _KINDS, np.ones(len(slopes) - 1), self._prior.rare_curve)
        points -= self._centre
        kinds = np.array([(*self._kind(run.hardware, run.program), 0) for run in self.runs])
        self._places = Places(points, kinds, np.arange(len(points), dtype=float))
        self._seconds = np.array([run.seconds for run in self.runs])
        self._scaling = np.log([run.stated or 1.0 for run in self.runs]) + self._prior.hosts * points[:, -2]
        self._level = 0.0 if self._stated else float(np.median(np.log(self._seconds) - self._scaling))
        self._scaling += self._level
        self.since_change = self._since_change()
        kinds[len(self.runs) - self.since_change :, 2] = 1
        self._kept = np.ones(len(self.runs), bool)
        self._fits = fitted(self._covariance, self._places, self._works())
        self._without_strays()
        self._bend()

    @property
    def counts(self) -> set[int]:
        """Numbers of hosts that were tried."""
        return {run.hosts for run in self.runs}

    @property
    def changed(self) -> int:
        """Number of the first run after a change, from 1; 0 for no change."""
        return len(self.runs) - self.since_change + 1 if self.since_change else 0

    def tried(self, count: int) -> int:
        """Return how many runs had a number of hosts."""
        return sum(run.hosts == count for run in self.runs)

    def fits(self, run: Run) -> bool:
        """Return whether a run is like the others: as many numbers, above 0 where all were, and something stated."""
        numbers = zip(self._scales, run.numbers, strict=False)
        like = len(run.numbers) == len(self._scales) and all(scale.fits(number) for scale, number in numbers)
        return like and (not self._stated or run.stated is not None)

    def add(self, run: Run) -> None:
        """Take one more run in, for a small part of what learning anew costs.

        Whether something has changed, whether the run is a stray one, and which other kernels explain the runs now,
        only a new history finds out. What was read from this one before stays as it was: a copy may be added to.

        Raises:
            ValueError: it does not fit.
        """
        if not self.fits(run):
            raise ValueError("the run is not like those before it")
        stated = run.stated if self._stated else None
        point = np.array(self._point(run.numbers, run.hosts, stated))
        self.runs = (*self.runs, run)
        self._classes = [*self._classes, *({run.hardware} - {*self._classes})]
        self._programs = [*self._programs, *({run.program} - {*self._programs})]
        self._low, self._high = np.minimum(self._low, point), np.maximum(self._high, point)
        point -= self._centre
        scaling = math.log(stated or 1.0) + self._prior.hosts * float(point[-2]) + self._level
        place = self._place(point[np.newaxis], run.hardware, run.program)
        self._places = self._places.then(place)
        self._seconds, self._kept = np.append(self._seconds, run.seconds), np.append(self._kept, True)
        self._scaling = np.append(self._scaling, scaling)
        self.since_change += self.since_change > 0
        rows = ((fit, self._covariance.between(place, self._places, fit.kernel)[0]) for fit in self._fits)
        shares = ((fit, row, _share(run.seconds, fit.work.startup)) for fit, row in rows)
        self._fits = likely(
            fit.with_run(row, math.log(share * run.seconds) - scaling, share) for fit, row, share in shares
        )

    def predict(
        self,
        numbers: Sequence[float],
        counts: Sequence[int],
        hardware: str,
        program: str = "",
        stated: Sequence[float] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return median and 95 % quantile of the next run's seconds, by number of hosts.

        Args:
            numbers: as many as the runs have.
            counts: numbers of hosts.
            hardware: class of the hosts.
            program: digest of the program.
            stated: seconds foretold, by number of hosts, where those of the runs were.
        """
        foretold = [None] * len(counts) if stated is None else list(stated)
        points = np.array([self._point(numbers, *each) for each in zip(counts, foretold, strict=True)])
        beyond = ((points < self._low - 1e-9) | (points > self._high + 1e-9)).any(axis=1)
        points -= self._centre
        places = self._place(points, hardware, program)
        scaling = self._prior.hosts * points[:, -2] + self._level + (0.0 if stated is None else np.log(stated))
        parts, means, variances = [], [], []
        for fit in self._fits:
            work, variance = fit.predict(
                self._covariance.between(places, self._places, fit.kernel), self._covariance.own(places, fit.kernel)
            )
            work = np.clip(work + scaling, -_FARTHEST, _FARTHEST)
            whole = np.logaddexp(work, math.log(fit.work.startup)) if fit.work.startup else work
            parts.append(fit.part)
            means.append(whole)
            variances.append(np.exp(2 * (work - whole)) * variance + fit.kernel.noise**2)
        mean = np.average(means, axis=0, weights=parts)
        variance = np.average(np.array(variances) + (np.array(means) - mean) ** 2, axis=0, weights=parts)
        deviation = np.sqrt(variance) * np.where(beyond, self._prior.beyond, 1.0)
        logs = np.clip(mean, -_FARTHEST, _FARTHEST)
        return np.exp(logs), np.exp(np.minimum(logs + t_quantile(len(self._seconds) - 1) * deviation, 2 * _FARTHEST))

    def off(self, run: Run) -> tuple[float, float]:
        """Return how far one more run is from what is foretold, with the deviation that was expected.

        Both are of the logarithm.
        """
        stated = [run.stated or run.seconds] if self._stated else None
        median, slow = self.predict(run.numbers, [run.hosts], run.hardware, run.program, stated)
        deviation = math.log(float(slow[0] / median[0])) / t_quantile(len(self._seconds) - 1)
        return math.log(run.seconds / float(median[0])), deviation

    def nearest(self, numbers: Sequence[float], hosts: int, most: int) -> list[Run]:
        """Return the runs most like one, the nearest first and of equally near ones the newest."""
        place = np.array(self._point(numbers, hosts)[:-1])
        apart = [float(((np.array(self._point(run.numbers, run.hosts)[:-1]) - place) ** 2).sum()) for run in self.runs]
        order = sorted(range(len(self.runs)), key=lambda number: (apart[number], -number))
        return [self.runs[number] for number in order[:most]]

    def beyond(self, numbers: Sequence[float]) -> list[tuple[float, float, float]]:
        """Return those numbers that are outside of what was seen, each with the least and the largest that was."""
        columns = zip(*(run.numbers for run in self.runs), strict=True)
        ends = [(number, min(column), max(column)) for number, column in zip(numbers, columns, strict=True)]
        return [(number, least, most) for number, least, most in ends if not least <= number <= most]

    def seen(self, numbers: Sequence[float], counts: Sequence[int]) -> NDArray[np.bool_]:
        """Return by number of hosts whether such a run is within those seen."""
        points = np.array([self._point(numbers, count)[:-1] for count in counts])
        return np.asarray(((points >= self._low[:-1] - 1e-9) & (points <= self._high[:-1] + 1e-9)).all(axis=1))

    def foretold(self) -> list[tuple[float, float] | None]:
        """Return how far each run was from what those before it tell.

        With the deviation that was expected, both of the logarithm; None for a stray run. The kernel is the one that
        explains all runs best.
        """
        off, deviations = max(self._fits, key=lambda each: each.part).foretold()
        found = iter(zip(off.tolist(), deviations.tolist(), strict=True))
        return [next(found) if kept else None for kept in self._kept]

    def _point(self, numbers: Sequence[float], hosts: int, stated: float | None = None) -> list[float]:
        """Return a run's place: logarithms of numbers and hosts, and the weight of a start-up.

        That is what a second more is to a run so long.
        """
        places = [scale.place(number) for scale, number in zip(self._scales, numbers, strict=True)]
        return [*places, math.log(hosts), 0.0 if stated is None else 1 / (self._unit * stated)]

    def _kind(self, hardware: str, program: str) -> tuple[int, int]:
        return (
            self._classes.index(hardware) if hardware in self._classes else -1,
            self._programs.index(program) if program in self._programs else -1,
        )

    def _place(self, points: NDArray[np.float64], hardware: str, program: str) -> Places:
        """Return the places of the next run, if it has one of these points."""
        kind = (*self._kind(hardware, program), int(self.since_change > 0))
        return Places(points, np.array([kind] * len(points)), np.full(len(points), self._places.order[-1] + 1))

    def _works(self) -> list[Work]:
        """Return the runs without each of the start-ups that they may have."""
        logs = np.log(self._seconds) - self._scaling
        if len(np.unique(self._places.points.round(9), axis=0)) < _FEWEST_PLACES:
            return [Work.alone(logs)]
        found, shortest = [Work.alone(logs)], float(self._seconds.min())
        for startup in (part * shortest for part in _STARTUPS):
            shares = 1 - startup / self._seconds
            found.append(Work(logs + np.log(shares), shares, startup, _RARE_STARTUP))
        return found

    def _since_change(self) -> int:
        """Return how many runs there were since a change; 0 for no change.

        The likelihoods of both are compared (the same book, 5.4); a single run may be a stray one.
        """
        places, count = replace(self._places, kinds=self._places.kinds.copy()), len(self._seconds)
        logs = np.log(self._seconds) - self._scaling
        found = [(most_likely(self._covariance, places, logs) + _SURE, 0)]
        for newest in _NEWEST:
            if newest + FEWEST_RUNS <= count and self._seen_before(newest):
                places.kinds[:, 2] = np.arange(count) >= count - newest
                found.append((most_likely(self._covariance, places, logs), newest))
        return max(found)[1] if len(found) > 1 else 0

    def _seen_before(self, newest: int) -> bool:
        """Return whether most of the newest runs are of places like those before.

        Else it may be the places that make the difference.
        """
        points = self._places.points[:, :-1]
        before, after = points[:-newest], points[-newest:]
        inside = ((after >= before.min(axis=0) - 1e-9) & (after <= before.max(axis=0) + 1e-9)).all(axis=1)
        return bool(2 * inside.sum() > newest)

    def _without_strays(self) -> None:
        """Leave out the runs that contradict all others.

        The only run of a new program contradicts none.
        """
        if len(self._seconds) < _FEWEST_JUDGED:
            return
        fit = max(self._fits, key=lambda each: each.part)
        residual = fit.residuals()
        kept = np.abs(residual) <= max(_STRAY * float(np.median(np.abs(residual))), _STRAY_AT_LEAST)
        programs = self._places.kinds[:, 1]
        kept |= (programs[:, np.newaxis] == programs).sum(axis=1) == 1
        if not kept.all() and kept.sum() >= FEWEST_RUNS:
            self._kept = kept
            self._places, self._seconds = self._places.of(kept), self._seconds[kept]
            self._scaling = self._scaling[kept]
            self._fits = fitted(self._covariance, self._places, self._works())

    def _bend(self) -> None:
        """Find out which of several numbers bend the times: of most a power is all that there is."""
        if len(self._seconds) < _FEWEST_BENT or len(self._covariance.bends) < _SEVERAL:
            return
        best = max(self._fits, key=lambda each: each.part)
        self._covariance = bent(covariance := self._covariance, self._places, best.work, best.kernel)
        if self._covariance is not covariance:
            self._fits = fitted(self._covariance, self._places, self._works())


def history_profile(
    history: History, numbers: Sequence[float], counts: Sequence[int], hardware: str, program: str = ""
) -> Profile | None:
    """Return the prediction with its range for these numbers of hosts alone.

    None where the runs tell nothing: a number of another order of magnitude may lead anywhere.
    """
    median, slow = history.predict(numbers, counts, hardware, program)
    seconds, low, high = times_by_count(counts, median / (slow / median), median, slow)
    if min(seconds) == math.inf:
        return None
    return Profile(
        seconds, PredictionSource.HISTORY, hardware, low, high, runs=len(history.runs), changed=history.changed
    )


def times_by_count(
    counts: Sequence[int],
    low: NDArray[np.float64],
    median: NDArray[np.float64],
    high: NDArray[np.float64],
    width: int = 0,
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Return seconds, low and high on 1, 2, … hosts, infinite where nothing is told."""
    found = tuple([math.inf] * max(width, *counts, 1) for _ in range(3))
    for count, *times in zip(counts, median.tolist(), low.tolist(), high.tolist(), strict=True):
        if times[1] > _SHORTEST and times[2] < _LONGEST:
            for side, seconds in zip(found, times, strict=True):
                side[count - 1] = seconds
    seconds, least, most = (tuple(side) for side in found)
    return seconds, least, most


def _share(seconds: float, startup: float) -> float:
    """Return the share of work in a run time; a run that is shorter than the start-up says next to nothing of it."""
    return max(1 - startup / seconds, _LEAST_SHARE)
