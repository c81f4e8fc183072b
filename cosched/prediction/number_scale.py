"""A number scale says how far apart the numbers of runs are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NumberScale"]

_TINY = 1e-3  # of the least number seen: as far below is taken what is not above 0, unlike all others
_MOST_UNITS = 1e300  # no number is taken to be larger; beyond 1e308 none is finite


@dataclass(frozen=True, slots=True)
class NumberScale:
    """How a number is taken: by its logarithm where it always was above 0.

    Attributes:
        least: the least one that was seen, where all were above 0; else 0.
        unit: the usual size of the others, of which the inverse hyperbolic sine is taken.
    """

    least: float
    unit: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> NumberScale:
        """Return the scale of numbers that were seen."""
        sizes = [abs(number) for number in numbers if number]
        return cls(max(min(numbers), 0.0), median(sizes) if sizes else 1.0)

    def fits(self, number: float) -> bool:
        """Return whether a number is of their kind: above 0 where all were."""
        return number > 0 or not self.least

    def place(self, number: float) -> float:
        """Return the place of a number on the scale."""
        if self.least:
            return math.log(max(number, _TINY * self.least))
        return math.asinh(min(max(number / self.unit, -_MOST_UNITS), _MOST_UNITS))
