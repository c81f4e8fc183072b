"""Deadlines as people type them: now+2h30m, 18:00, 2030-01-31T18:00, with or without a zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from cosched.errors import UserError
from cosched.service.deadline import check_deadline, shown
from cosched.service.duration import parse_duration

__all__ = ["read_deadline"]

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})", re.ASCII)
_FORMS = "write now+2h30m, 18:00, 2030-01-31T18:00 or 2030-01-31T18:00+01:00"


def read_deadline(text: str, now: float, what: str = "deadline") -> tuple[float, str]:
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
        given = _clock(text, now) or datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"the {what} {text!r} is not a time: {_FORMS}") from error
    try:
        seconds = given.timestamp()
    except (ValueError, OverflowError) as error:  # the first and last days of the calendar
        raise UserError(f"the {what} {text!r} is out of range: give one within ten years") from error
    checked = check_deadline(seconds, now, what)
    return checked, "" if given.tzinfo is not None else _local(given, text, what)


def _clock(text: str, now: float) -> datetime | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    current = datetime.fromtimestamp(now, UTC).astimezone().replace(tzinfo=None)
    chosen = current.replace(hour=int(match[1]), minute=int(match[2]), second=0, microsecond=0)
    return chosen if chosen > current else chosen + timedelta(days=1)


def _local(given: datetime, text: str, what: str) -> str:
    """Say which moment a time without a zone was taken for; refuse one that this zone does not have."""
    seconds = given.timestamp()
    if datetime.fromtimestamp(seconds, UTC).astimezone().replace(tzinfo=None) != given:
        raise UserError(f"the {what} {text!r} does not exist here, the clocks are set forward over it: {_FORMS}")
    twice = given.replace(fold=1).timestamp() != seconds
    return f"the {what} is {shown(seconds)}" + (", the first of the two moments with this time" if twice else "")
