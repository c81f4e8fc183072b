"""Measured costs become lines, by sizes in bytes, and flat steps.

The breakpoints are those with the least sum of squared relative errors, found by dynamic programming (Bellman 1961).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Fit = Callable[[int, int], tuple[float, float]]

__all__ = ["CostLine", "chosen_points", "fitted_lines", "flat_steps"]

_FEWEST = 3  # points of a line
_CLOSE, _MOST_POINTS = 0.03, 16  # of lines between points: how far off at most, and how many
_GAIN = 0.8  # another step must leave at most so much of the error


@dataclass(frozen=True, slots=True)
class CostLine:
    """Costs of the sizes up to one, the last line's without end.

    Attributes:
        upto: bytes.
        base: microseconds of an empty message.
        a_byte: microseconds.
    """

    upto: float
    base: float
    a_byte: float


def fitted_lines(sizes: Sequence[float], costs: Sequence[float], scale: Sequence[float], count: int) -> list[CostLine]:
    """Return `count` lines through costs, or fewer where there are too few points.

    No line falls with the size, and none is less than nothing.

    Args:
        sizes: bytes, ascending.
        costs: microseconds of each size.
        scale: what an error is measured against, for each size: where a cost is part of another one, that.
        count: at most so many.
    """
    x, y, of = (np.asarray(values, np.float64) for values in (sizes, costs, scale))

    def fit(first: int, last: int) -> tuple[float, float]:
        part = slice(first, last)
        return _line(x[part], y[part], of[part], float(x[max(first - 1, 0)]))

    def error(first: int, last: int) -> float:
        base, a_byte = fit(first, last)
        part = slice(first, last)
        return float((((base + a_byte * x[part] - y[part]) / of[part]) ** 2).sum())

    ends = _best_ends(len(x), min(count, max(len(x) // _FEWEST, 1)), _FEWEST, error)
    begins = [0, *ends[:-1]]
    lines = [(float(x[end - 1]), *fit(begin, end)) for begin, end in zip(begins, ends, strict=True)]
    return [CostLine(*line) for line in lines]


def flat_steps(values: Sequence[float], most: int) -> list[tuple[int, float]]:
    """Return (end, median) of runs of nearly equal values, at most `most` runs.

    There is one more only where it explains a good part of what the others leave.
    """
    logs = np.log(np.asarray(values, np.float64))

    def error(first: int, last: int) -> float:
        return float(((logs[first:last] - np.median(logs[first:last])) ** 2).sum())

    ends = [len(logs)]
    for count in range(2, min(most, len(logs) // 2) + 1):
        more = _best_ends(len(logs), count, 2, error)
        if _total(more, error) >= _GAIN * _total(ends, error):
            break
        ends = more
    begins = [0, *ends[:-1]]
    return [(end, float(np.exp(np.median(logs[begin:end])))) for begin, end in zip(begins, ends, strict=True)]


def _total(ends: Sequence[int], error: Callable[[int, int], float]) -> float:
    return sum(error(begin, end) for begin, end in zip([0, *ends[:-1]], ends, strict=True))


def _best_ends(points: int, count: int, fewest: int, error: Callable[[int, int], float]) -> list[int]:
    """Return where `count` parts of points end that have the least error together."""
    best: list[dict[int, tuple[float, list[int]]]] = [{0: (0.0, [])}]
    for _ in range(count):
        found: dict[int, tuple[float, list[int]]] = {}
        for begin, (before, ends) in best[-1].items():
            for end in range(begin + fewest, points + 1):
                total = before + error(begin, end)
                if end not in found or total < found[end][0]:
                    found[end] = (total, [*ends, end])
        best.append(found)
    return best[count][points][1] if points in best[count] else [points]


def _line(x: Floats, y: Floats, of: Floats, begin: float) -> tuple[float, float]:
    """Return base and slope with the least relative error.

    Neither is the slope below 0, nor the line where it begins.
    """
    weighted = np.stack([1 / of, x / of], axis=1)
    (base, slope), *_ = np.linalg.lstsq(weighted, y / of, rcond=None)
    if slope < 0:
        base, slope = float((y / of**2).sum() / (1 / of**2).sum()), 0.0
    elif base + slope * begin < 0:
        shifted = (x - begin) / of
        slope = max(float((shifted * y / of).sum() / max((shifted**2).sum(), 1e-300)), 0.0)
        base = -slope * begin * (1 - 1e-9)
    return float(base) or 0.0, float(slope)


def chosen_points(sizes: Sequence[float], costs: Sequence[float], scale: Callable[[float], float]) -> list[int]:
    """Return the places of few points between which straight lines are close to all.

    The first and the last are among them; then the one that is farthest off, as a part of its cost, and so on.

    Args:
        sizes: ascending.
        costs: above 0.
        scale: of the axis on which the lines are straight.
    """
    x, y = np.array([scale(size) for size in sizes]), np.asarray(costs, np.float64)
    chosen = sorted({0, len(x) - 1})
    while len(chosen) < min(_MOST_POINTS, len(x)):
        off = np.abs(np.interp(x, x[chosen], y[chosen]) / y - 1)
        if off.max() <= _CLOSE:
            break
        chosen = sorted({*chosen, int(off.argmax())})
    return chosen
