"""Durations as people write them: 2.5, "30s", "2h30m"."""

from __future__ import annotations

import math
import re

from cosched.errors import UserError

__all__ = ["parse_duration"]

_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[dhms])", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)
_LONGEST = 100 * 366 * 86400.0


def parse_duration(text: str | float) -> float:
    """Return a duration in seconds.

    Args:
        text: a number of seconds, or numbers with units d, h, m, s, ms ("1h30m", "250ms").

    Raises:
        UserError: anything else, negative, or longer than a hundred years.
    """
    seconds = _seconds(text)
    if seconds is None or not 0 <= seconds <= _LONGEST:
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
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return None
