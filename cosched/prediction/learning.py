"""Learning as runs come: what runs of one key taught, and what one more of them changes.

Start at `LearntRuns`.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.prediction.history import FEWEST_RUNS, MOST_RUNS, History
from cosched.prediction.others.exponents import USUAL_NUMBER
from cosched.prediction.pooling import Pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.prediction.history import Run
    from cosched.prediction.others.exponents import Exponent

__all__ = ["LearntRuns"]

_ANEW = 1.1  # times as many runs as when all was learnt last, and it is learnt anew: 70 ms for 100 runs, or 140
_SURPRISING = 3.0  # deviations; what is as far off may be a stray run, or a change


@dataclass(frozen=True, slots=True)
class LearntRuns:
    """What runs of one key taught.

    Attributes:
        history: None where there are too few runs.
        stated: those runs of which something was foretold, to learn how far that is off; None where there are too few.
        count: how many runs there are.
        anew: how many there were when all was last learnt anew.
    """

    history: History | None = None
    stated: Pool | None = None
    count: int = 0
    anew: int = 0

    @classmethod
    def of(cls, runs: Sequence[Run], number: Exponent = USUAL_NUMBER) -> LearntRuns:
        """Learn from runs of one key, the newest last; only the newest ones count. See `History`."""
        runs = runs[-MOST_RUNS:]
        stated = [run for run in runs if run.stated is not None]
        pool = Pool(stated, number) if len(stated) >= FEWEST_RUNS else None
        history = pool.alone if pool is not None and len(stated) == len(runs) else None
        if history is None and len(runs) >= FEWEST_RUNS:
            history = History((replace(run, stated=None) for run in runs), number)
        return cls(history, pool, len(runs), len(runs))

    @property
    def room(self) -> int:
        """How many runs may be added before all is to be learnt anew."""
        if self.history is None or (self.stated is not None and self.stated.alone is not self.history):
            return 0
        return int(_ANEW * self.anew) - self.count

    def with_runs(self, runs: Sequence[Run]) -> LearntRuns | None:
        """Return it after newer runs; None where all is to be learnt anew: they are too many, or one surprises."""
        history, pool = self.history, self.stated
        if history is None or len(runs) > self.room:
            return None
        for run in runs:
            if not history.fits(run) or (run.stated is None) != (pool is None):
                return None
            if pool is None:
                history = copy(history)
                history.add(run)
            else:
                pool = copy(pool)
                pool.add(run)
                history = pool.alone
            off, deviation = history.foretold[-1] or (0.0, 0.0)
            if abs(off) > _SURPRISING * deviation:
                return None
        return LearntRuns(history, pool, self.count + len(runs), self.anew)
