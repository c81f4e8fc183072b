"""What tasks really took, turned into a factor on later predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Correction"]

_NEWEST = 0.2  # the newest run weighs at least this much, so that the factor follows a machine that changes
_LARGEST = 10.0  # one run may not say more than this: a stray measurement must not turn the plan over


@dataclass(frozen=True, slots=True)
class Correction:
    """The factor by which an application's model is wrong on a class of hosts, learned from its runs.

    A mean of log(actual / predicted): plain over the first runs, exponentially forgetting after that. The logarithm
    makes twice too long and twice too short cancel.

    Attributes:
        factor: what a raw prediction is multiplied by; 1 before the first run.
        runs: how many runs it was learned from.
    """

    factor: float = 1.0
    runs: int = 0

    def learn(self, predicted: float, actual: float) -> Correction:
        """Return the correction after one more run.

        Args:
            predicted: the model's own figure in seconds, before any correction; > 0.
            actual: measured run time in seconds; a run too short to measure (<= 0) teaches nothing.
        """
        if actual <= 0 or not math.isfinite(actual):
            return self
        ratio = min(max(actual / predicted, 1 / _LARGEST), _LARGEST)
        weight = max(1 / (self.runs + 1), _NEWEST)
        factor = math.exp((1 - weight) * math.log(self.factor) + weight * math.log(ratio))
        return Correction(factor, self.runs + 1)
