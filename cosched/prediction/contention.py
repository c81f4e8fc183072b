"""Programs side by side on a host contend for its memory and caches, and run longer than alone. Start at `Contention`.

The run time grows by the factor e^(exponent · part), where `part` is the part of the host's cores that others have. The
exponent is the median slope between all pairs of runs (Theil, "A rank-invariant method of linear and polynomial
regression analysis", 1950; Sen, 1968): so neither runs alone nor runs on full hosts are needed, only different ones.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DEFAULT_CLASS",
    "LARGEST_SLOWDOWN",
    "Contention",
    "RunBeside",
    "exponent_of",
    "left_beside",
    "stated_slowdown",
    "times_longer",
]

LARGEST_SLOWDOWN = 3.0
"""On a host that others fill: what shares a memory of n channels is seldom slower by more."""

DEFAULT_CLASS = "default"
"""All classes of hosts for which no slowdown of their own is stated."""


_KEPT = 30  # newest runs; there are 435 pairs of them
_APART = 0.2  # part of a host by which two runs must differ, else the slope between them is noise
_LARGEST = math.log1p(LARGEST_SLOWDOWN)
_SHORTEST = 5.0  # seconds; reports of begin and end come late by up to one, and shorter runs are mostly start-up
_FEWEST_PAIRS = 16  # as four runs with few beside them and four with many have


@dataclass(frozen=True, slots=True)
class RunBeside:
    """One run, with what was beside it.

    Attributes:
        part: part of its host's cores that others had, on average over the run; of several hosts the fullest one's.
        ratio: measured seconds / predicted ones, these without any correction.
    """

    part: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Contention:
    """Learnt contention of an application on one class of hosts.

    Attributes:
        runs: the newest, the last one last.
        exponent: 0 or more; None as long as too few runs have differed in what was beside them. It stays where the
            newest do not.
    """

    runs: tuple[RunBeside, ...] = ()
    exponent: float | None = None

    @property
    def slowdown(self) -> float | None:
        """Return the slowdown on a host that others fill, 0.08 for 8 %; None where it is not known."""
        return None if self.exponent is None else math.expm1(self.exponent)

    def learn(self, part: float, predicted: float, actual: float) -> Contention:
        """Return what is known after one more run.

        Args:
            part: part of its host that others had, 0 to 1.
            predicted: uncorrected seconds, > 0.
            actual: measured seconds; too short ones teach nothing.
        """
        if not _SHORTEST <= actual < math.inf:
            return self
        runs = (*self.runs, RunBeside(part, actual / predicted))[-_KEPT:]
        found = _exponent(runs)
        return Contention(runs, self.exponent if found is None else found)


def _exponent(runs: tuple[RunBeside, ...]) -> float | None:
    """Return the median slope of the ratios' logarithms over the parts; None where too little is known.

    No run may be in more than a third of the pairs, and two thirds of the slopes must say that runs are slower beside
    others: so no stray run makes an exponent, or undoes one.
    """
    pairs = [(one, other) for one, other in combinations(runs, 2) if abs(one.part - other.part) >= _APART]
    if len(pairs) < _FEWEST_PAIRS or 3 * max(Counter(map(id, chain(*pairs))).values()) > len(pairs):
        return None
    slopes = sorted(math.log(one.ratio / other.ratio) / (one.part - other.part) for one, other in pairs)
    if 3 * sum(slope > 0 for slope in slopes) < 2 * len(pairs):
        return 0.0
    middle = len(slopes) // 2
    return min((slopes[middle] + slopes[~middle]) / 2, _LARGEST)


def times_longer(exponent: float, part: float) -> float:
    """Return the factor by which a run beside others is longer than alone, where they have a part of its host."""
    return math.exp(exponent * part) if exponent else 1.0


def exponent_of(slowdown: float) -> float:
    """Return the exponent of a stated slowdown on a host that others fill: 0.08 for 8 %, 0 or more."""
    return min(math.log1p(slowdown), _LARGEST)


def stated_slowdown(stated: Mapping[str, float], host_class: str) -> float:
    """Return the slowdown that is stated for a class of hosts, by its name or for all others as "default"; else 0."""
    return stated.get(host_class, stated.get(DEFAULT_CLASS, 0.0))


def left_beside(cores: int, memory: int, host_cores: int | None, host_memory: int | None) -> float:
    """Return which part of a host's cores others can have beside a task.

    Args:
        cores: that the task takes.
        memory: that the task takes, MiB.
        host_cores: that the host has; None where nobody says, then it counts as one core.
        host_memory: MiB that the host has; None where nobody says.
    """
    if host_memory is not None and 0 < host_memory <= memory:
        return 0.0
    return max(1 - cores / (host_cores or 1), 0.0)
