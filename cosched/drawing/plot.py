"""Lines with bands of uncertainty, drawn as SVG: scaling curves, results of experiments.

    picture = line_plot([Line("jacobi", hosts, seconds, low, high)], "jacobi", "hosts", "seconds")

The same lines give the same text, byte for byte. Colours are CSS variables (`--plot-1` …) with values for light and
dark; a page that gives a picture its own leaves the style out and puts `.plot` into its sheet.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from cosched.drawing.axes import Axis, AxisKind
from cosched.drawing.labels import place_labels
from cosched.drawing.svg import template

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import tzinfo

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Line", "line_plot"]

_WIDTH, _HEIGHT = 640.0, 360.0  # of the plot, in SVG units
_COLOURS = 6
_LETTER = 6.5  # width of a letter at font size 11
_LEGEND = 10.0  # likewise in the legend, which phones show larger
_SMALLEST, _LARGEST = 1e-280, 1e280  # what is beyond is shown as 0 or not at all
_CROWD = 40  # points of a line above which they are drawn smaller


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Attributes:
        name: shown beside the line's end where there is room, else in the legend.
        x: ascending.
        y: as many; what is not finite leaves a gap, as does what a logarithmic axis has no place for.
        low: lower edge of the band around the line; None for no band.
        high: upper edge; None together with `low`.
        dashed: for a line to compare with.
        joined: whether its points are joined; else each stands for itself, and `x` is in any order.
        marked: whether its points are marked, with their values as tooltips; not those of a line that has just an end.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float] | NDArray[np.float64]
    low: Sequence[float] | NDArray[np.float64] | None = None
    high: Sequence[float] | NDArray[np.float64] | None = None
    dashed: bool = False
    joined: bool = True
    marked: bool = True


def line_plot(
    lines: Sequence[Line],
    title: str,
    x_label: str,
    y_label: str,
    *,
    across: AxisKind = AxisKind.LINEAR,
    upwards: AxisKind = AxisKind.LINEAR,
    zone: tzinfo | None = None,
    styled: bool = True,
) -> str:
    """Return a plot as the text of an SVG file.

    Args:
        lines: lines in the order of the legend; may be empty.
        title: shown above the plot.
        x_label: under the axis.
        y_label: beside the axis.
        across: what `x` is.
        upwards: what `y` is; lengths and numbers begin at 0 where none is negative.
        zone: of the reader, for times of day; None: this machine's.
        styled: False leaves the style to the page that the text is put into.

    Raises:
        ValueError: the columns of a line differ in length.
    """
    every = [_points(line, across, upwards) for line in lines]
    known = [point for points in every for point in points if point is not None]
    heights = [value for point in known for value in (point.low, point.y, point.high)]
    if upwards not in (AxisKind.LOGARITHMIC, AxisKind.CLOCK) and min(heights, default=0.0) >= 0:
        heights.append(0.0)
    x_axis = Axis([point.x for point in known], _WIDTH, across, zone)
    y_axis = Axis(heights, _HEIGHT, upwards, zone)
    drawn = [
        _drawn(line, points, number, x_axis, y_axis)
        for number, (line, points) in enumerate(zip(lines, every, strict=True))
    ]
    names = [line.name for line in lines]
    labels = place_labels(names, [each["paths"] for each in drawn], _WIDTH, _HEIGHT)
    legend = [each for each, label in zip(drawn, labels, strict=True) if label is None]
    widest = max([len(each["name"]) for each in legend], default=0) * _LEGEND + 40
    return template("plot.svg.j2").render(
        title=title,
        styled=styled,
        description=f"{y_label} by {x_label}: {', '.join(names)}",
        margin=34 + max((len(text) for _, text in y_axis.ticks), default=1) * _LETTER,
        width=_WIDTH,
        height=_HEIGHT,
        x_ticks=[(x_axis.at(value), text) for value, text in x_axis.ticks],
        y_ticks=[(_HEIGHT - y_axis.at(value), text) for value, text in y_axis.ticks],
        x_label=x_label,
        y_label=y_label,
        lines=drawn,
        labels=[(each, label) for each, label in zip(drawn, labels, strict=True) if label is not None],
        legend=legend,
        columns=max(1, int(_WIDTH // widest)),
        column=widest,
    )


@dataclass(frozen=True, slots=True)
class _Point:
    x: float
    y: float
    low: float
    high: float


def _points(line: Line, across: AxisKind, upwards: AxisKind) -> list[_Point | None]:
    """Return the points of a line, None for each gap."""
    low, high = line.low if line.low is not None else line.y, line.high if line.high is not None else line.y
    log_x, log_y = across is AxisKind.LOGARITHMIC, upwards is AxisKind.LOGARITHMIC
    found: list[_Point | None] = []
    for values in zip(line.x, line.y, low, high, strict=True):
        x, *heights = (0.0 if abs(value) < _SMALLEST else float(value) for value in values)
        there = all(abs(value) < _LARGEST for value in (x, *heights)) and not (log_x and x <= 0)
        found.append(_Point(x, *heights) if there and not (log_y and min(heights) <= 0) else None)
    return found


def _drawn(line: Line, points: Sequence[_Point | None], number: int, x_axis: Axis, y_axis: Axis) -> dict[str, Any]:
    runs = [list(run) for there, run in groupby(points, key=bool) if there] if line.joined else []

    def path(run: Sequence[_Point | None], height: Callable[[_Point], float]) -> list[tuple[float, float]]:
        return [(x_axis.at(p.x), _HEIGHT - y_axis.at(height(p))) for p in run if p is not None]

    banded = line.low is not None or line.high is not None
    return {
        "name": line.name,
        "colour": number % _COLOURS + 1,
        "dashed": line.dashed or number // _COLOURS % 2 == 1,
        "joined": line.joined,
        "paths": [path(run, lambda p: p.y) for run in runs],
        "bands": [path(run, lambda p: p.high) + path(run[::-1], lambda p: p.low) for run in runs] if banded else [],
        "radius": 3.0 if len(points) <= _CROWD else 1.5,
        "marks": list(_marks(line.name, [p for p in points if p is not None and line.marked], banded, x_axis, y_axis)),
    }


def _marks(
    name: str, points: Sequence[_Point], banded: bool, x_axis: Axis, y_axis: Axis
) -> Iterator[tuple[float, float, str]]:
    """Give place and hover text of each point."""
    for point in points:
        text = f"{name}, {x_axis.words(point.x)}: {y_axis.words(point.y)}"
        if banded:
            text += f" ({y_axis.words(point.low)} to {y_axis.words(point.high)})"
        yield x_axis.at(point.x), _HEIGHT - y_axis.at(point.y), text
