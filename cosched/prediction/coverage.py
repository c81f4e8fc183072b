"""Coverage of ranges: they are widened or narrowed until nine runs in ten stay within.

Adaptive conformal inference (Gibbs and Candès, NeurIPS 2021), on the logarithm of the width. Start at `Width`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Width"]

_WITHIN = 0.9
_STEP = 0.05  # of the logarithm, for each run: some fifty runs mend a range that is half as wide as it should be
_NARROWEST, _WIDEST = math.log(0.5), math.log(4.0)


@dataclass(frozen=True, slots=True)
class Width:
    """How much wider ranges must be than they are said to be.

    Attributes:
        log: logarithm of the factor.
    """

    log: float = 0.0

    @property
    def factor(self) -> float:
        """Factor of the deviation of the logarithm of a run time."""
        return math.exp(self.log)

    def learn(self, *, within: bool) -> Width:
        """Return the width after one more run that was within its range, or not."""
        moved = self.log + _STEP * (_WITHIN - 1 if within else _WITHIN)
        return Width(min(max(moved, _NARROWEST), _WIDEST))
