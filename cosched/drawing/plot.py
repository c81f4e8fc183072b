"""Lines with bands of uncertainty, drawn as SVG: scaling curves, results of experiments.

    picture = line_plot([Line("jacobi", hosts, seconds, low, high)], "jacobi", "hosts", "seconds")

The same lines give the same text, byte for byte. Colours are CSS variables (`--plot-1` …) with values for light and
dark; a page that gives a picture its own leaves the style out and puts `.plot` into its sheet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from cosched.drawing.svg import template, ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Line", "line_plot"]

_WIDTH, _HEIGHT = 640.0, 360.0  # of the plot, in SVG units
_COLOURS = 6
_LETTER = 6.5  # width of a letter at font size 11
_LEGEND = 10.0  # likewise in the legend, which phones show larger
_ALIKE = 1e-9  # values closer than this part of them are shown as one
_SMALLEST, _LARGEST = 1e-280, 1e280  # what is beyond is shown as 0 or not at all
_CROWD = 40  # points of a line above which they are drawn smaller


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Attributes:
        name: for the legend.
        x: ascending.
        y: as many; what is not finite leaves a gap, as does what a logarithmic axis has no place for.
        low: lower edge of the band around the line; None for no band.
        high: upper edge; None together with `low`.
        dashed: for a line to compare with.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float] | NDArray[np.float64]
    low: Sequence[float] | NDArray[np.float64] | None = None
    high: Sequence[float] | NDArray[np.float64] | None = None
    dashed: bool = False


def line_plot(
    lines: Sequence[Line],
    title: str,
    x_label: str,
    y_label: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
    styled: bool = True,
) -> str:
    """Return a plot as the text of an SVG file.

    Args:
        lines: lines in the order of the legend; may be empty.
        title: shown above the plot.
        x_label: under the axis.
        y_label: beside the axis.
        log_x: a logarithmic axis.
        log_y: likewise; a linear one begins at 0 where no value is negative.
        styled: False leaves the style to the page that the text is put into.

    Raises:
        ValueError: the columns of a line differ in length.
    """
    every = [_points(line, log_x, log_y) for line in lines]
    known = [point for points in every for point in points if point is not None]
    across = _Axis([point.x for point in known], _WIDTH, log_x)
    heights = [value for point in known for value in (point.low, point.y, point.high)]
    upwards = _Axis(heights if log_y or min(heights, default=0.0) < 0 else [0.0, *heights], _HEIGHT, log_y)
    legend = [line.name for line in lines]
    widest = max(map(len, legend), default=0) * _LEGEND + 40
    return template("plot.svg.j2").render(
        title=title,
        styled=styled,
        description=f"{y_label} by {x_label}: {', '.join(legend)}",
        margin=_margin(upwards.ticks),
        width=_WIDTH,
        height=_HEIGHT,
        x_ticks=[(across.at(value), _number(value)) for value in across.ticks],
        y_ticks=[(_HEIGHT - upwards.at(value), _number(value)) for value in upwards.ticks],
        x_label=x_label,
        y_label=y_label,
        lines=[
            _drawn(line, points, number, across, upwards)
            for number, (line, points) in enumerate(zip(lines, every, strict=True))
        ],
        columns=max(1, int(_WIDTH // widest)),
        column=widest,
    )


@dataclass(frozen=True, slots=True)
class _Point:
    x: float
    y: float
    low: float
    high: float


class _Axis:
    """An axis places values, in SVG units from its start."""

    def __init__(self, values: Sequence[float], length: float, logarithmic: bool) -> None:
        least, most = min(values, default=1.0), max(values, default=2.0)
        if most - least <= _ALIKE * max(abs(least), abs(most), _SMALLEST):
            middle = max(abs(least), abs(most)) or 1.0
            least, most = (least / 2, most * 2) if logarithmic else (least - middle / 2, most + middle / 2)
        self._scale: Callable[[float], float] = math.log10 if logarithmic else float
        self.ticks = _powers(least, most) if logarithmic else ticks(least, most, 8)
        if logarithmic and len(self.ticks) < 2:
            self.ticks = [value for value in ticks(least, most, 8) if value > 0]
        self._first, self._length = self._scale(least), length
        self._span = self._scale(most) - self._first

    def at(self, value: float) -> float:
        return (self._scale(value) - self._first) / self._span * self._length


def _powers(least: float, most: float) -> list[float]:
    """Return powers of ten, with 2 and 5 between where there is room."""
    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    digits = (1, 2, 5) if last - first <= 4 else (1,)
    every = max(1, (last - first) // 8)
    values = (digit * 10.0**power for power in range(first, last + 1, every) for digit in digits)
    return [value for value in values if least * (1 - 1e-9) <= value <= most * (1 + 1e-9)]


def _points(line: Line, log_x: bool, log_y: bool) -> list[_Point | None]:
    """Return the points of a line, None for each gap."""
    low, high = line.low if line.low is not None else line.y, line.high if line.high is not None else line.y
    found: list[_Point | None] = []
    for values in zip(line.x, line.y, low, high, strict=True):
        x, *heights = (0.0 if abs(value) < _SMALLEST else float(value) for value in values)
        there = all(abs(value) < _LARGEST for value in (x, *heights)) and not (log_x and x <= 0)
        found.append(_Point(x, *heights) if there and not (log_y and min(heights) <= 0) else None)
    return found


def _drawn(
    line: Line, points: Sequence[_Point | None], number: int, across: _Axis, upwards: _Axis
) -> dict[str, object]:
    runs = [list(run) for there, run in groupby(points, key=bool) if there]

    def path(run: Sequence[_Point | None], height: Callable[[_Point], float]) -> list[tuple[float, float]]:
        return [(across.at(p.x), _HEIGHT - upwards.at(height(p))) for p in run if p is not None]

    banded = line.low is not None or line.high is not None
    return {
        "name": line.name,
        "colour": number % _COLOURS + 1,
        "dashed": line.dashed or number // _COLOURS % 2 == 1,
        "paths": [path(run, lambda p: p.y) for run in runs],
        "bands": [path(run, lambda p: p.high) + path(run[::-1], lambda p: p.low) for run in runs] if banded else [],
        "radius": 3.0 if len(points) <= _CROWD else 1.5,
        "marks": list(_marks(line.name, [p for p in points if p is not None], banded, across, upwards)),
    }


def _marks(
    name: str, points: Sequence[_Point], banded: bool, across: _Axis, upwards: _Axis
) -> Iterator[tuple[float, float, str]]:
    """Give place and hover text of each point."""
    for point in points:
        text = f"{name}, {_number(point.x)}: {_number(point.y)}"
        if banded:
            text += f" ({_number(point.low)} to {_number(point.high)})"
        yield across.at(point.x), _HEIGHT - upwards.at(point.y), text


def _margin(values: Sequence[float]) -> float:
    return 34 + max((len(_number(value)) for value in values), default=1) * _LETTER


def _number(value: float) -> str:
    return f"{value:.6g}"
