"""Deadlines are parsed and checked here, wherever they were written.

`parse_deadline` takes the API's, `parse_typed_deadline` the command line's, `parse_deadline_field` those of pages; all
three read by `_read`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING

from cosched.api.times import format_time
from cosched.durations import parse_duration
from cosched.errors import UserError

if TYPE_CHECKING:
    from datetime import tzinfo

__all__ = [
    "HORIZON",
    "check_deadline",
    "parse_begin",
    "parse_deadline",
    "parse_deadline_field",
    "parse_since",
    "parse_typed_deadline",
]

HORIZON = 10 * 366 * 86400.0
"""A deadline further away than this, in seconds, is taken for a mistake."""

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})", re.ASCII)
_NAMES_A_TIME_OF_DAY = re.compile(
    r"\b(([01]?\d|2[0-3]):[0-5]\d(\s?[ap]m)?|(0?[1-9]|1[0-2])\s?[ap]m|noon|midnight)\b", re.ASCII | re.IGNORECASE
)
_BEGIN = "begin"
_LONGEST_TEXT = 80  # of a time in words


class _Source(Enum):
    """Source of a deadline; the value advises a person who wrote none there."""

    API = "write 2030-01-31T18:00:00+01:00, or seconds since the epoch"
    TYPED = "write now+2h30m, 18:00, 'friday 17:00', 2030-01-31T18:00 or 2030-01-31T18:00+01:00"
    PICKED = "choose a date and a time"


@dataclass(frozen=True, slots=True)
class _Moment:
    """A time in seconds since the epoch, and whether its text left the zone open."""

    seconds: float
    local: bool = False
    twice: bool = False


def parse_deadline(given: float | str, now: float) -> float:
    """Return a deadline of the API in seconds since the epoch.

    Raises:
        UserError: not a time, without a zone, past, or more than ten years away.
    """
    seconds = _read(given, now, _Source.API).seconds if isinstance(given, str) else given
    return check_deadline(seconds, now)


def parse_begin(given: float | str, now: float) -> float:
    """Return a begin of the API in epoch seconds: the task does not start before.

    Raises:
        UserError: not a time, without a zone, past, or more than ten years away.
    """
    seconds = _read(given, now, _Source.API, _BEGIN).seconds if isinstance(given, str) else given
    return check_deadline(seconds, now, _BEGIN)


def parse_typed_deadline(
    text: str, now: float, what: str = "deadline", zone: tzinfo | None = None
) -> tuple[float, str]:
    """Return a typed deadline in seconds since the epoch, with a note on assumptions.

    The note is empty where nothing was assumed.

    A time of day, and a day of the week, is the next such.

    Args:
        text: as typed.
        now: seconds since the epoch.
        what: name of the time for people.
        zone: of a time without one; None for this machine's.

    Raises:
        UserError: not a time, past, too far away, or a time that the clocks skip.
    """
    moment = _read(text, now, _Source.TYPED, what, zone)
    seconds = check_deadline(moment.seconds, now, what)
    if not moment.local:
        return seconds, ""
    note = f"the {what} is {format_time(seconds)}"
    return seconds, note + (", the first of the two moments with this time" if moment.twice else "")


def parse_since(text: str, now: float) -> float:
    """Return a past time in seconds since the epoch.

    Written as so long ago ("8h", "30d"), or as a date and time of this machine's zone.

    Raises:
        UserError: neither of them, or still to come.
    """
    try:
        return max(now - parse_duration(text), 0.0)
    except UserError:
        pass
    try:
        seconds = _epoch(datetime.fromisoformat(text), None)
    except (ValueError, OverflowError) as error:
        raise UserError(f"{text[:80]!r} is no time: write how long ago (8h, 30d), or 2026-11-01") from error
    if not 0 <= seconds <= now:
        raise UserError(f"{text[:80]!r} is still to come: write a time that is past")
    return seconds


def parse_deadline_field(text: str, zone: tzinfo | None) -> float | None:
    """Return the moment in a page's datetime field; None where it is empty.

    Args:
        text: as browsers send it, without a zone.
        zone: time zone of the person; None for this machine's.

    Raises:
        UserError: not a time, or one that the clocks of this zone skip.
    """
    return _read(text, 0.0, _Source.PICKED, zone=zone).seconds if text else None


def check_deadline(deadline: float, now: float, what: str = "deadline") -> float:
    """Return the deadline, or another time called `what`, if it lies ahead and is meant.

    Raises:
        UserError: past, or more than ten years away.
    """
    if not math.isfinite(deadline) or deadline > now + HORIZON:
        advice = "leave it out if there is none" if what == "deadline" else "give an earlier one"
        raise UserError(f"the {what} is more than ten years away: {advice}")
    if deadline <= now:
        past = format_time(deadline) if deadline >= 0 else f"{deadline:g}"
        raise UserError(f"the {what} {past} is past, it is {format_time(now)}: give a later one")
    return deadline


def _read(text: str, now: float, source: _Source, what: str = "deadline", zone: tzinfo | None = None) -> _Moment:
    """Return the moment that a text names, wherever it was written.

    Raises:
        UserError: not a time, without the zone that the API asks for, or a time that the clocks skip.
    """
    if text.startswith("now+") and source is not _Source.PICKED:
        return _Moment(now + parse_duration(text.removeprefix("now+")))
    shown = f"the {what} {text[:80]!r}"
    if text.startswith("now-") and source is not _Source.PICKED:
        raise UserError(f"{shown} is past: give a later one, such as now+2h30m")
    try:
        given = _typed_time(text, now, zone) if source is _Source.TYPED else datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"{shown} is not a time: {source.value}") from error
    local = given.tzinfo is None
    if local and source is _Source.API:
        raise UserError(f"the {what} {text!r} has no zone: write {text}+00:00 or {text}Z for universal time")
    try:
        seconds = _epoch(given, zone)
        skipped = local and abs(_wall_clock(seconds, zone) - given).total_seconds() >= 1
        twice = local and _epoch(given.replace(fold=1), zone) != seconds
    except (ValueError, OverflowError) as error:  # the first and last days of the calendar
        raise UserError(f"{shown} is out of range: give one within ten years") from error
    if skipped:
        raise UserError(f"{shown} does not exist here, the clocks are set forward over it: {source.value}")
    return _Moment(seconds, local, twice)


def _epoch(given: datetime, zone: tzinfo | None) -> float:
    return (given if given.tzinfo is not None or zone is None else given.replace(tzinfo=zone)).timestamp()


def _wall_clock(seconds: float, zone: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).astimezone(zone).replace(tzinfo=None)


def _typed_time(text: str, now: float, zone: tzinfo | None) -> datetime:
    """Return the moment in ISO 8601, a time of day or words of a person's.

    Raises:
        ValueError: none of them.
    """
    match = _CLOCK.fullmatch(text)
    if match is None:
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return _moment_in_words(text, now, zone)
    current = _wall_clock(now, zone)
    named = current.replace(hour=int(match[1]), minute=int(match[2]), second=0, microsecond=0)
    return named if named > current else named + timedelta(days=1)


def _moment_in_words(text: str, now: float, zone: tzinfo | None) -> datetime:
    """Return the next moment that English words such as "tomorrow 9am" name.

    Raises:
        ValueError: they name none, or no time of day, which nobody should guess for a deadline.
    """
    if len(text) > _LONGEST_TEXT or _NAMES_A_TIME_OF_DAY.search(text) is None:
        raise ValueError(text)
    import dateparser  # only here: it takes half a second

    def read(base: datetime) -> datetime | None:
        # Its zone does not matter: what names none stays without.
        settings = {"RELATIVE_BASE": base, "PREFER_DATES_FROM": "future", "TIMEZONE": "UTC"}
        return dateparser.parse(text, languages=["en"], settings=settings)

    current = _wall_clock(now, zone).replace(microsecond=0)
    named = read(current)
    if named is None:
        raise ValueError(text)
    today = rf"\b({current:%A}|{current:%a})\b"
    if named.tzinfo is None and re.search(today, text, re.IGNORECASE) and "next" not in text.lower():
        # On a Monday dateparser takes "monday" for that of next week, though the time may still be to come.
        from_yesterday = read(current - timedelta(days=1))
        if from_yesterday is not None and from_yesterday > current:
            return from_yesterday
    return named
