"""What tasks really took, turned into a factor on later predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Correction", "Handover"]

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


# Longer is no hand-over any more but a manager in trouble, and says nothing about the next one. Seconds.
_LONGEST_HANDOVER = 60.0
_STEP = 0.05  # seconds; finer would turn every plan over for nothing


@dataclass(frozen=True, slots=True)
class Handover:
    """How long the resource manager takes from our decision to the start of a job, learned from its jobs.

    The hosts are spoken for meanwhile, so a plan that leaves it out promises ends that cannot be kept, and values short
    jobs on many hosts too highly.

    Attributes:
        mean: seconds, newer jobs weighing more.
        jobs: how many it was learned from.
    """

    mean: float = 0.0
    jobs: int = 0

    def learn(self, seconds: float) -> Handover:
        """Return the hand-over after one more job took so long to start."""
        weight = max(1 / (self.jobs + 1), _NEWEST)
        return Handover((1 - weight) * self.mean + weight * min(max(seconds, 0.0), _LONGEST_HANDOVER), self.jobs + 1)

    @property
    def seconds(self) -> float:
        """What to plan with, in whole steps."""
        return round(self.mean / _STEP) * _STEP
