"""Times for people: absolute, with the zone; durations short."""

from __future__ import annotations

from cosched.service.deadline import shown

__all__ = ["shown_duration", "shown_time"]

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def shown_time(time: float | None) -> str:
    """Return a time with its zone, empty for none."""
    return "" if time is None else shown(time)


def shown_duration(seconds: float | None) -> str:
    """Return a duration with its two largest units ("2h 5m"), empty for none."""
    if seconds is None:
        return ""
    if seconds < 0:
        return f"-{shown_duration(-seconds)}"
    if seconds < 60:
        return f"{seconds:.3g}s"
    left, parts = round(seconds), []
    for size, unit in _UNITS:
        if left >= size:
            parts.append(f"{left // size}{unit}")
            left %= size
    return " ".join(parts[:2])
