"""History predicts a run from those that were like it: start-up, and work by a Gaussian process.

Start at `History`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.prediction.gaussian_process import Covariance, Places, fitted, foretold
from cosched.prediction.mixture import Mixture
from cosched.prediction.number_scale import NumberScale
from cosched.prediction.others.exponents import (
    USUAL_HOSTS,
    USUAL_HOSTS_STATED,
    USUAL_NUMBER,
    USUAL_NUMBER_STATED,
    Exponent,
    HostScaling,
    beyond_hosts,
)
from cosched.prediction.past_runs import FEWEST_RUNS, PastRuns
from cosched.prediction.profile import LONGEST, PredictionSource, Profile
from cosched.prediction.student import t_quantile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from cosched.prediction.mixture import Said
    from cosched.prediction.others.other_programs import OtherPrograms

__all__ = ["FEWEST_RUNS", "MOST_RUNS", "History", "Run", "history_profile", "times_by_count"]

MOST_RUNS = 100  # newest ones; more take longer and teach little

_CLASS = 0.4  # deviation between classes of hosts
_PROGRAM = 0.4  # between what a program was before it was built anew, or edited, and after
_CHANGE = 0.5  # between runs before and after something changed
_KINDS = np.array([_CLASS**2, _PROGRAM**2, _CHANGE**2])
_SHORTEST = 1e-6  # seconds; nobody plans with less
_SAME = 1e-9  # of a logarithm: so near numbers are one
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
        number: exponent of a number.
        hosts: exponent of the number of hosts.
        startup: seconds that every run takes longer, whatever its size.
        rare_curve: see `Covariance`.
        beyond: how much wider the range is outside of what was seen.
    """

    level: float
    number: Exponent
    hosts: Exponent
    startup: float = 0.0
    rare_curve: float = 0.0
    beyond: float = 1.3


_NOTHING_STATED = _Prior(2.0, USUAL_NUMBER, USUAL_HOSTS)
_STATED = _Prior(0.5, USUAL_NUMBER_STATED, USUAL_HOSTS_STATED, 0.5, rare_curve=1.0, beyond=1.0)


class History:
    """Runs of one program, and what they tell of the next one.

    Where all runs have stated times, it is learnt how far these are off, by a factor and by seconds of start-up.

    Attributes:
        runs: those that it learns from, the newest last.
        unit: seconds that one of what is stated lasts, where it is a count of something; else 1, or nearly.
        since_change: how many of them came after the times of all had changed, without their numbers; 0: no change.
        foretold: how far each was from what those before it tell, with the deviation that was expected, both of the
            logarithm; None for a stray run.
    """

    def __init__(self, runs: Iterable[Run], number: Exponent = USUAL_NUMBER) -> None:
        """Learn from runs of one key.

        Args:
            runs: the newest last.
            number: what other programs tell of the exponent of a number, where nothing is stated.

        Raises:
            ValueError: there is none, or they have different numbers of numbers.
        """
        self.runs = tuple(runs)[-MOST_RUNS:]
        if not self.runs:
            raise ValueError("a history needs a run")
        self._classes = sorted({run.hardware for run in self.runs})
        self._programs = sorted({run.program for run in self.runs})
        self._stated = all(run.stated is not None for run in self.runs)
        self._others: OtherPrograms | None = None
        self._prior = _STATED if self._stated else replace(_NOTHING_STATED, number=number)
        factor = float(np.median([math.log(run.seconds / (run.stated or run.seconds)) for run in self.runs]))
        # Stated times are seconds, and what short runs take longer is start-up; but a count may be stated in any unit.
        self.unit = math.exp(factor - min(max(factor, -self._prior.level), self._prior.level))
        self._least = self.unit * min(run.stated or 1.0 for run in self.runs)
        self._scales = [NumberScale.of(column) for column in zip(*(run.numbers for run in self.runs), strict=True)]
        points = np.array([self._point(run.numbers, run.hosts, run.stated) for run in self.runs])
        self._centre = points.mean(axis=0)
        self._centre[-1] = 0.0  # a start-up is nothing to the longest runs, not to the mean of those seen
        lows, highs = np.minimum.accumulate(points), np.maximum.accumulate(points)
        self._low, self._high = lows[-1], highs[-1]
        outside = np.append(True, _outside(points[1:], lows[:-1], highs[:-1]))
        startup = min(self._prior.startup, *(run.seconds for run in self.runs))
        slopes = [*[self._prior.number.deviation] * (points.shape[1] - 2), self._prior.hosts.deviation, startup]
        level = max(self._prior.level, abs(factor))
        covariance = Covariance(level, np.array(slopes), _KINDS, np.ones(len(slopes) - 1), self._prior.rare_curve)
        points -= self._centre
        kinds = np.array([(*self._kind(run.hardware, run.program), 0) for run in self.runs])
        scaling = np.log([run.stated or 1.0 for run in self.runs]) + self._usual_fall(points)
        logs = np.log([run.seconds for run in self.runs])
        self._level = 0.0 if self._stated else float(np.median(logs - scaling))
        past = PastRuns(Places(points, kinds, np.arange(len(points), dtype=float)), logs, scaling + self._level)
        self.since_change = past.since_change(covariance)
        kinds[len(self.runs) - self.since_change :, 2] = 1
        fits = fitted(covariance, past.places, past.works())
        kept = past.kept(fits)
        if not kept.all():
            past = past.of(kept)
            fits = fitted(covariance, past.places, past.works())
        if (bending := past.bent(covariance, fits)) is not covariance:
            covariance = bending
            fits = fitted(covariance, past.places, past.works())
        self._mixture = Mixture.of(covariance, past.places, fits)
        off, deviations = foretold(fits)
        deviations *= self._wider(outside[kept])
        found = iter(zip(off.tolist(), deviations.tolist(), strict=True))
        self.foretold: tuple[tuple[float, float] | None, ...] = tuple([next(found) if each else None for each in kept])

    @property
    def counts(self) -> set[int]:
        """Numbers of hosts that were tried."""
        return {run.hosts for run in self.runs}

    @property
    def changed(self) -> int:
        """Number of the first run after a change, from 1; 0 for no change."""
        return len(self.runs) - self.since_change + 1 if self.since_change else 0

    def hear(self, others: OtherPrograms) -> None:
        """Have other programs tell of numbers of hosts where its own runs were all on one, until one more is added.

        What its own runs say of two numbers of hosts goes before what those of others do. A copy may hear.
        """
        self._others = others

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
        self._others = None
        stated = [run.stated] if self._stated and run.stated is not None else None
        self._classes = [*self._classes, *({run.hardware} - {*self._classes})]
        self._programs = [*self._programs, *({run.program} - {*self._programs})]
        points = self._points(run.numbers, [run.hosts], stated)
        place, scaling = self._next(points, run.hardware, run.program, stated)
        said = self._mixture.said(place)
        (mean,), (deviation,) = self._spread(said, scaling, points)
        self.foretold = (*self.foretold, (math.log(run.seconds) - float(mean), float(deviation)))
        self._mixture = self._mixture.then(place, said, float(scaling[0]), run.seconds)
        self.runs = (*self.runs, run)
        self._low, self._high = np.minimum(self._low, points[0]), np.maximum(self._high, points[0])
        self.since_change += self.since_change > 0

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
        points = self._points(numbers, counts, stated)
        places, scaling = self._next(points, hardware, program, stated)
        mean, deviation = self._spread(self._mixture.said(places), scaling, points)
        logs = np.minimum(np.maximum(mean, -_FARTHEST), _FARTHEST)
        freedom = len(self._mixture.places.order) - 1
        return np.exp(logs), np.exp(np.minimum(logs + t_quantile(freedom) * deviation, 2 * _FARTHEST))

    def elsewhere(self, counts: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what other programs alone tell of these numbers of hosts, as mean and deviation of a logarithm.

        It is 0 where they tell nothing, and where its own runs tell it.
        """
        hosts = self._elsewhere()
        if hosts is None:
            return np.zeros(len(counts)), np.zeros(len(counts))
        return hosts.between(self._high[-2], np.log(counts), told=True)

    def beyond_counts(self, counts: Sequence[int]) -> NDArray[np.float64]:
        """Return how unsure run times on numbers of hosts are that lie beyond those of its runs.

        It is a deviation of their logarithm; 0 where its runs were all on one number, as others then tell of hosts.
        """
        return self._beyond_hosts(np.log(counts))

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
        return _inside(self._points(numbers, counts, None)[:, :-1], self._low[:-1], self._high[:-1])

    def _point(self, numbers: Sequence[float], hosts: int, stated: float | None = None) -> NDArray[np.float64]:
        return np.asarray(self._points(numbers, [hosts], None if stated is None else [stated])[0])

    def _points(
        self, numbers: Sequence[float], counts: Sequence[int], stated: Sequence[float] | None
    ) -> NDArray[np.float64]:
        """Return places by number of hosts: logarithms of numbers and hosts, and the weight of a start-up.

        That is what a second more is to a run so long; of one shorter than any seen it grows as a start-up lets times
        grow at most, by a logarithm.
        """
        points = np.empty((len(counts), len(numbers) + 2))
        points[:, :-2] = [scale.place(number) for scale, number in zip(self._scales, numbers, strict=True)]
        points[:, -2] = np.log(counts)
        points[:, -1] = 0.0
        if stated is not None:
            shorter = np.maximum(self._least / (self.unit * np.asarray(stated)), 1.0)
            points[:, -1] = (1 + np.log(shorter)) / (self.unit * np.asarray(stated) * shorter)
        return points

    def _elsewhere(self) -> HostScaling | None:
        """Return what other programs tell of numbers of hosts; None where its own runs had several."""
        if self._others is None or self._high[-2] - self._low[-2] > _SAME:
            return None
        return self._others.stated_hosts if self._stated else self._others.hosts

    def _usual_fall(self, centred: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return logarithms of how run times differ by what was likely before the first run."""
        numbers = centred[:, :-2].sum(axis=1)
        return np.asarray(self._prior.number.mean * numbers + self._prior.hosts.mean * centred[:, -2])

    def _kind(self, hardware: str, program: str) -> tuple[int, int]:
        return (
            self._classes.index(hardware) if hardware in self._classes else -1,
            self._programs.index(program) if program in self._programs else -1,
        )

    def _next(
        self, points: NDArray[np.float64], hardware: str, program: str, stated: Sequence[float] | None
    ) -> tuple[Places, NDArray[np.float64]]:
        """Return the places of the next run, if it has one of these points, and logarithms of what multiplies work."""
        centred = points - self._centre
        kinds = np.array([(*self._kind(hardware, program), int(self.since_change > 0))])
        fall = self._usual_fall(centred)
        if (hosts := self._elsewhere()) is not None:
            between, unsure = hosts.between(self._high[-2], points[:, -2])
            fall += between - self._prior.hosts.mean * centred[:, -2]
            centred[:, -2] = unsure / self._prior.hosts.deviation
        scaling = fall + self._level + (0.0 if stated is None else np.log(stated))
        return Places(centred, kinds, self._mixture.places.order[-1:] + 1), scaling

    def _spread(
        self, said: Said, scaling: NDArray[np.float64], points: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and deviation of logarithms of run times, wider outside of what was seen."""
        mean, variance = self._mixture.whole(said, scaling, _FARTHEST)
        deviation = np.sqrt(variance) * self._wider(_outside(points, self._low, self._high))
        return mean, np.hypot(deviation, self._beyond_hosts(points[:, -2]))

    def _beyond_hosts(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        least, most = float(self._low[-2]), float(self._high[-2])
        return beyond_hosts(least, most, counts) if most - least > _SAME else np.zeros(len(counts))

    def _wider(self, outside: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.where(outside, self._prior.beyond, 1.0)


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
        if times[1] > _SHORTEST and times[2] < LONGEST:
            for side, seconds in zip(found, times, strict=True):
                side[count - 1] = seconds
    seconds, least, most = (tuple(side) for side in found)
    return seconds, least, most


def _outside(points: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether points are where what runs tell of their numbers may hold no more.

    Of numbers that never varied they tell nothing, and what was likely before is wide enough.
    """
    told = high - low > _SAME
    return np.asarray((((points < low - _SAME) | (points > high + _SAME)) & told).any(axis=1))


def _inside(points: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether points are within what was seen."""
    return np.asarray(((points >= low - _SAME) & (points <= high + _SAME)).all(axis=1))
