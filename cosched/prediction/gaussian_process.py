"""A Gaussian process over logarithms of run times, averaged over kernels and start-ups by their likelihoods.

After Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006 (algorithm 2.1, 5.2, 5.4, 5.12). Start at
`fitted`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["LEAST_PART", "Covariance", "Fit", "Kernel", "Places", "Work", "bent", "fitted", "foretold", "most_likely"]

_CURVED = (0.1, 0.4, 1.5)
_LEAST_CURVE = 0.1
_LENGTHS = (0.7, 1.5, 3.0)
_DRIFTS = (0.1, 0.4, 1.6)
_RECENT = 4.0  # runs after which a drift is forgotten by two thirds
_RARE_DRIFT = 1.0  # a weak prior: logarithm of how much rarer a drift is than none
_NOISE = np.array([0.01 * 2 ** (step / 2) for step in range(15)])  # in coarser steps ranges are up to 1.4 times off
_COARSE_NOISE = _NOISE[::2]
_USUAL_NOISE, _NOISE_VARIES = 0.05, 1.0  # a weak prior: deviation of the logarithm, and of the logarithm of that
_BENDS = (0.0, 0.3, 0.6, 1.5, 2.5)  # of a number, where others bend by 1
_RARE_BEND = 0.5  # a weak prior: logarithm of how much rarer one is
LEAST_PART = 0.02  # of the likeliest kernel's likelihood; less is left out
_UNLIKELIEST = -700.0  # logarithm of a part: a little above what is 0 as a number
_TRIED_WITH_DRIFT = 10  # kernels and start-ups, those likeliest without


class Kernel(NamedTuple):
    """Parameters of the covariance that the runs speak for or against.

    Attributes:
        curved: deviation of what is no power of the numbers.
        length: of its bends, in logarithms.
        drift: deviation of what runs one after another have in common, as an input that no number shows.
        noise: deviation of each run by itself.
    """

    curved: float = 0.0
    length: float = 1.0
    drift: float = 0.0
    noise: float = 0.0

    def coefficients(self, lengths: Iterable[float]) -> list[float]:
        """Return by what to multiply the parts of a covariance: straight, drift, and bends of these lengths."""
        return [1.0, self.drift**2, *(self.curved**2 * (length == self.length) for length in lengths)]


@dataclass(frozen=True, slots=True)
class Places:
    """What runs have in common, or not.

    Attributes:
        points: a row of logarithms for each run; the last column is the weight of a start-up, which has no curve.
        kinds: a row for each run, or one for all; runs of one kind share a deviation.
        order: the number of each run, or one for all.
    """

    points: NDArray[np.float64]
    kinds: NDArray[np.int64]
    order: NDArray[np.float64]

    def of(self, which: NDArray[np.bool_]) -> Places:
        """Return the places of some of the runs."""
        return Places(self.points[which], self.kinds[which], self.order[which])

    def then(self, newer: Places) -> Places:
        """Return these places and those of newer runs."""
        return Places(
            np.vstack((self.points, newer.points)),
            np.vstack((self.kinds, newer.kinds)),
            np.append(self.order, newer.order),
        )

    def apart(self, others: Places, bends: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the squares of how far runs are apart by their numbers, each multiplied by how much it bends."""
        here, there = self.points[:, :-1] * bends, others.points[:, :-1] * bends
        squares = np.einsum("pn,pn->p", here, here)[:, np.newaxis] + np.einsum("on,on->o", there, there)
        return np.asarray(np.maximum(squares - 2 * (here @ there.T), 0.0))

    def recent(self, others: Places) -> NDArray[np.float64]:
        """Return how much of a drift runs have in common, 0 to 1."""
        return np.asarray(np.exp(-np.abs(self.order[:, np.newaxis] - others.order) / _RECENT))


@dataclass(frozen=True, slots=True)
class Work:
    """Work is what is left of run times without a start-up that all runs have.

    The process is over its logarithms. Noise is a part of whole run times. A run that is mostly start-up says as little
    of its work as `shares` tells: with both its logarithm and its covariances multiplied by its share, noise is the
    same for all, and a density is that of the logarithms of whole run times.

    Attributes:
        logs: logarithms of the work, about 0 on average.
        shares: of work in each run time, above 0.
        startup: seconds.
        rare: logarithm of how much rarer such a start-up is than none.
    """

    logs: NDArray[np.float64]
    shares: NDArray[np.float64]
    startup: float = 0.0
    rare: float = 0.0

    @classmethod
    def alone(cls, logs: NDArray[np.float64]) -> Work:
        """Return run times without a start-up, by their logarithms."""
        return cls(logs, np.ones(len(logs)))

    @property
    def scaled_logs(self) -> NDArray[np.float64]:
        """Return the logarithms, each multiplied by its share."""
        return self.logs * self.shares

    def scaled(self, covariance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return covariances of the logarithms as those of the scaled ones."""
        return covariance * np.outer(self.shares, self.shares)


@dataclass(frozen=True, slots=True)
class Covariance:
    """What is taken for likely before the first run.

    Attributes:
        level: deviation of all runs together.
        slopes: deviations of the exponents of the numbers.
        kinds: variances of what runs of one kind share.
        bends: how quickly what is no power of them changes with each of the numbers; 0: not at all.
        rare_curve: a weak prior: a curve is rarer by this power of its size in `_LEAST_CURVE`, and one.
    """

    level: float
    slopes: NDArray[np.float64]
    kinds: NDArray[np.float64]
    bends: NDArray[np.float64]
    rare_curve: float = 0.0

    def between(self, places: Places, others: Places, kernel: Kernel) -> NDArray[np.float64]:
        """Return the covariance of logarithms of run times, without their noise."""
        lengths = np.array([kernel.length] if kernel.curved else [])
        return np.asarray(np.tensordot(kernel.coefficients(lengths), self.basis(places, others, lengths), 1))

    def basis(self, places: Places, others: Places, lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what covariances of all kernels are sums of: see `Kernel.coefficients`."""
        found = np.empty((2 + len(lengths), len(places.points), len(others.points)))
        same = (places.kinds[:, np.newaxis] == others.kinds) @ self.kinds
        found[0] = (places.points * self.slopes**2) @ others.points.T + (self.level**2 + same)
        found[1] = places.recent(others)
        if len(lengths):
            found[2:] = np.exp(places.apart(others, self.bends) / (-2 * lengths[:, np.newaxis, np.newaxis] ** 2))
        return found

    def own(self, places: Places) -> NDArray[np.float64]:
        """Return the variance of each run, without its noise and what the kernel adds to it."""
        return np.asarray(places.points**2 @ self.slopes**2 + (self.level**2 + self.kinds.sum()))


@dataclass(frozen=True, slots=True)
class Fit:
    """The runs as one kernel and one start-up explain them.

    Attributes:
        part: how likely it is beside the likeliest one, 0 to 1.
        work: the runs without their start-up.
        inverse: that of the scaled covariance's factor by Cholesky.
        weights: the scaled covariance's inverse times the scaled logarithms.
    """

    kernel: Kernel
    part: float
    work: Work
    inverse: NDArray[np.float64]
    weights: NDArray[np.float64]

    def foretold(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how far each run is from what those before it say, with the deviation that was expected.

        Both are of the logarithm of its time.
        """
        deviations = 1 / np.diag(self.inverse)
        return self.inverse @ self.work.scaled_logs * deviations, deviations

    def residuals(self) -> NDArray[np.float64]:
        """Return how far the logarithm of each run's time is from what all others say (5.12)."""
        return np.asarray(self.weights / (self.inverse**2).sum(axis=0))


def fitted(covariance: Covariance, places: Places, works: Sequence[Work]) -> list[Fit]:
    """Return the kernels and start-ups that explain the runs, and with each start-up the best kernel, however unlikely.

    Those that only few of the runs spoke for are needed to tell what could be foretold then: see `foretold`.

    Args:
        covariance: what is likely before them.
        places: of the runs.
        works: their times without start-up, and without others that they may have.
    """
    base, apart = covariance.between(places, places, Kernel()), places.apart(places, covariance.bends)
    tried: list[_Tried] = []
    for curved, length in ((0.0, 1.0), *product(_CURVED, _LENGTHS)):
        smooth = base + curved**2 * np.exp(-apart / (2 * length**2))
        rare = covariance.rare_curve * math.log1p(curved / _LEAST_CURVE)
        tried += [_Tried.of(Kernel(curved, length), work, smooth, rare + work.rare) for work in works]
    recent, likeliest = places.recent(places), sorted(tried, key=lambda each: -each.likelihood)[:_TRIED_WITH_DRIFT]
    for drift, each in product(_DRIFTS, likeliest):
        smooth = each.smooth + drift**2 * recent
        tried.append(_Tried.of(each.kernel._replace(drift=drift), each.work, smooth, each.rare + _RARE_DRIFT))
    most = max(each.likelihood for each in tried)
    best = [max((each for each in tried if each.work is work), key=lambda each: each.likelihood) for work in works]
    return [fit for each in tried for fit in each.fits(most, best_with_startup=any(each is one for one in best))]


class _Tried(NamedTuple):
    """A kernel and a start-up with the likelihoods of the runs, one for each noise."""

    kernel: Kernel
    work: Work
    smooth: NDArray[np.float64]
    rare: float
    likelihoods: NDArray[np.float64]

    @classmethod
    def of(cls, kernel: Kernel, work: Work, smooth: NDArray[np.float64], rare: float) -> _Tried:
        return cls(kernel, work, smooth, rare, _likelihoods(smooth, work) - rare)

    @property
    def likelihood(self) -> float:
        return float(self.likelihoods.max())

    def fits(self, most: float, *, best_with_startup: bool) -> Iterator[Fit]:
        for noise, likelihood in zip(_NOISE.tolist(), self.likelihoods.tolist(), strict=True):
            part = math.exp(max(likelihood - most, _UNLIKELIEST))
            if part > LEAST_PART or (best_with_startup and likelihood == self.likelihood):
                yield _fit(self.kernel._replace(noise=noise), part, self.smooth, self.work)


def foretold(fits: Sequence[Fit]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how far each run is from what those before it say, with the deviation that was expected.

    Both are of the logarithm of its time. A fit counts as much as the runs before spoke for it: what the later ones say
    of it is taken from its part again. Else a start-up that all runs together show would seem to have been known from
    the first one on.
    """
    each = [fit.foretold() for fit in fits]
    off, deviations = np.array([one[0] for one in each]), np.array([one[1] for one in each])
    said = -0.5 * (off / deviations) ** 2 - np.log(deviations)
    logs = np.log([[fit.part] for fit in fits]) - np.cumsum(said[:, ::-1], axis=1)[:, ::-1]
    parts = np.exp(logs - logs.max(axis=0))
    parts /= parts.sum(axis=0)
    mean = (parts * off).sum(axis=0)
    return mean, np.sqrt((parts * (deviations**2 + (off - mean) ** 2)).sum(axis=0))


def bent(covariance: Covariance, places: Places, work: Work, kernel: Kernel) -> Covariance:
    """Return the covariance with each number bending the times as the runs say, one after another.

    Args:
        covariance: in which all bend alike.
        places: of the runs.
        work: their times without start-up.
        kernel: which explains them best so far.
    """
    if not kernel.curved:
        return covariance
    base = covariance.between(places, places, kernel._replace(curved=0.0))

    def likelihood(bends: NDArray[np.float64]) -> float:
        smooth = kernel.curved**2 * np.exp(-places.apart(places, bends) / (2 * kernel.length**2))
        return float(_likelihoods(base + smooth, work).max()) - _RARE_BEND * float((bends != 1.0).sum())

    best, most = covariance.bends, likelihood(covariance.bends)
    for number in range(len(best)):
        for bend in _BENDS:
            tried = best.copy()
            tried[number] = bend
            if (found := likelihood(tried)) > most:
                best, most = tried, found
    return replace(covariance, bends=best)


def most_likely(covariance: Covariance, places: Places, logs: NDArray[np.float64]) -> float:
    """Return the logarithm of the likelihood of the runs, with neither start-up, curve nor drift.

    What these would explain is noise here, and of that no more is to be told than how large it is.
    """
    return float(_likelihoods(covariance.between(places, places, Kernel()), Work.alone(logs), _COARSE_NOISE).max())


def _likelihoods(
    covariance: NDArray[np.float64], work: Work, noise: NDArray[np.float64] = _NOISE
) -> NDArray[np.float64]:
    """Return the logarithms of the likelihood of the runs for each noise.

    Noise adds its square to all eigenvalues, so that they need to be found only once.
    """
    values, vectors = np.linalg.eigh(work.scaled(covariance))
    variances = np.maximum(values, 0.0) + np.square(noise)[:, np.newaxis]
    explained = ((vectors.T @ work.scaled_logs) ** 2 / variances).sum(axis=1)
    likelihoods = -0.5 * (explained + np.log(variances).sum(axis=1))
    return np.asarray(likelihoods - 0.5 * (np.log(noise / _USUAL_NOISE) / _NOISE_VARIES) ** 2)


def _fit(kernel: Kernel, part: float, smooth: NDArray[np.float64], work: Work) -> Fit:
    factor = np.linalg.cholesky(work.scaled(smooth) + kernel.noise**2 * np.eye(len(smooth)))
    inverse = np.asarray(np.linalg.inv(factor), np.float64)
    return Fit(kernel, part, work, inverse, inverse.T @ (inverse @ work.scaled_logs))
