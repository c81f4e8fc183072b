"""Axes of pictures: numbers, powers, counts, times of day, durations.

`Axis` places values and names round ones.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING

from cosched.drawing.svg import ticks
from cosched.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo

__all__ = ["Axis", "AxisKind", "clock_ticks"]

_ALIKE = 1e-9  # values closer than this part of them are shown as one
_SMALLEST = 1e-280
_MOST_TICKS = 8
_DAY = 86400
# Seconds between two ticks on a scale of time, from a second to a quarter of a year.
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10800, 21600, 43200),
    *(_DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 28 * _DAY, 91 * _DAY),
)


class AxisKind(Enum):
    """What the values of an axis are."""

    LINEAR = "linear"
    LOGARITHMIC = "logarithmic"
    COUNT = "count"
    """Whole numbers: no tick is between two of them."""
    CLOCK = "clock"
    """Seconds since the epoch, named by the time of day or by the day."""
    DURATION = "duration"
    """Seconds, named as durations."""


class Axis:
    """An axis places values, in SVG units from its start.

    Args:
        values: all that it has to hold.
        length: in SVG units.
        kind: decides the scale and the words.
        zone: of the reader, for times of day; None: this machine's.

    Attributes:
        ticks: round values with their words.
    """

    def __init__(self, values: Sequence[float], length: float, kind: AxisKind, zone: tzinfo | None = None) -> None:
        logarithmic = kind is AxisKind.LOGARITHMIC
        least, most = _bounds(values, kind)
        self._kind, self._zone = kind, zone
        self._scale: Callable[[float], float] = math.log10 if logarithmic else float
        self._first, self._length = self._scale(least), length
        self._span = self._scale(most) - self._first
        self._long = most - least >= _DAY
        self.ticks = self._named_ticks(least, most)

    def at(self, value: float) -> float:
        """Return the place of a value."""
        return (self._scale(value) - self._first) / self._span * self._length

    def words(self, value: float) -> str:
        """Return a value as a tooltip names it."""
        match self._kind:
            case AxisKind.CLOCK:
                moment = datetime.fromtimestamp(value, UTC).astimezone(self._zone)
                return f"{moment.day} {moment:%b, %H:%M}" if self._long else f"{moment:%H:%M:%S}"
            case AxisKind.DURATION:
                return format_duration(value)
            case _:
                return f"{value:.6g}"

    def _named_ticks(self, least: float, most: float) -> list[tuple[float, str]]:
        match self._kind:
            case AxisKind.CLOCK:
                return clock_ticks(least, most, self._zone, _MOST_TICKS)
            case AxisKind.DURATION if most - least >= _STEPS[0] * _MOST_TICKS:
                step = _time_step(most - least, _MOST_TICKS)
                return _durations(_multiples(least, most, step))
            case AxisKind.DURATION:
                return _durations(ticks(least, most, _MOST_TICKS))
            case AxisKind.COUNT:
                values = [value for value in ticks(least, most, _MOST_TICKS) if value == round(value)]
            case AxisKind.LOGARITHMIC:
                values = _powers(least, most)
                if len(values) < 2:
                    values = [value for value in ticks(least, most, _MOST_TICKS) if value > 0]
            case _:
                values = ticks(least, most, _MOST_TICKS)
        return [(value, self.words(value)) for value in values]


def clock_ticks(first: float, last: float, zone: tzinfo | None, most: int = 9) -> list[tuple[float, str]]:
    """Return round times of day in the reader's zone, epoch seconds with their words, at most about `most`."""
    step = _time_step(last - first, most)
    offset = datetime.fromtimestamp(last, UTC).astimezone(zone).utcoffset()
    shift = offset.total_seconds() if offset is not None else 0.0
    found = []
    for local in _multiples(first + shift, last + shift, step):
        moment = datetime.fromtimestamp(local - shift, UTC).astimezone(zone)
        text = (
            f"{moment:%H:%M:%S}" if step < 60 else f"{moment:%H:%M}" if step < _DAY / 2 else f"{moment.day} {moment:%b}"
        )
        found.append((local - shift, text))
    return found


def _durations(values: Sequence[float]) -> list[tuple[float, str]]:
    """Name round durations, all of them in seconds where words for people would name two of them alike."""
    words = [format_duration(value).replace(".0 s", " s") for value in values]
    if len(set(words)) < len(words):
        words = [f"{value:.12g} s" for value in values]
    return list(zip(values, words, strict=True))


def _time_step(span: float, most: int) -> int:
    longest = _STEPS[-1]
    return next((step for step in _STEPS if span / step <= most), longest * math.ceil(span / longest / most))


def _multiples(first: float, last: float, step: int) -> list[float]:
    lowest, highest = math.ceil(first / step - _ALIKE), math.floor(last / step + _ALIKE)
    return [float(number * step) for number in range(lowest, highest + 1)]


def _bounds(values: Sequence[float], kind: AxisKind) -> tuple[float, float]:
    """Return the ends of an axis, apart even where all values are alike."""
    least, most = min(values, default=1.0), max(values, default=2.0)
    if most - least > _ALIKE * max(abs(least), abs(most), _SMALLEST):
        return least, most
    middle = max(abs(least), abs(most)) or 1.0
    match kind:
        case AxisKind.LOGARITHMIC:
            return least / 2, most * 2
        case AxisKind.CLOCK:
            return least - 30.0, most + 30.0
        case _:
            return least - middle / 2, most + middle / 2


def _powers(least: float, most: float) -> list[float]:
    """Return powers of ten, with 2 and 5 between where there is room."""
    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    digits = (1, 2, 5) if last - first <= 4 else (1,)
    every = max(1, (last - first) // 8)
    values = (digit * 10.0**power for power in range(first, last + 1, every) for digit in digits)
    return [value for value in values if least * (1 - 1e-9) <= value <= most * (1 + 1e-9)]
