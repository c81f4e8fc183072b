"""A task's predicted run time on 1…N hosts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from cosched.errors import UserError

__all__ = ["Profile", "Source"]

_LONGEST = 10 * 365 * 86400.0


class Source(StrEnum):
    """Who answered "how long on n hosts?"."""

    MODEL = "model"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Profile:
    """Predicted run time by number of hosts. Neither monotone nor convex: more hosts may well be slower.

    Attributes:
        seconds: run time in seconds on 1, 2, … hosts; infinite where that count cannot be used.
        source: who predicted.
        hardware: name of the resource model it was evaluated on; empty for the user's own figures.
    """

    seconds: tuple[float, ...]
    source: Source
    hardware: str = ""

    def __post_init__(self) -> None:
        if not any(math.isfinite(value) for value in self.seconds):
            raise UserError("the prediction allows no host count at all: give a time for at least one")
        for count, value in enumerate(self.seconds, start=1):
            if math.isnan(value) or value <= 0 or (math.isfinite(value) and value > _LONGEST):
                raise UserError(f"the prediction for {count} hosts is {value!r} s: "
                                f"it must be above 0 and at most {_LONGEST:.0f}")  # fmt: skip

    def on(self, count: int) -> float:
        """Return the run time on `count` hosts in seconds, infinite where that many cannot be used."""
        return self.seconds[count - 1] if 1 <= count <= len(self.seconds) else math.inf

    @property
    def shortest(self) -> float:
        """The shortest run time over all host counts, in seconds."""
        return min(self.seconds)

    @property
    def best_count(self) -> int:
        """The smallest host count with the shortest run time."""
        return self.seconds.index(self.shortest) + 1

    def scaled(self, factor: float) -> Profile:
        """Return the profile with every time multiplied by `factor` (> 0)."""
        return Profile(tuple(value * factor for value in self.seconds), self.source, self.hardware)

    def limited(self, most: int, least: int = 1) -> Profile:
        """Return the profile with host counts outside least…most made impossible and what lies above `most` cut."""
        kept = (value if count >= least else math.inf for count, value in enumerate(self.seconds[:most], start=1))
        return Profile(tuple(kept), self.source, self.hardware)
