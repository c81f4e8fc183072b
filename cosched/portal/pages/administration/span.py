"""How long something that an administrator sets holds: until a time, or for one of the usual lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.deadlines import parse_deadline_field
from cosched.errors import UserError

if TYPE_CHECKING:
    from datetime import tzinfo

__all__ = ["LENGTHS", "end_of_span"]

_HOUR, _DAY = 3600.0, 86400.0
LENGTHS = {"1 h": _HOUR, "4 h": 4 * _HOUR, "8 h": 8 * _HOUR, "1 day": _DAY, "1 week": 7 * _DAY, "30 days": 30 * _DAY}
"""Seconds of each length that the forms offer."""


def end_of_span(what: str, begin: float, until: str, lasting: str, zone: tzinfo | None) -> float:
    """Return when a span ends, seconds since the epoch.

    Args:
        what: what has the span, for people: "the notice".
        begin: seconds since the epoch.
        until: the form's field of its end; empty: `lasting` says it.
        lasting: one of `LENGTHS`.
        zone: of the reader.

    Raises:
        UserError: neither says it, or the end is no time.
    """
    end = parse_deadline_field(until, zone)
    if end is not None:
        return end
    if lasting not in LENGTHS:
        raise UserError(f"{what} has no end: say until when, or for how long")
    return begin + LENGTHS[lasting]
