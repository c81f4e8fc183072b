"""History predicts a run from those that were like it.

A Gaussian process over the logarithms of run times in seconds (Rasmussen and Williams, Gaussian Processes for Machine
Learning, 2006, algorithm 2.1), averaged over kernels by their likelihoods (5.2). Start at `History`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from cosched.prediction.profile import PredictionSource, Profile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["FEWEST_RUNS", "MOST_RUNS", "History", "Run", "history_profile"]

FEWEST_RUNS = 3
MOST_RUNS = 100  # newest ones; more take longer and teach little

_LEVEL = 2.0  # deviation of the logarithm of a run time that nothing is known of
_SLOPE = 1.0  # of the exponent of a number
_HOSTS_SLOPE, _HOSTS_DEVIATION = -0.7, 0.5  # of the exponent of the number of hosts
_CLASS = 0.4  # deviation between classes of hosts
_PROGRAM = 0.4  # between what a program was before it was built anew, or edited, and after
_KINDS = np.array([_CLASS**2, _PROGRAM**2])
_CURVED = (0.1, 0.3, 1.0)
_LENGTHS = (0.7, 1.5, 3.0)
_NOISE = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
_USUAL_NOISE, _NOISE_VARIES = 0.05, 1.0  # a weak prior: deviation of the logarithm, and of the logarithm of that
_LEAST_PART = 0.02  # of the likeliest kernel's likelihood; less is left out
_STRAY = 3.5  # times the usual distance from what the other runs say, beyond which a run is left out
_STRAY_AT_LEAST = math.log(1.5)  # and so much too long or too short
_FEWEST_JUDGED = 5  # runs among which a stray one is looked for
_BEYOND = 1.3  # wider range outside of what was seen
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
    """

    numbers: tuple[float, ...]
    hosts: int
    hardware: str
    seconds: float
    program: str = ""


@dataclass(frozen=True, slots=True)
class _Kernel:
    """Parameters of the covariance that the runs speak for or against."""

    curved: float
    length: float
    noise: float


@dataclass(frozen=True, slots=True)
class _Fit:
    """The runs as one kernel explains them.

    Attributes:
        part: how likely it is among all kernels, 0 to 1.
        inverse: that of the covariance's factor by Cholesky.
        weights: the covariance's inverse times the logarithms.
    """

    kernel: _Kernel
    part: float
    inverse: NDArray[np.float64]
    weights: NDArray[np.float64]


class History:
    """Runs of one program, and what they tell of the next one.

    Attributes:
        runs: those that it learns from, the newest last.
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
        points = np.array([_point(run.numbers, run.hosts) for run in self.runs])
        self._centre = points.mean(axis=0)
        self._low, self._high = points.min(axis=0), points.max(axis=0)
        self._points = points - self._centre
        self._kinds = np.array([self._kind(run.hardware, run.program) for run in self.runs])
        logs = np.log([run.seconds for run in self.runs]) - _HOSTS_SLOPE * self._points[:, -1]
        self._level = float(np.median(logs))
        self._logs = logs - self._level
        self._fits = self._fitted()
        self._without_strays()

    @property
    def counts(self) -> set[int]:
        """Numbers of hosts that were tried."""
        return {run.hosts for run in self.runs}

    def predict(
        self, numbers: Sequence[float], counts: Sequence[int], hardware: str, program: str = ""
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return median and 95 % quantile of the next run's seconds, by number of hosts.

        Args:
            numbers: as many as the runs have.
            counts: numbers of hosts.
            hardware: class of the hosts.
            program: digest of the program.
        """
        points = np.array([_point(numbers, count) for count in counts])
        beyond = ((points < self._low - 1e-9) | (points > self._high + 1e-9)).any(axis=1)
        points -= self._centre
        kinds = np.array([self._kind(hardware, program)] * len(points))
        parts, means, variances = [], [], []
        for fit in self._fits:
            cross = self._covariance(points, kinds, self._points, self._kinds, fit.kernel)
            half = fit.inverse @ cross.T
            own = _LEVEL**2 + (points**2 @ _slopes(points.shape[1]) ** 2) + fit.kernel.curved**2 + _KINDS.sum()
            parts.append(fit.part)
            means.append(cross @ fit.weights)
            variances.append(np.maximum(own - (half**2).sum(axis=0), 0.0) + fit.kernel.noise**2)
        mean = np.average(means, axis=0, weights=parts)
        variance = np.average(np.array(variances) + (np.array(means) - mean) ** 2, axis=0, weights=parts)
        deviation = np.sqrt(variance) * np.where(beyond, _BEYOND, 1.0)
        logs = np.clip(mean + self._level + _HOSTS_SLOPE * points[:, -1], -_FARTHEST, _FARTHEST)
        return np.exp(logs), np.exp(np.minimum(logs + _t_quantile(len(self._logs) - 1) * deviation, 2 * _FARTHEST))

    def _kind(self, hardware: str, program: str) -> tuple[int, int]:
        return (
            self._classes.index(hardware) if hardware in self._classes else -1,
            self._programs.index(program) if program in self._programs else -1,
        )

    def _without_strays(self) -> None:
        """Leave out the runs that contradict all others.

        The only run of a new program contradicts none.
        """
        if len(self._logs) < _FEWEST_JUDGED:
            return
        fit = max(self._fits, key=lambda each: each.part)
        residual = fit.weights / (fit.inverse**2).sum(axis=0)  # against a fit without it (the same book, 5.12)
        kept = np.abs(residual) <= max(_STRAY * float(np.median(np.abs(residual))), _STRAY_AT_LEAST)
        kept |= (self._kinds[:, 1, np.newaxis] == self._kinds[:, 1]).sum(axis=1) == 1
        if not kept.all() and kept.sum() >= FEWEST_RUNS:
            self._points, self._kinds, self._logs = self._points[kept], self._kinds[kept], self._logs[kept]
            self._fits = self._fitted()

    def _fitted(self) -> list[_Fit]:
        """Return the kernels that explain the runs, each with its likelihood."""
        found: list[tuple[float, _Kernel, NDArray[np.float64]]] = []
        base = self._covariance(self._points, self._kinds, self._points, self._kinds, _Kernel(0.0, 1.0, 0.0))
        apart = _square_distances(self._points, self._points)
        for curved, length in ((0.0, 1.0), *product(_CURVED, _LENGTHS)):
            smooth = base + curved**2 * np.exp(-apart / (2 * length**2))
            for noise in _NOISE:
                factor = np.asarray(np.linalg.cholesky(smooth + noise**2 * np.eye(len(base))), np.float64)
                explained = np.linalg.solve(factor, self._logs)
                likelihood = -0.5 * float(explained @ explained) - float(np.log(np.diag(factor)).sum())
                likelihood -= 0.5 * (math.log(noise / _USUAL_NOISE) / _NOISE_VARIES) ** 2
                found.append((likelihood, _Kernel(curved, length, noise), factor))
        most = max(likelihood for likelihood, _, _ in found)
        return [
            self._fit(kernel, part, factor)
            for likelihood, kernel, factor in found
            if (part := math.exp(likelihood - most)) > _LEAST_PART
        ]

    def _fit(self, kernel: _Kernel, part: float, factor: NDArray[np.float64]) -> _Fit:
        inverse = np.asarray(np.linalg.inv(factor), np.float64)
        return _Fit(kernel, part, inverse, inverse.T @ (inverse @ self._logs))

    @staticmethod
    def _covariance(
        points: NDArray[np.float64],
        kinds: NDArray[np.int64],
        others: NDArray[np.float64],
        others_kinds: NDArray[np.int64],
        kernel: _Kernel,
    ) -> NDArray[np.float64]:
        """Return the covariance of logarithms of run times, without their noise."""
        linear = (points * _slopes(points.shape[1]) ** 2) @ others.T
        same = (kinds[:, np.newaxis] == others_kinds) @ _KINDS
        smooth = kernel.curved**2 * np.exp(-_square_distances(points, others) / (2 * kernel.length**2))
        return np.asarray(_LEVEL**2 + linear + same + smooth)


def history_profile(
    history: History, numbers: Sequence[float], counts: Sequence[int], hardware: str, program: str = ""
) -> Profile | None:
    """Return the prediction with its range for these numbers of hosts alone.

    None where the runs tell nothing: a number of another order of magnitude may lead anywhere.
    """
    seconds, low, high = ([math.inf] * max(counts) for _ in range(3))
    median, slow = history.predict(numbers, counts, hardware, program)
    for count, expected, most in zip(counts, median.tolist(), slow.tolist(), strict=True):
        if expected**2 / most > _SHORTEST and most < _LONGEST:
            seconds[count - 1], high[count - 1], low[count - 1] = expected, most, expected**2 / most
    if min(seconds) == math.inf:
        return None
    return Profile(tuple(seconds), PredictionSource.HISTORY, hardware, tuple(low), tuple(high), runs=len(history.runs))


def _point(numbers: Sequence[float], hosts: int) -> list[float]:
    """Return a run's place: logarithms of large numbers, and of the number of hosts."""
    return [*(math.asinh(number) for number in numbers), math.log(hosts)]


def _slopes(dimensions: int) -> NDArray[np.float64]:
    return np.array([_SLOPE] * (dimensions - 1) + [_HOSTS_DEVIATION])


def _square_distances(points: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(((points[:, np.newaxis] - others) ** 2).sum(axis=2))


def _t_quantile(freedom: int) -> float:
    """Return the 95 % quantile of Student's distribution; of less than 2 as of 2.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    normal = 1.6448536269514722
    n = max(freedom, 2)
    first = (normal**3 + normal) / (4 * n)
    second = (5 * normal**5 + 16 * normal**3 + 3 * normal) / (96 * n**2)
    third = (3 * normal**7 + 19 * normal**5 + 17 * normal**3 - 15 * normal) / (384 * n**3)
    return normal + first + second + third
