"""Predictions are held against runs that they were not made from.

Start at `split_of` and `judged`; `holdout.py` makes models without some runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.errors import UserError
from cosched.language.vocabulary import PROCESSORS
from cosched.modelling.points import points_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.modelling.points import TimedRun

__all__ = ["SPLITS", "Foretold", "SeenBox", "SplitErrors", "judged", "read_seen"]

SPLITS = ("inside", "ends", "2x", "4x", "farther", "new host count", "all")
"""Splits of runs by where they lie to what a model has seen, the nearest first."""

_STATED = 0.9  # part of runs that a range holds
_SURE = 0.05  # how unlikely so few are held, where the stated error were right


class Foretold(NamedTuple):
    """A run with its prediction: measured seconds, predicted ones, and their range.

    `other` is a second range, by jackknife+; None where there is none.
    """

    run: TimedRun
    seconds: float
    low: float
    high: float
    other: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class SeenBox:
    """A box holds the values of parameters that a model was made from.

    Attributes:
        limits: by parameter the least and the greatest value.
        processors: the numbers of processors; empty where it does not say.
    """

    limits: Mapping[str, tuple[float, float]]
    processors: frozenset[int]

    def split(self, run: TimedRun) -> str:
        """Return the split of a run; one that is larger or smaller by up to 2 or 4 times is in `2x` or `4x`."""
        if self.processors and run.processors not in self.processors:
            return "new host count"
        excess, end = 1.0, False
        for name, (low, high) in self.limits.items():
            value = run.parameters.get(name, low)
            end |= value in (low, high) and low < high
            if not low <= value <= high:
                excess *= max(value / high, low / value) if value > 0 else math.inf
        if excess > 1:
            return "2x" if excess <= 2 * (1 + 1e-9) else "4x" if excess <= 4 * (1 + 1e-9) else "farther"
        return "ends" if end else "inside"


@dataclass(frozen=True, slots=True)
class SplitErrors:
    """Errors of the predictions of one split, as parts of the measured times.

    Attributes:
        split: its name.
        runs: how many.
        points: at how many points they were.
        mean: mean error.
        median: median error.
        worst: largest error.
        bias: mean of what the prediction is too long by.
        coverage: part of the runs within the stated range.
        width: median of the range's upper end over its lower one.
        other: coverage and width of the ranges by jackknife+.
        too_small: whether the stated error is surely too small.
    """

    split: str
    runs: int
    points: int
    mean: float
    median: float
    worst: float
    bias: float
    coverage: float
    width: float
    other: tuple[float, float] | None
    too_small: bool


def read_seen(text: str, file: str) -> SeenBox:
    """Return what the option `seen` of a model says.

    Raises:
        UserError: it is not as `model fit` writes it.
    """
    limits: dict[str, tuple[float, float]] = {}
    counts: frozenset[int] = frozenset()
    try:
        for part in text.split(","):
            name, *values = part.split()
            if name == PROCESSORS:
                counts = frozenset(map(int, values))
            else:
                low, high = map(float, values)
                limits[name] = (low, high)
    except ValueError as error:
        raise UserError(f"{file}: its option seen, {text[:80]!r}, was changed: fit the model again") from error
    return SeenBox(limits, counts)


def judged(split: str, foretold: Sequence[Foretold]) -> SplitErrors:
    """Return the errors of the predictions of a split, which has runs."""
    off = np.array([each.seconds / each.run.seconds - 1 for each in foretold])
    held = np.array([each.low <= each.run.seconds <= each.high for each in foretold])
    points = len(points_of([each.run for each in foretold]))
    others = [each.other for each in foretold if each.other is not None]
    other = None
    if len(others) == len(foretold):
        inside = [low <= each.run.seconds <= high for each, (low, high) in zip(foretold, others, strict=True)]
        other = float(np.mean(inside)), float(np.median([high / low for low, high in others]))
    return SplitErrors(
        split,
        len(foretold),
        points,
        float(np.abs(off).mean()),
        float(np.median(np.abs(off))),
        float(np.abs(off).max()),
        float(off.mean()),
        float(held.mean()),
        float(np.median([each.high / each.low for each in foretold])),
        other,
        _fewer_by_chance(round(float(held.mean()) * points), points) < _SURE,
    )


def _fewer_by_chance(held: int, of: int) -> float:
    """Return how likely no more are held where nine in ten are; runs at one point err alike and count as one."""
    odds = math.log(_STATED), math.log(1 - _STATED)
    ways = (math.lgamma(of + 1) - math.lgamma(count + 1) - math.lgamma(of - count + 1) for count in range(held + 1))
    return sum(math.exp(way + count * odds[0] + (of - count) * odds[1]) for count, way in enumerate(ways))
