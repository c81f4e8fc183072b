"""Past runs of one history: what may have changed among them, which are stray ones, how numbers bend them.

Start at `PastRuns`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.prediction.gaussian_process import Work, bent, most_likely

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.prediction.gaussian_process import Covariance, Fit, Places

__all__ = ["FEWEST_RUNS", "PastRuns"]

FEWEST_RUNS = 3
_SURE = 5.0  # logarithm of how much likelier a change must make the runs
_NEWEST = (2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48)  # runs since a change
_STRAY = 3.5  # times the usual distance from what the other runs say, beyond which a run is left out
_STRAY_AT_LEAST = math.log(1.5)  # and so much too long or too short
_FEWEST_BENT = 10  # runs from which it is learnt which numbers bend the times
_SEVERAL = 3  # numbers, that of hosts among them; of two, both bend often, and which one is told by few runs
_FEWEST_JUDGED = 5  # runs among which a stray one is looked for
_STARTUPS = 5  # longest ones that all runs may have whatever their size
_LONGEST_STARTUP = 0.97  # of the shortest run's time
_STARTUP_STEP = math.log(1.25)  # from one to the next; in seconds, so that one more run leaves them as they are
_RARE_STARTUP = 5.0  # a weak prior: logarithm of how much rarer each of them is than none
_FEWEST_PLACES = 2  # different ones, from which a start-up can be told from a power of the numbers


@dataclass(frozen=True, slots=True)
class PastRuns:
    """Runs to learn from.

    Attributes:
        places: see `Places`.
        logs: logarithms of run times.
        scaling: logarithms of what work is multiplied by.
    """

    places: Places
    logs: NDArray[np.float64]
    scaling: NDArray[np.float64]

    def of(self, which: NDArray[np.bool_]) -> PastRuns:
        """Return some of the runs."""
        return PastRuns(self.places.of(which), self.logs[which], self.scaling[which])

    def works(self) -> list[Work]:
        """Return the runs without each of the start-ups that they may have."""
        logs, seconds = self.logs - self.scaling, np.exp(self.logs)
        if len(np.unique(self.places.points.round(9), axis=0)) < _FEWEST_PLACES:
            return [Work.alone(logs)]
        found, shortest = [Work.alone(logs)], float(seconds.min())
        last = math.floor(math.log(_LONGEST_STARTUP * shortest) / _STARTUP_STEP)
        for startup in (math.exp(_STARTUP_STEP * number) for number in range(last - _STARTUPS + 1, last + 1)):
            shares = 1 - startup / seconds
            found.append(Work(logs + np.log(shares), shares, startup, _RARE_STARTUP))
        return found

    def since_change(self, covariance: Covariance) -> int:
        """Return how many runs there were since a change; 0 for no change.

        The likelihoods of both are compared (Rasmussen and Williams, 5.4); a single run may be a stray one.
        """
        places, count = replace(self.places, kinds=self.places.kinds.copy()), len(self.logs)
        logs = self.logs - self.scaling
        found = [(most_likely(covariance, places, logs) + _SURE, 0)]
        for newest in _NEWEST:
            if newest + FEWEST_RUNS <= count and self._seen_before(newest):
                places.kinds[:, 2] = np.arange(count) >= count - newest
                found.append((most_likely(covariance, places, logs), newest))
        return max(found)[1] if len(found) > 1 else 0

    def _seen_before(self, newest: int) -> bool:
        """Return whether most of the newest runs are of places like those before.

        Else it may be the places that make the difference.
        """
        points = self.places.points[:, :-1]
        before, after = points[:-newest], points[-newest:]
        inside = ((after >= before.min(axis=0) - 1e-9) & (after <= before.max(axis=0) + 1e-9)).all(axis=1)
        return bool(2 * inside.sum() > newest)

    def kept(self, fits: Sequence[Fit]) -> NDArray[np.bool_]:
        """Return which runs do not contradict all others.

        The only run of a new program contradicts none.
        """
        kept = np.ones(len(self.logs), bool)
        if len(kept) < _FEWEST_JUDGED:
            return kept
        residual = _best(fits).residuals()
        kept = np.abs(residual) <= max(_STRAY * float(np.median(np.abs(residual))), _STRAY_AT_LEAST)
        programs = self.places.kinds[:, 1]
        kept |= (programs[:, np.newaxis] == programs).sum(axis=1) == 1
        return kept if kept.sum() >= FEWEST_RUNS else np.ones(len(kept), bool)

    def bent(self, covariance: Covariance, fits: Sequence[Fit]) -> Covariance:
        """Find out which of several numbers bend the times: of most a power is all that there is."""
        if len(self.logs) < _FEWEST_BENT or len(covariance.bends) < _SEVERAL:
            return covariance
        best = _best(fits)
        return bent(covariance, self.places, best.work, best.kernel)


def _best(fits: Sequence[Fit]) -> Fit:
    return max(fits, key=lambda each: each.part)
