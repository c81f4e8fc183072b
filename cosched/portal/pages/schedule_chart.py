"""The geometry of the live schedule, with one path for each task.

A task has one path even on hosts far apart, so that thousands of tasks stay quick.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.api.times import format_clock
from cosched.drawing.axes import clock_ticks
from cosched.durations import format_duration
from cosched.portal.pages.lanes import lanes, row_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import tzinfo

    from cosched.api.documents import HostView, ReservationView

__all__ = ["ChartBand", "ChartBar", "ChartBlock", "ScheduleChart", "schedule_chart"]

CHART_WIDTH = 1200.0  # of the plot, in SVG units
_LETTER = 6.1  # width of a letter at font size 11
_COLOURS = 10
_TALLEST, _LOWEST, _HEIGHT = 22.0, 2.5, 480.0
_LANES = 3.0  # times as high is a row at most in which tasks are side by side


@dataclass(frozen=True, slots=True)
class ChartBlock:
    """One task on its hosts; times are seconds since the epoch.

    `kind` is past, broken, running or planned. `cores` is what it takes of each host where tasks share them, 0 for all.
    """

    task: str
    name: str
    application: str
    hosts: tuple[str, ...]
    start: float
    end: float
    deadline: float | None
    kind: str
    cores: int = 0


@dataclass(frozen=True, slots=True)
class ChartBar:
    """A block as drawn: an SVG path, a label where one fits, and a tooltip."""

    task: str
    kind: str
    colour: int
    late: bool
    path: str
    label: str
    x: float
    y: float
    tip: str


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
    """Everything the template draws; lengths in SVG units."""

    bars: tuple[ChartBar, ...]
    rows: tuple[tuple[float, str], ...]
    down: tuple[tuple[float, float, str], ...]
    ticks: tuple[tuple[float, str], ...]
    now: float
    row: float
    margin: float
    width: float
    height: float
    legend: tuple[tuple[str, int], ...]
    bands: tuple[ChartBand, ...] = ()


def schedule_chart(
    blocks: Sequence[ChartBlock],
    hosts: Sequence[HostView],
    window: tuple[float, float],
    now: float,
    order: Sequence[str],
    zone: tzinfo | None,
    reservations: Sequence[ReservationView] = (),
) -> ScheduleChart:
    """Lay out a schedule.

    Args:
        blocks: blocks in any order; those outside the window are left out.
        hosts: all rows, from the top down.
        window: first and last moment shown.
        now: drawn as a line.
        order: applications that keep their colours in every chart.
        zone: time zone of the reader.
        reservations: drawn below the tasks, each as a band with its name.
    """
    left, right = window
    tallest = _LANES * _TALLEST if any(block.cores for block in blocks) else _TALLEST
    row = min(tallest, max(_LOWEST, _HEIGHT / max(len(hosts), 1)))
    place = {host.name: number for number, host in enumerate(hosts)}
    scale = _TimeScale(left, CHART_WIDTH / (right - left), row)
    shown = [block for block in blocks if block.end > left and block.start < right]
    names = sorted({block.application for block in shown if block.application})
    colours = {name: _colour(name, order) for name in names}
    every = max(1, -(-12 // int(row)) if row >= 1 else 12)
    return ScheduleChart(
        bars=tuple(
            _bar(block, bands, scale, right, now, colours, zone)
            for block, bands in zip(shown, lanes(shown, hosts), strict=True)
            if bands
        ),
        rows=tuple((row * (number + 0.5), host.name) for number, host in enumerate(hosts) if number % every == 0),
        down=tuple(
            (row * number, row, f"{host.name} is down: {host.reason or 'no reason given'}")
            for number, host in enumerate(hosts)
            if not host.up
        ),
        ticks=tuple(_ticks(scale, right, zone)),
        now=scale.x(now),
        row=row,
        margin=16 + min(22, max((len(host.name) for host in hosts), default=4)) * _LETTER,
        width=CHART_WIDTH,
        height=row * max(len(hosts), 1),
        legend=tuple(colours.items()),
        bands=tuple(
            band
            for each in reservations
            if each.end > left
            and each.start < right
            and (band := _band(each, place, scale, right, now, zone)) is not None
        ),
    )


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
    colours: Mapping[str, int],
    zone: tzinfo | None,
) -> ChartBar:
    x, width = _extent(block.start, min(block.end, right), scale)
    first, count = max(bands, key=lambda band: band[1])
    path = _path(x, width, bands, scale.row, min(1.0, scale.row / 6, min(count for _, count in bands) * scale.row / 6))
    label = block.name or block.task
    fits = len(label) * _LETTER <= width - 8 and count * scale.row >= 12
    return ChartBar(
        task=block.task,
        kind=block.kind,
        colour=colours.get(block.application, _COLOURS),
        late=block.deadline is not None and block.end > block.deadline,
        path=path,
        label=label if fits else "",
        x=x + width / 2,
        y=(first + count / 2) * scale.row,
        tip=_tip(block, now, zone),
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
    hosts = f"{len(each.hosts)} hosts" if len(each.hosts) > 1 else "1 host"
    tip = (
        f"{each.name or each.id}\n{hosts} reserved by {each.owner}\n"
        f"{format_clock(each.start, now, zone)} to {format_clock(each.end, now, zone)}"
    )
    middle = (first + count / 2) * scale.row
    return ChartBand(_path(x, width, runs, scale.row, 0.0), label if fits else "", x + width / 2, middle, tip)


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
    words = {"past": "ran", "broken": "ended early", "running": "runs", "planned": "planned"}
    hosts = f"{len(block.hosts)} hosts" if len(block.hosts) > 1 else "1 host"
    if block.cores:
        hosts += (
            f", {block.cores} {'core' if block.cores == 1 else 'cores'}{' of each' if len(block.hosts) > 1 else ''}"
        )
    text = (
        f"{who}\n{words[block.kind]} on {hosts}, {format_duration(block.end - block.start)}\n"
        f"{format_clock(block.start, now, zone)} to {format_clock(block.end, now, zone)}"
    )
    if block.deadline is None:
        return text
    left = block.deadline - block.end
    return f"{text}\n{format_duration(abs(left))} {'before its deadline' if left >= 0 else 'after its deadline'}"


def _colour(application: str, order: Sequence[str]) -> int:
    known = order.index(application) if application in order else zlib.crc32(application.encode())
    return known % _COLOURS


def _ticks(scale: _TimeScale, right: float, zone: tzinfo | None) -> Iterator[tuple[float, str]]:
    for moment, text in clock_ticks(scale.left, right, zone):
        x = scale.x(moment)
        if x <= CHART_WIDTH - len(text) * _LETTER / 2:  # else its end would be cut off
            yield x, text
