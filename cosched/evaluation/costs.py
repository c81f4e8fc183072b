"""Costs of bytes: between processor and memory, and in messages.

Start at `Memory` and `MessageCost`; `hardware.py` reads them from HMCL.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cosched.language.vocabulary import CURVES, MEMORY_GROUP, MEMORY_LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["LinearCost", "Memory", "MessageCost", "PiecewiseCost", "SizeCost", "described_memory"]


_MAIN, _CURVE = "main", CURVES[MEMORY_GROUP].name
_LEAST = 1.0  # bytes; a logarithm needs more than none


@dataclass(frozen=True, slots=True)
class Memory:
    """Caches and main memory.

    Attributes:
        levels: names, the nearest to the processor first: those of the caches that there are, and `main`.
        sizes: bytes that each cache holds, ascending.
        a_byte: microseconds for each byte of each level, as many as levels: one more than sizes.
        curve: (bytes gone over, bytes a microsecond), ascending; where there is one, it decides, and not the levels.
    """

    levels: tuple[str, ...]
    sizes: tuple[float, ...]
    a_byte: tuple[float, ...]
    curve: tuple[tuple[float, float], ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of what `costlier` can change."""
        return (_CURVE,) if self.curve else self.levels

    def time(self, volume: float | Floats, working_set: float | Floats) -> float | Floats:
        """Return the microseconds in which `volume` bytes move while `working_set` bytes are gone over."""
        if self.curve:
            return volume / self._rate(working_set)
        if isinstance(working_set, np.ndarray):
            return volume * np.take(self.a_byte, np.searchsorted(self.sizes, working_set))
        return volume * self.a_byte[bisect_left(self.sizes, working_set)]

    def _rate(self, working_set: float | Floats) -> float | Floats:
        """Return bytes a microsecond: linear in the logarithm of the size between points, level beyond them."""
        sizes, rates = zip(*self.curve, strict=True)
        if isinstance(working_set, np.ndarray):
            found: Floats = np.interp(np.log(np.maximum(working_set, _LEAST)), np.log(np.maximum(sizes, _LEAST)), rates)
            return found
        return float(np.interp(math.log(max(working_set, _LEAST)), np.log(np.maximum(sizes, _LEAST)), rates))

    def costlier(self, level: str, factor: float) -> Memory:
        """Return the same with each byte of one part taking `factor` times as long."""
        if level == _CURVE and self.curve:
            return replace(self, curve=tuple((size, rate / factor) for size, rate in self.curve))
        costs = (cost * factor if name == level else cost for name, cost in zip(self.levels, self.a_byte, strict=True))
        return replace(self, a_byte=tuple(costs))


def described_memory(settings: Mapping[str, float | str], curve: tuple[tuple[float, float], ...] = ()) -> Memory:
    """Return what the settings and the curve of a checked group `memory` say: bytes and bytes a microsecond."""
    values = {name: value for name, value in settings.items() if isinstance(value, float)}
    caches = [
        (size.removesuffix("_size"), values[size], 1 / values[bandwidth])
        for size, bandwidth in MEMORY_LEVELS
        if size in values
    ]
    return Memory(
        (*(name for name, _, _ in caches), _MAIN),
        tuple(size for _, size, _ in caches),
        (*(cost for _, _, cost in caches), 1 / (values["bandwidth"] if "bandwidth" in values else curve[-1][1])),
        curve,
    )


@dataclass(frozen=True, slots=True)
class LinearCost:
    """Cost of x bytes in microseconds, linear on either side of a bytes.

    It is b + c·x up to a bytes, and d + e·x above. The coefficients are HMCL's DD_*_A to DD_*_E.
    """

    a: float
    b: float
    c: float
    d: float
    e: float

    def __call__(self, size: float) -> float:
        """Return the cost of `size` bytes, in microseconds."""
        return self.b + self.c * size if size <= self.a else self.d + self.e * size

    def times(self, sizes: Floats) -> Floats:
        """Return the cost of each size."""
        short = sizes <= self.a
        if short.all():
            return self.b + self.c * sizes
        return np.where(short, self.b + self.c * sizes, self.d + self.e * sizes)

    def latency(self, sizes: Floats) -> Floats:
        """Return the part of `times` that does not depend on the size."""
        return np.where(sizes <= self.a, self.b, self.d)

    def costlier(self, what: str, factor: float) -> LinearCost:
        """Return the same with each `message` or each `byte` costing `factor` times as much."""
        if what == "message":
            return replace(self, b=self.b * factor, d=self.d * factor)
        return replace(self, c=self.c * factor, e=self.e * factor)


@dataclass(frozen=True, slots=True)
class PiecewiseCost:
    """Cost of x bytes in microseconds, linear between points.

    It is level before the first point, and goes on beyond the last as between the last two.

    Attributes:
        upto: bytes up to which each line but the last holds, ascending.
        base: microseconds of no bytes on each line, one more than upto.
        a_byte: microseconds for each byte on each line.
    """

    upto: tuple[float, ...]
    base: tuple[float, ...]
    a_byte: tuple[float, ...]

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> PiecewiseCost:
        """Return the cost through at least two points."""
        slopes = [(later[1] - first[1]) / (later[0] - first[0]) for first, later in pairwise(points)]
        bases = [cost - slope * size for (size, cost), slope in zip(points, slopes, strict=False)]
        return cls(tuple(size for size, _ in points[:-1]), (points[0][1], *bases), (0.0, *slopes))

    def part(self, share: float) -> PiecewiseCost:
        """Return a part of the cost of every size."""
        return replace(self, base=tuple(share * x for x in self.base), a_byte=tuple(share * x for x in self.a_byte))

    def __call__(self, size: float) -> float:
        """Return the cost of `size` bytes, in microseconds."""
        line = bisect_left(self.upto, size)
        return max(self.base[line] + self.a_byte[line] * size, 0.0)

    def times(self, sizes: Floats) -> Floats:
        """Return the cost of each size."""
        line = np.searchsorted(self.upto, sizes)
        return np.maximum(np.take(self.base, line) + np.take(self.a_byte, line) * sizes, 0.0)

    def latency(self, sizes: Floats) -> Floats:
        """Return the cost of no bytes, at most that of the size."""
        return np.minimum(self.base[0], self.times(sizes))

    def costlier(self, what: str, factor: float) -> PiecewiseCost:
        """Return the same with each `message` or each `byte` costing `factor` times as much."""
        empty = self.base[0]
        if what == "message":
            return replace(self, base=tuple(x + (factor - 1) * empty for x in self.base))
        scaled = tuple(empty + (x - empty) * factor for x in self.base)
        return replace(self, base=scaled, a_byte=tuple(x * factor for x in self.a_byte))


SizeCost = LinearCost | PiecewiseCost


@dataclass(frozen=True, slots=True)
class MessageCost:
    """The three parts of a message: the network's, the sender's and the receiver's."""

    transfer: SizeCost
    send: SizeCost
    receive: SizeCost
