"""A mixture of Gaussian processes, one for each kernel and start-up that explain runs; all are asked at once.

Start at `Mixture`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.prediction.gaussian_process import LEAST_PART

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.prediction.gaussian_process import Covariance, Fit, Places

__all__ = ["Mixture", "Said"]

_LEAST_SHARE = 0.02  # of work in a run time


class Said(NamedTuple):
    """What each process says of logarithms of work elsewhere: rows are processes, last columns places.

    Attributes:
        means: of the logarithms.
        variances: of the same, without noise.
        halves: factors' inverses times the scaled covariances with the runs, one after another.
    """

    means: NDArray[np.float64]
    variances: NDArray[np.float64]
    halves: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Mixture:
    """Kernels and start-ups that explain runs: see `Fit`, of which each array has a row for each.

    Attributes:
        covariance: what was likely before the runs.
        places: of the runs.
        lengths: of the kernels' bends, each once.
        coefficients: of the kernels, by the columns of `Covariance.basis`.
        noise: variances of each run by itself.
        parts: how likely each is beside the likeliest one.
        log_startups: logarithms of seconds, minus infinity for none.
        shares: of work in each run time.
        inverses: those of the factors, of the runs from which all was learnt.
        later: rows that the runs since have added to them: so nothing large is copied for one more.
        weights: the scaled covariances' inverses times the scaled logarithms.
    """

    covariance: Covariance
    places: Places
    lengths: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    noise: NDArray[np.float64]
    parts: NDArray[np.float64]
    log_startups: NDArray[np.float64]
    shares: NDArray[np.float64]
    inverses: NDArray[np.float64]
    later: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, covariance: Covariance, places: Places, fits: Sequence[Fit]) -> Mixture:
        """Return the mixture of those fits that are likely enough to count."""
        likely = [fit for fit in fits if fit.part > LEAST_PART]
        lengths = sorted({fit.kernel.length for fit in likely if fit.kernel.curved})
        with np.errstate(divide="ignore"):
            log_startups = np.log([fit.work.startup for fit in likely])
        return cls(
            covariance,
            places,
            np.array(lengths),
            np.array([fit.kernel.coefficients(lengths) for fit in likely]),
            np.array([fit.kernel.noise**2 for fit in likely]),
            np.array([fit.part for fit in likely]),
            log_startups,
            np.array([fit.work.shares for fit in likely]),
            np.array([fit.inverse for fit in likely]),
            np.empty((len(likely), 0, len(places.order))),
            np.array([fit.weights for fit in likely]),
        )

    def said(self, places: Places) -> Said:
        """Return what each process says of the work at some places."""
        basis = self.covariance.basis(places, self.places, self.lengths)
        between = (self.coefficients @ basis.reshape(len(basis), -1)).reshape(-1, *basis.shape[1:])
        cross = between * self.shares[:, np.newaxis]
        by_run, first = cross.transpose(0, 2, 1), self.inverses.shape[1]
        halves = np.empty(by_run.shape)
        np.matmul(self.inverses, by_run[:, :first], out=halves[:, :first])
        np.matmul(self.later, by_run, out=halves[:, first:])
        own = self.covariance.own(places) + self.coefficients[:, 1:].sum(axis=1, keepdims=True)
        variances = np.maximum(own - np.einsum("frp,frp->fp", halves, halves), 0.0)
        return Said((cross @ self.weights[:, :, np.newaxis])[:, :, 0], variances, halves)

    def whole(
        self, said: Said, scaling: NDArray[np.float64], farthest: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of logarithms of whole run times, with noise.

        Args:
            said: of the work.
            scaling: logarithm of what the work is multiplied by at each place.
            farthest: where logarithms of work end.
        """
        work = np.minimum(np.maximum(said.means + scaling, -farthest), farthest)
        whole = np.logaddexp(work, self.log_startups[:, np.newaxis])
        variances = np.exp(2 * (work - whole)) * said.variances + self.noise[:, np.newaxis]
        parts = self.parts / self.parts.sum()
        mean = parts @ whole
        return mean, parts @ (variances + (whole - mean) ** 2)

    def then(self, place: Places, said: Said, scaling: float, seconds: float) -> Mixture:
        """Return it with one more run.

        Args:
            place: of the run.
            said: what was said of its work.
            scaling: logarithm of what the work is multiplied by there.
            seconds: run time. One that is shorter than a start-up says next to nothing of the work.
        """
        shares = np.maximum(1 - np.exp(self.log_startups) / seconds, _LEAST_SHARE)
        logs = np.log(shares * seconds) - scaling
        half = shares[:, np.newaxis] * said.halves[:, :, 0]
        deviations = np.sqrt(shares**2 * said.variances[:, 0] + self.noise)
        off = shares * (logs - said.means[:, 0]) / deviations
        likelihoods = np.log(self.parts) - 0.5 * off**2 - np.log(deviations)
        parts = np.exp(likelihoods - likelihoods.max())
        first, count = self.inverses.shape[1], len(self.places.order)
        below = (half[:, np.newaxis, first:] @ self.later)[:, 0]
        below[:, :first] += (half[:, np.newaxis, :first] @ self.inverses)[:, 0]
        below /= -deviations[:, np.newaxis]
        later = np.zeros((len(parts), count - first + 1, count + 1))
        later[:, :-1, :-1], later[:, -1, :-1], later[:, -1, -1] = self.later, below, 1 / deviations
        weights = np.column_stack((self.weights + off[:, np.newaxis] * below, off / deviations))
        grown = replace(
            self,
            places=self.places.then(place),
            parts=parts,
            shares=np.column_stack((self.shares, shares)),
            later=later,
            weights=weights,
        )
        likely = parts > LEAST_PART
        return grown if likely.all() else grown.some(likely)

    def some(self, which: NDArray[np.bool_]) -> Mixture:
        """Return some of the processes."""
        return replace(
            self,
            coefficients=self.coefficients[which],
            noise=self.noise[which],
            parts=self.parts[which],
            log_startups=self.log_startups[which],
            shares=self.shares[which],
            inverses=self.inverses[which],
            later=self.later[which],
            weights=self.weights[which],
        )
