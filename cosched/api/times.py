"""Times and durations are read from text and formatted for people here.

`parse_duration` reads a duration; `format_time` and `format_duration` write for people.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from cosched.errors import UserError

__all__ = ["format_duration", "format_optional_time", "format_time", "parse_duration"]

# ── Durations as people write them: 2.5, "30s", "2h30m".


_UNIT_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[dhms])", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)
_LONGEST_DURATION = 100 * 366 * 86400.0


def parse_duration(text: str | float) -> float:
    """Return a duration in seconds.

    Args:
        text: a number of seconds, or numbers with units d, h, m, s, ms ("1h30m", "250ms").

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


# ── Times for people: absolute, with the zone; durations short.


_SHOWN_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def format_optional_time(time: float | None) -> str:
    """Return a time with its zone, empty for none."""
    return "" if time is None else format_time(time)


def format_duration(seconds: float | None) -> str:
    """Return a duration with its two largest units ("2h 5m"), empty for none."""
    if seconds is None:
        return ""
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    if seconds < 60:
        return f"{seconds:.3g}s"
    left, parts = round(seconds), []
    for size, unit in _SHOWN_UNITS:
        if left >= size:
            parts.append(f"{left // size}{unit}")
            left %= size
    return " ".join(parts[:2])


def format_time(time: float) -> str:
    """Return a time for people: absolute, in this machine's zone."""
    return datetime.fromtimestamp(time, UTC).astimezone().isoformat(sep=" ", timespec="seconds")
