"""Deadlines as the API takes them: seconds since the epoch, ISO 8601 with a zone, or now+2h30m."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from cosched.errors import UserError
from cosched.service.duration import parse_duration

__all__ = ["HORIZON", "check_deadline", "parse_deadline", "shown"]

HORIZON = 10 * 366 * 86400.0
"""A deadline further away than this, in seconds, is taken for a mistake."""


def shown(time: float) -> str:
    """Return a time for people: absolute, in this machine's zone."""
    return datetime.fromtimestamp(time, UTC).astimezone().isoformat(sep=" ", timespec="seconds")


def parse_deadline(given: float | str, now: float) -> float:
    """Return a deadline in seconds since the epoch.

    Raises:
        UserError: not a time, without a zone, past, or more than ten years away.
    """
    if isinstance(given, str) and given.startswith("now+"):
        return check_deadline(now + parse_duration(given.removeprefix("now+")), now)
    return check_deadline(given if isinstance(given, (int, float)) else _parse(given), now)


def check_deadline(deadline: float, now: float, what: str = "deadline") -> float:
    """Return the deadline, or another time called `what`, if it lies ahead and is meant.

    Raises:
        UserError: past, or more than ten years away.
    """
    if not math.isfinite(deadline) or deadline > now + HORIZON:
        advice = "leave it out if there is none" if what == "deadline" else "give an earlier one"
        raise UserError(f"the {what} is more than ten years away: {advice}")
    if deadline <= now:
        past = shown(deadline) if deadline >= 0 else f"{deadline:g}"
        raise UserError(f"the {what} {past} is past, it is {shown(now)}: give a later one")
    return deadline


def _parse(text: str) -> float:
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
