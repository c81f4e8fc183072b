"""Times and durations as text: `format_time` and `format_duration` write for people, `utc_text` for machines.

`parse_duration` reads a duration. A time is shown in the reader's zone where a page has set it (`reader_zone`).
"""

from __future__ import annotations

import math
import re
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from datetime import tzinfo

__all__ = [
    "format_clock",
    "format_duration",
    "format_moment",
    "format_optional_time",
    "format_shift",
    "format_time",
    "parse_duration",
    "reader_zone",
    "utc_text",
    "zone_named",
]

reader_zone: ContextVar[tzinfo | None] = ContextVar("reader_zone", default=None)
"""The zone of the person who reads what this request answers, refusals too; None: this machine's."""

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_UNIT_SECONDS = {"d": _DAY, "h": _HOUR, "min": _MINUTE, "m": _MINUTE, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?) ?(ms|min|[dhms])", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE = re.compile(rf"{_PART.pattern}(?: ?{_PART.pattern})*", re.ASCII)
_LONGEST_DURATION = 100 * 366 * _DAY
_LONGEST_ZONE = 64  # characters


def parse_duration(text: str | float) -> float:
    """Return a duration in seconds.

    Args:
        text: a number of seconds, or numbers with units d, h, m or min, s, ms ("1h30m", "2 h 5 min", "250ms").

    Raises:
        UserError: anything else, negative, or longer than a hundred years.
    """
    seconds = _seconds(text)
    if seconds is None or not 0 <= seconds <= _LONGEST_DURATION:
        raise UserError(f"{text!r} is not a duration: write seconds (2.5) or numbers with units (30s, 2h30m, 1d)")
    return seconds


def _seconds(text: object) -> float | None:
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return float(text) if math.isfinite(text) else None
    if not isinstance(text, str):
        return None
    if _NUMBER.fullmatch(text):
        return float(text)
    if _WHOLE.fullmatch(text):
        return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _PART.findall(text))
    return None


def format_duration(seconds: float | None) -> str:
    """Return a duration in at most two units ("2 h 5 min"), empty for none."""
    if seconds is None:
        return ""
    if seconds < 0:
        return f"−{format_duration(-seconds)}"
    if seconds < 0.95:
        return f"{seconds:.2g} s" if seconds >= 0.0005 else "0 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < _MINUTE - 0.5:
        return f"{seconds:.0f} s"
    if seconds < _HOUR - 0.5:
        return _two_units(seconds, _MINUTE, "min", 1.0, "s")
    if seconds < 2 * _DAY:
        return _two_units(seconds, _HOUR, "h", _MINUTE, "min")
    return _two_units(seconds, _DAY, "d", _HOUR, "h")


def format_shift(seconds: float) -> str:
    """Return a duration with its sign, plus too."""
    return ("+" if seconds >= 0 else "") + format_duration(seconds)


def _two_units(seconds: float, large: float, large_name: str, small: float, small_name: str) -> str:
    whole = round(seconds / small) * small
    count, rest = divmod(whole, large)
    return f"{count:.0f} {large_name}" + (f" {rest / small:.0f} {small_name}" if rest else "")


def zone_named(name: str) -> tzinfo | None:
    """Return the time zone of this name; None (this machine's) where there is none."""
    from zoneinfo import ZoneInfo  # late: only pages name zones

    if not name or len(name) > _LONGEST_ZONE:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; a path instead of a name; a folder's name
        return None


def format_time(time: float) -> str:
    """Return a time for messages and tables, absolute and with its zone.

    `--deadline` accepts this form.
    """
    return _local(time, reader_zone.get()).isoformat(sep=" ", timespec="seconds")


def format_optional_time(time: float | None) -> str:
    """Return a time as `format_time` does, empty for none."""
    return "" if time is None else format_time(time)


def format_clock(time: float, now: float, zone: tzinfo | None) -> str:
    """Return a time as briefly as possible: the time of day, or another day."""
    local = _local(time, zone)
    if local.date() == _local(now, zone).date():
        return f"{local:%H:%M:%S}"
    if abs(time - now) < 6 * _DAY:
        return f"{local:%a %H:%M}"
    return f"{local.day} {local:%b %Y}"


def format_moment(time: float, zone: tzinfo | None) -> str:
    """Return a time in full, with weekday and zone, as the long form of `format_clock`."""
    local = _local(time, zone)
    return f"{local:%A} {local.day} {local:%B %Y, %H:%M:%S} {_offset(local)}"


def utc_text(time: float) -> str:
    """Return a time for machines: ISO 8601 in universal time, to the second."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _local(time: float, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(time, UTC).astimezone(zone)


def _offset(local: datetime) -> str:
    text = f"{local:%z}"
    name = local.tzname() or ""
    offset = f"UTC{text[:3]}:{text[3:5]}"
    return f"{name} ({offset})" if name[:1].isalpha() and name != "UTC" else offset
