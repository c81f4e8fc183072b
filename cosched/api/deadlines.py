"""Deadlines are parsed and checked here: `parse_deadline` for the API, `parse_typed_deadline` for the command line.

Epoch seconds, ISO 8601, `now+2h30m`; a person may also type 18:00 or leave the zone out.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

from cosched.api.times import format_time, parse_duration
from cosched.errors import UserError

__all__ = ["HORIZON", "check_deadline", "parse_deadline", "parse_typed_deadline"]

# ── Deadlines as the API takes them: seconds since the epoch, ISO 8601 with a zone, or now+2h30m.


HORIZON = 10 * 366 * 86400.0
"""A deadline further away than this, in seconds, is taken for a mistake."""


def parse_deadline(given: float | str, now: float) -> float:
    """Return a deadline in seconds since the epoch.

    Raises:
        UserError: not a time, without a zone, past, or more than ten years away.
    """
    if isinstance(given, str) and given.startswith("now+"):
        return check_deadline(now + parse_duration(given.removeprefix("now+")), now)
    return check_deadline(given if isinstance(given, (int, float)) else _parse_iso_deadline(given), now)


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


def _parse_iso_deadline(text: str) -> float:
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(
            f"the deadline {text[:80]!r} is not a time: write 2030-01-31T18:00:00+01:00, or seconds since the epoch"
        ) from error
    if parsed.tzinfo is None:
        raise UserError(f"the deadline {text!r} has no zone: write {text}+00:00 or {text}Z for universal time")
    try:
        return parsed.timestamp()
    except (ValueError, OverflowError) as error:
        raise UserError(f"the deadline {text!r} is out of range: give one within ten years") from error


# ── Deadlines as people type them: now+2h30m, 18:00, 2030-01-31T18:00, with or without a zone.


_CLOCK = re.compile(r"(\d{1,2}):(\d{2})", re.ASCII)
_FORMS = "write now+2h30m, 18:00, 2030-01-31T18:00 or 2030-01-31T18:00+01:00"


def parse_typed_deadline(text: str, now: float, what: str = "deadline") -> tuple[float, str]:
    """Return a deadline in seconds since the epoch, and what was assumed about it (empty for nothing).

    A time without a zone is one of this machine's zone; a time of day is the next such.

    Args:
        text: as typed.
        now: seconds since the epoch.
        what: what the time is to people.

    Raises:
        UserError: not a time, past, too far away, or a time that the clocks skip.
    """
    if text.startswith("now+"):
        return check_deadline(now + parse_duration(text.removeprefix("now+")), now, what), ""
    try:
        given = _next_time_of_day(text, now) or datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"the {what} {text!r} is not a time: {_FORMS}") from error
    try:
        seconds = given.timestamp()
    except (ValueError, OverflowError) as error:  # the first and last days of the calendar
        raise UserError(f"the {what} {text!r} is out of range: give one within ten years") from error
    checked = check_deadline(seconds, now, what)
    return checked, "" if given.tzinfo is not None else _note_on_local_time(given, text, what)


def _next_time_of_day(text: str, now: float) -> datetime | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    current = datetime.fromtimestamp(now, UTC).astimezone().replace(tzinfo=None)
    chosen = current.replace(hour=int(match[1]), minute=int(match[2]), second=0, microsecond=0)
    return chosen if chosen > current else chosen + timedelta(days=1)


def _note_on_local_time(given: datetime, text: str, what: str) -> str:
    """Say which moment a time without a zone was taken for; refuse one that this zone does not have."""
    seconds = given.timestamp()
    if datetime.fromtimestamp(seconds, UTC).astimezone().replace(tzinfo=None) != given:
        raise UserError(f"the {what} {text!r} does not exist here, the clocks are set forward over it: {_FORMS}")
    twice = given.replace(fold=1).timestamp() != seconds
    return f"the {what} is {format_time(seconds)}" + (", the first of the two moments with this time" if twice else "")
