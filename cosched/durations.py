"""Durations as text: `format_duration` writes them for people, `parse_duration` reads what it writes, and more."""

from __future__ import annotations

import math
import re

from cosched.errors import UserError

__all__ = ["format_duration", "format_shift", "parse_duration"]

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_UNIT_SECONDS = {"d": _DAY, "h": _HOUR, "min": _MINUTE, "m": _MINUTE, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6}
_PART = re.compile(r"(\d+(?:\.\d+)?) ?(ms|µs|us|min|[dhms])", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE = re.compile(rf"{_PART.pattern}(?: ?{_PART.pattern})*", re.ASCII)
_LONGEST_DURATION = 100 * 366 * _DAY


def parse_duration(text: str | float, what: str = "") -> float:
    """Return a duration in seconds.

    Args:
        text: seconds, or numbers with units d, h, m or min, s, ms, µs or us ("1h30m", "2 h 5 min", "250ms").
        what: name of the value where several can be meant, "--grace" or "the grace", for errors.

    Raises:
        UserError: anything else, negative, or longer than a hundred years.
    """
    seconds = _seconds(text)
    if seconds is None or not 0 <= seconds <= _LONGEST_DURATION:
        named = f"{what}: " if what else ""
        raise UserError(
            f"{named}{text!r} is not a duration: write seconds (2.5) or numbers with units (30s, 2h30m, 1d), from 0 on "
            "and at most a hundred years"
        )
    return seconds


def format_duration(seconds: float | None) -> str:
    """Return a duration in at most two units ("2 h 5 min"), empty for none."""
    if seconds is None:
        return ""
    if seconds < 0:
        return f"−{format_duration(-seconds)}"
    if seconds < 0.95:
        return _below_a_second(seconds)
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


def _below_a_second(seconds: float) -> str:
    if seconds < 5e-8:
        return "0 s"
    if seconds < 0.0000994:  # 0.0000995 would read "1e+02 µs"
        return f"{seconds * 1e6:.2g} µs"
    return f"{seconds * 1e3:.2g} ms" if seconds < 0.0994 else f"{seconds:.2g} s"


def _two_units(seconds: float, large: float, large_name: str, small: float, small_name: str) -> str:
    whole = round(seconds / small) * small
    count, rest = divmod(whole, large)
    return f"{count:.0f} {large_name}" + (f" {rest / small:.0f} {small_name}" if rest else "")
