"""Samples of a test become one value with an interval.

Start at `Samples`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Samples", "ratio_interval"]

_RESAMPLED = 200  # of a bootstrap (Efron 1979)
_AT = 0.25  # the minimum is lower the longer one looks, and the mean is moved by whatever disturbs


class Samples:
    """Samples of several tests by name; each test's value is its lower quartile."""

    def __init__(self, values: Mapping[str, Sequence[float]] | None = None) -> None:
        """Begin with the samples of earlier runs, if there are any."""
        self._values = {name: list(several) for name, several in (values or {}).items()}

    def add(self, name: str, value: float) -> None:
        """Take a sample in."""
        self._values.setdefault(name, []).append(value)

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the tests."""
        return iter(self._values)

    def __len__(self) -> int:
        """Return the number of tests."""
        return len(self._values)

    def of(self, name: str) -> Sequence[float]:
        """Return the samples of a test in the order in which they came."""
        return self._values[name]

    def value(self, name: str) -> float:
        """Return the value of a test."""
        return float(np.quantile(self._values[name], _AT))

    def values(self) -> dict[str, float]:
        """Return the values of all tests."""
        return {name: self.value(name) for name in self._values}

    def width(self, name: str) -> float:
        """Return the width of a value's 95 % interval, as a part of the value."""
        value = self.value(name)
        low, high = np.quantile(_resampled(self._values[name]), (0.025, 0.975))
        return float((high - low) / value) if value > 0 else 0.0

    def spread(self, names: Iterable[str]) -> float:
        """Return the median width of several tests."""
        return float(np.median([self.width(name) for name in names]))


def ratio_interval(old: Sequence[float], new: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the new value ÷ the old one."""
    low, high = np.quantile(_resampled(new) / _resampled(old), (0.025, 0.975))
    return float(low), float(high)


def _resampled(values: Sequence[float]) -> NDArray[np.float64]:
    """Return the values of as many samples drawn with replacement; the same ones each time."""
    drawn = np.random.default_rng(len(values)).integers(0, len(values), (_RESAMPLED, len(values)))
    return np.asarray(np.quantile(np.asarray(values)[drawn], _AT, axis=1))
