"""Times of copies become caches and main memory, by the curve alone.

What a virtual machine says of its caches need not be what its programs get.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.measurement.segments import chosen_points, flat_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MemoryLevels", "memory_levels", "working_sets"]

_SMALLEST, _LARGEST = 16 << 10, 256 << 20
_CACHES = 3  # as HMCL has them


@dataclass(frozen=True, slots=True)
class MemoryLevels:
    """Caches and main memory.

    Attributes:
        caches: bytes and bytes a microsecond of each cache, the nearest first.
        main: bytes a microsecond of main memory.
        curve: (bytes of the working set, bytes a microsecond), of few sizes.
    """

    caches: tuple[tuple[int, float], ...]
    main: float
    curve: tuple[tuple[int, float], ...]


def working_sets(available: int) -> list[int]:
    """Return the bytes of sets to be measured: a quarter of the memory at most."""
    sizes = []
    size = _SMALLEST
    while size <= min(_LARGEST, available // 4):
        sizes += [size, size * 3 // 2]
        size *= 2
    return sizes


def memory_levels(rates: Mapping[int, float]) -> MemoryLevels:
    """Return the levels of a curve.

    Args:
        rates: bytes a microsecond, read and written, by bytes of the working set.
    """
    sizes = sorted(rates)
    steps = flat_steps([rates[size] for size in sizes], _CACHES + 1)
    caches = tuple((sizes[end - 1], rate) for end, rate in steps[:-1])
    chosen = chosen_points(sizes, [rates[size] for size in sizes], math.log)
    return MemoryLevels(caches, steps[-1][1], tuple((sizes[k], rates[sizes[k]]) for k in chosen))
