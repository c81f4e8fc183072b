"""Times as text: `format_time` writes for people, `utc_text` for machines.

A time is shown in the reader's zone where a page has set it (`reader_zone`).
"""

from __future__ import annotations

from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import tzinfo

__all__ = [
    "format_clock",
    "format_moment",
    "format_optional_time",
    "format_time",
    "reader_zone",
    "utc_text",
    "zone_named",
]

reader_zone: ContextVar[tzinfo | None] = ContextVar("reader_zone", default=None)
"""The zone of the person who reads what this request answers, refusals too; None: this machine's."""

_DAY = 86400.0
_LONGEST_ZONE = 64  # characters


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
