"""What it costs to move bytes between processor and memory: a step function of how much is gone over."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.language.names import MEMORY_LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Memory", "described_memory"]

_MAIN = "main"


@dataclass(frozen=True, slots=True)
class Memory:
    """Caches and main memory.

    Attributes:
        levels: names, the nearest to the processor first: those of the caches that there are, and `main`.
        sizes: bytes that each cache holds, ascending.
        a_byte: microseconds for each byte of each level, as many as levels: one more than sizes.
    """

    levels: tuple[str, ...]
    sizes: tuple[float, ...]
    a_byte: tuple[float, ...]

    def time(self, volume: float, working_set: float) -> float:
        """Return the microseconds in which `volume` bytes move while `working_set` bytes are gone over."""
        return volume * self.a_byte[bisect_left(self.sizes, working_set)]

    def times(self, volume: float | Floats, working_set: float | Floats) -> float | Floats:
        """Return the same for arrays, or for numbers and arrays mixed."""
        if isinstance(working_set, np.ndarray):
            return volume * np.take(self.a_byte, np.searchsorted(self.sizes, working_set))
        return volume * self.a_byte[bisect_left(self.sizes, working_set)]

    def costlier(self, level: str, factor: float) -> Memory:
        """Return the same with each byte of one level taking `factor` times as long."""
        costs = (cost * factor if name == level else cost for name, cost in zip(self.levels, self.a_byte, strict=True))
        return replace(self, a_byte=tuple(costs))


def described_memory(settings: Mapping[str, float | str]) -> Memory:
    """Return what the settings of a checked group `memory` say: bytes and bytes a microsecond."""
    values = {name: value for name, value in settings.items() if isinstance(value, float)}
    caches = [
        (size.removesuffix("_size"), values[size], 1 / values[bandwidth])
        for size, bandwidth in MEMORY_LEVELS
        if size in values
    ]
    return Memory(
        (*(name for name, _, _ in caches), _MAIN),
        tuple(size for _, size, _ in caches),
        (*(cost for _, _, cost in caches), 1 / values["bandwidth"]),
    )
