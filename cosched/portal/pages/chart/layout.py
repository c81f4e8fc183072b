"""The geometry of the live schedule, with one path for each task.

A task has one path even on hosts far apart, so that thousands of tasks stay quick.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.api.times import format_clock
from cosched.counts import plural
from cosched.drawing.axes import clock_ticks
from cosched.durations import format_duration
from cosched.portal.pages.chart.lanes import lanes, row_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from cosched.api.documents import HostView, ReservationView
    from cosched.portal.pages.chart.blocks import ChartBlock
    from cosched.portal.pages.chart.colours import TaskColours

__all__ = ["ChartBand", "ChartBar", "ScheduleChart", "schedule_chart"]

CHART_WIDTH = 1200.0  # of the plot, in SVG units
_LETTER = 6.1  # width of a letter at font size 11
_TALLEST, _LOWEST, _HEIGHT = 22.0, 2.5, 480.0
_MARKED = 6.0  # height of a row that has room for marks of deadlines
_THINNEST = 4.0  # height of a task side by side with others that is easily seen and pointed at
_LANES = 3.0  # times as high is a row at most in which tasks are side by side


@dataclass(frozen=True, slots=True)
class ChartBar:
    """A block as drawn: an SVG path, a label where one fits, and a tooltip.

    `colour` is a class of the style sheet; a task is `dim` where others are to stand out. `due` is where its deadline
    is, None for none in the window. What is `lent` is hatched.
    """

    task: str
    kind: str
    colour: str
    late: bool
    dim: bool
    path: str
    label: str
    x: float
    y: float
    tip: str
    due: float | None = None
    lent: bool = False


@dataclass(frozen=True, slots=True)
class ChartBand:
    """A reservation as drawn: an SVG path, its name where it fits, and a tooltip."""

    path: str
    label: str
    x: float
    y: float
    tip: str


@dataclass(frozen=True, slots=True)
class ScheduleChart:
    """Everything the template draws; lengths in SVG units.

    Attributes:
        bars: tasks on their hosts.
        rows: middle and name of each host that has room for its name.
        groups: top and name of each class of hosts, where there are several.
        down: top, height and reason of each host that is down.
        ticks: times of day.
        now: the present.
        row: height of a row.
        margin: width of the names to the left of the plot.
        width: of the plot.
        height: of the plot.
        legend: what each colour means, with its class in the style sheet and what the address calls those tasks.
        deadlines: path of the marks at missed deadlines, each on its task; of tasks that stand out.
        bands: reservations.
        window: first and last moment, seconds since the epoch.
    """

    bars: tuple[ChartBar, ...]
    rows: tuple[tuple[float, str], ...]
    groups: tuple[tuple[float, str], ...]
    down: tuple[tuple[float, float, str], ...]
    ticks: tuple[tuple[float, str], ...]
    now: float
    row: float
    margin: float
    width: float
    height: float
    legend: tuple[tuple[str, str, str], ...]
    deadlines: str
    bands: tuple[ChartBand, ...]
    window: tuple[float, float]


def schedule_chart(
    blocks: Sequence[ChartBlock],
    hosts: Sequence[HostView],
    window: tuple[float, float],
    now: float,
    colours: TaskColours,
    zone: tzinfo | None,
    reservations: Sequence[ReservationView] = (),
    outstanding: Callable[[ChartBlock], bool] = lambda _block: True,
) -> ScheduleChart:
    """Lay out a schedule.

    Args:
        blocks: blocks in any order; those outside the window are left out.
        hosts: all rows, from the top down; those of one class together.
        window: first and last moment shown.
        now: drawn as a line.
        colours: the colour of each task.
        zone: time zone of the reader.
        reservations: drawn below the tasks, each as a band with its name.
        outstanding: tells of a task whether it is to stand out; the others are pale.
    """
    left, right = window
    tallest = _LANES * _TALLEST if any(block.cores for block in blocks) else _TALLEST
    if len(hosts) == 1 and tallest > _TALLEST:
        tallest = _HEIGHT  # all lanes of the host are seen
    row = min(tallest, max(_LOWEST, _HEIGHT / max(len(hosts), 1)))
    place = {host.name: number for number, host in enumerate(hosts)}
    scale = _TimeScale(left, CHART_WIDTH / (right - left), row)
    shown = [block for block in blocks if block.end > left and block.start < right]
    every = max(1, -(-12 // int(row)) if row >= 1 else 12)
    placed = zip(shown, lanes(shown, hosts, min(_THINNEST / row, 1.0)), strict=True)
    drawn = [(block, bands, outstanding(block)) for block, bands in placed if bands]
    return ScheduleChart(
        bars=tuple(_bar(block, bands, scale, right, now, colours, zone, dim=not out) for block, bands, out in drawn),
        rows=tuple((row * (number + 0.5), host.name) for number, host in enumerate(hosts) if number % every == 0),
        groups=tuple(_groups(hosts, row)),
        down=tuple(
            (row * number, row, f"{host.name} is down: {host.reason or 'no reason given'}")
            for number, host in enumerate(hosts)
            if not host.up
        ),
        ticks=tuple(_ticks(scale, right, zone)),
        now=scale.x(now),
        row=row,
        margin=16 + min(20, max((len(host.name) for host in hosts), default=4)) * _LETTER,
        width=CHART_WIDTH,
        height=row * max(len(hosts), 1),
        legend=tuple(colours.legend(shown)),
        deadlines="".join(_deadline_mark(block, bands, scale, right) for block, bands, out in drawn if out),
        bands=tuple(
            band
            for each in reservations
            if each.end > left
            and each.start < right
            and (band := _band(each, place, scale, right, now, zone)) is not None
        ),
        window=window,
    )


def _groups(hosts: Sequence[HostView], row: float) -> Iterator[tuple[float, str]]:
    """Give top and name of each class; nothing where all hosts are of one."""
    if len({host.host_class for host in hosts}) < 2:
        return
    for number, host in enumerate(hosts):
        if number == 0 or host.host_class != hosts[number - 1].host_class:
            yield row * number, host.host_class or "unnamed"


@dataclass(frozen=True, slots=True)
class _TimeScale:
    left: float
    per_second: float
    row: float

    def x(self, time: float) -> float:
        return max((time - self.left) * self.per_second, 0.0)


def _bar(
    block: ChartBlock,
    bands: Sequence[tuple[float, float]],
    scale: _TimeScale,
    right: float,
    now: float,
    colours: TaskColours,
    zone: tzinfo | None,
    *,
    dim: bool,
) -> ChartBar:
    x, width = _extent(block.start, min(block.end, right), scale)
    bands = [_seen(band, scale.row) for band in bands]
    first, count = max(bands, key=lambda band: band[1])
    path = _path(x, width, bands, scale.row, min(1.0, scale.row / 6, min(count for _, count in bands) * scale.row / 6))
    label = block.name or block.task
    fits = len(label) * _LETTER <= width - 8 and count * scale.row >= 12
    return ChartBar(
        task=block.task,
        kind=block.kind,
        colour=colours.of(block),
        late=block.late,
        dim=dim,
        path=path,
        label=label if fits else "",
        x=x + width / 2,
        y=(first + count / 2) * scale.row,
        tip=_tip(block, now, zone),
        due=scale.x(block.deadline) if block.deadline is not None and scale.left <= block.deadline <= right else None,
        lent=block.lent,
    )


def _band(
    each: ReservationView, place: Mapping[str, int], scale: _TimeScale, right: float, now: float, zone: tzinfo | None
) -> ChartBand | None:
    rows = sorted(place[host] for host in each.hosts if host in place)
    if not rows:
        return None
    x, width = _extent(each.start, min(each.end, right), scale)
    runs = list(row_runs(rows))
    first, count = max(runs, key=lambda run: run[1])
    label = each.name or "reserved"
    fits = len(label) * _LETTER <= width - 8 and count * scale.row >= 12
    hosts = plural(len(each.hosts), "host")
    tip = (
        f"{each.name or each.id}\n{hosts} reserved by {each.owner}\n"
        f"{format_clock(each.start, now, zone)} to {format_clock(each.end, now, zone)}"
    )
    middle = (first + count / 2) * scale.row
    return ChartBand(_path(x, width, runs, scale.row, 0.0), label if fits else "", x + width / 2, middle, tip)


def _seen(band: tuple[float, float], row: float) -> tuple[float, float]:
    """Return a part of a row as it is drawn, never lower than can be seen."""
    first, count = band
    least = min(_LOWEST / row, 1.0)
    if count >= least:
        return band
    return min(first, math.floor(first) + 1 - least), least


def _extent(start: float, end: float, scale: _TimeScale) -> tuple[float, float]:
    """Return where a time begins on paper, and how wide it is."""
    return scale.x(start), max(scale.x(end) - scale.x(start), 0.8)


def _path(x: float, width: float, runs: Sequence[tuple[float, float]], row: float, gap: float) -> str:
    """Return the outline of rows, or parts of them, with their first and number, in SVG's words."""
    return "".join(
        f"M{x:.1f} {first * row + gap:.1f}h{width:.1f}v{count * row - 2 * gap:.1f}h-{width:.1f}z"
        for first, count in runs
    )


def _tip(block: ChartBlock, now: float, zone: tzinfo | None) -> str:
    who = f"{block.task} {block.name}".strip() or "another user's task"
    words = {"past": "ran", "broken": "ended early", "running": "runs", "planned": "planned", "others": "runs"}
    hosts = plural(len(block.hosts), "host")
    if block.cores:
        hosts += (
            f", {block.cores} {'core' if block.cores == 1 else 'cores'}{' of each' if len(block.hosts) > 1 else ''}"
        )
    if block.lent:
        hosts += ", lent until others need it" if len(block.hosts) == 1 else ", lent until others need them"
    begun = format_clock(block.start, now, zone)
    if not block.known:
        return f"{who}\n{words[block.kind]} on {hosts}\nsince {begun}, its end is not predicted"
    text = (
        f"{who}\n{words[block.kind]} on {hosts}, {format_duration(block.end - block.start)}\n"
        f"{begun} to {format_clock(block.end, now, zone)}"
    )
    if block.deadline is None:
        return text
    left = block.deadline - block.end
    return f"{text}\n{format_duration(abs(left))} {'before its deadline' if left >= 0 else 'after its deadline'}"


def _deadline_mark(block: ChartBlock, bands: Sequence[tuple[float, float]], scale: _TimeScale, right: float) -> str:
    """Return a mark at a missed deadline on its task; nothing where it is before it began, or outside the window.

    A mark beside the task would be on another one, and be taken for that one's.
    """
    if block.deadline is None or not max(scale.left, block.start) <= block.deadline <= min(right, block.end):
        return ""
    if scale.row < _MARKED:
        return ""
    x = scale.x(block.deadline)
    return "".join(f"M{x:.1f} {first * scale.row + 1:.1f}v{count * scale.row - 2:.1f}" for first, count in bands)


def _ticks(scale: _TimeScale, right: float, zone: tzinfo | None) -> Iterator[tuple[float, str]]:
    for moment, text in clock_ticks(scale.left, right, zone):
        x = scale.x(moment)
        if x <= CHART_WIDTH - len(text) * _LETTER / 2:  # else its end would be cut off
            yield x, text
