"""Draw a schedule as in Fig. 3 of the Titan paper.

Time goes to the right, hosts upwards.

The drawing knows no problem and no plan, just bars, so that what was measured can be drawn beside what was planned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

from cosched.counts import plural
from cosched.drawing.svg import template, ticks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["GanttBar", "gantt"]

_WIDTH = 900.0  # of the plot, in SVG units
_HEIGHT = 400.0  # about; a row is between 3 and 20 units high
_LETTER = 6.0  # width of a letter at font size 10
_SMALL = 4.0  # a box that is no wider or no higher has a thin frame, lest frames be all that one sees
_COLUMNS = 7  # of the legend
_MOST_NAMED = 10 * _COLUMNS - 1  # applications in the legend
# Light enough for black letters, told apart also by most colour-blind readers; more applications begin again.
_COLOURS = (
    "#8dbfe8",
    "#f5b25c",
    "#7fcfa5",
    "#f3e37c",
    "#d9a3cf",
    "#c5c5c5",
    "#ef9a86",
    "#a9a8e6",
    "#c9d77a",
    "#8fd6d6",
)
_ABSENT = "#e4e4e4"
_UNITS = ((2 * 86400.0, 86400.0, "days"), (2 * 3600.0, 3600.0, "h"), (600.0, 60.0, "min"), (0.0, 1.0, "s"))


@dataclass(frozen=True, slots=True)
class GanttBar:
    """One task as it was planned or as it ran.

    Attributes:
        task: its name, written into the box where it fits.
        application: decides the colour.
        hosts: names of the hosts that it held; those that the chart does not show are left out.
        start: in seconds on any scale that all bars share.
        end: likewise, not before `start`.
        deadline: likewise; None for none. A bar that ends later is marked.
        absent: no task at all: the hosts are not there.
    """

    task: str
    application: str
    hosts: tuple[str, ...]
    start: float
    end: float
    deadline: float | None = None
    absent: bool = False

    @property
    def late(self) -> bool:
        """True when the task missed its deadline."""
        return self.deadline is not None and self.end > self.deadline


def gantt(bars: Sequence[GanttBar], hosts: Sequence[str], title: str, origin: float | None = None) -> str:
    """Return a chart as the text of an SVG file.

    Args:
        bars: bars in any order.
        hosts: all rows, from the bottom up, idle ones too; at least one.
        title: shown above the chart.
        origin: the time at the left edge; the earliest start if None.
    """
    left = min((bar.start for bar in bars), default=0.0) if origin is None else origin
    right = max((bar.end for bar in bars), default=left)
    span = right - left if right > left else 1.0
    unit, unit_name = next((size, name) for least, size, name in _UNITS if span >= least)
    row = min(20.0, max(3.0, _HEIGHT / len(hosts)))
    applications = dict(zip(dict.fromkeys(bar.application for bar in bars if not bar.absent), cycle(_COLOURS)))
    applications |= {bar.application: _ABSENT for bar in bars if bar.absent}
    legend = list(applications.items())
    named = legend if len(legend) <= _MOST_NAMED + 1 else legend[:_MOST_NAMED]
    tasks = sum(not bar.absent for bar in bars)
    late = sum(bar.late for bar in bars)
    scale = left, span
    boxes = [box for bar in bars for box in _boxes(bar, hosts, row, scale, applications[bar.application])]
    return template("gantt.svg.j2").render(
        title=title,
        description=f"{plural(tasks, 'task')} on {plural(len(hosts), 'host')} in {span / unit:.4g} {unit_name}; "
        f"{late} of them missed their deadline.",
        margin=_margin(hosts),
        width=_WIDTH,
        height=row * len(hosts),
        rows=_rows(hosts, row),
        ticks=[(value * unit / span * _WIDTH, f"{value:g}") for value in ticks(0.0, span / unit)],
        axis=f"time ({unit_name})",
        boxes=sorted(boxes, key=lambda box: box.late),  # red frames above those of their neighbours
        legend=named,
        unnamed=len(legend) - len(named),
        legend_rows=math.ceil((len(named) + (len(legend) > len(named))) / _COLUMNS) + (late > 0),
        late=late,
    )


@dataclass(frozen=True, slots=True)
class _Box:
    """A rectangle of neighbouring hosts; `label` is empty where the name does not fit."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    label: str
    tip: str
    late: bool
    small: bool


def _boxes(bar: GanttBar, hosts: Sequence[str], row: float, scale: tuple[float, float], colour: str) -> Iterator[_Box]:
    left, span = scale
    x, width = (bar.start - left) / span * _WIDTH, (bar.end - bar.start) / span * _WIDTH
    tip = f"{bar.task}: {plural(len(bar.hosts), 'host')}, {bar.start - left:.6g} to {bar.end - left:.6g} s"
    if bar.deadline is not None:
        left_over = bar.deadline - bar.end
        tip += f", deadline missed by {-left_over:.6g} s" if bar.late else f", {left_over:.6g} s before its deadline"
    runs = _runs(bar, hosts)
    widest = max((last - first for first, last in runs), default=0)
    for first, last in runs:
        height = (last - first + 1) * row
        fits = len(bar.task) * _LETTER <= width - 4 and height >= 11
        label = bar.task if fits and last - first == widest else ""
        widest = -1 if label else widest  # one label a task
        yield _Box(
            x, row * (len(hosts) - 1 - last), width, height, colour, label, tip, bar.late, min(width, height) <= _SMALL
        )


def _runs(bar: GanttBar, hosts: Sequence[str]) -> list[tuple[int, int]]:
    """Return (first, last) row of each group of neighbouring hosts."""
    held = set(bar.hosts)
    runs: list[tuple[int, int]] = []
    for number, host in enumerate(hosts):
        if host not in held:
            continue
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _rows(hosts: Sequence[str], row: float) -> list[tuple[float, str]]:
    """Return (middle, name) of the rows that have room for a name."""
    every = max(1, math.ceil(12 / row))
    return [(row * (len(hosts) - number - 0.5), host) for number, host in enumerate(hosts) if number % every == 0]


def _margin(hosts: Sequence[str]) -> float:
    return 30 + min(20, max(len(host) for host in hosts)) * _LETTER
