"""Times, durations and text as pages show them."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from markupsafe import Markup

if TYPE_CHECKING:
    from datetime import tzinfo

__all__ = ["clock", "duration", "full", "number", "plain", "quiet", "shift", "zone_of"]

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")  # controls, marks that turn the direction of text, half characters
_KEPT = "\t\n"


def zone_of(name: str) -> tzinfo | None:
    """Return the time zone that a browser names; None (this machine's) where it names none that is known."""
    if not name or len(name) > 64:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; a path instead of a name; a folder's name
        return None


def full(time: float, zone: tzinfo | None) -> str:
    """Return a moment to the second, with its zone."""
    local = datetime.fromtimestamp(time).astimezone(zone)
    return f"{local:%A} {local.day} {local:%B %Y, %H:%M:%S} {_offset(local)}"


def clock(time: float, now: float, zone: tzinfo | None) -> str:
    """Return a moment as briefly as it can be told: the time of day, with the day where it is another one."""
    local = datetime.fromtimestamp(time).astimezone(zone)
    today = datetime.fromtimestamp(now).astimezone(zone)
    if local.date() == today.date():
        return f"{local:%H:%M:%S}"
    if abs(time - now) < 6 * _DAY:
        return f"{local:%a %H:%M}"
    return f"{local.day} {local:%b %Y}"


def duration(seconds: float) -> str:
    """Return a length of time in at most two units."""
    length = abs(seconds)
    if length < 9.95:
        return f"{length:.1f} s"
    if length < _MINUTE - 0.5:
        return f"{length:.0f} s"
    if length < _HOUR - 0.5:
        return _two(length, _MINUTE, "min", 1.0, "s")
    if length < 2 * _DAY:
        return _two(length, _HOUR, "h", _MINUTE, "min")
    return _two(length, _DAY, "d", _HOUR, "h")


def shift(seconds: float) -> str:
    """Return a length of time with its sign."""
    return ("+" if seconds >= 0 else "−") + duration(seconds)


def number(value: float) -> str:
    """Return a number briefly, thousands apart."""
    return f"{value:,.0f}".replace(",", "\u202f") if abs(value) >= 1000 else f"{value:.4g}"


def plain(value: Any) -> Any:
    """Return text with what nobody could see, or what would turn the text around it, made visible.

    Everything that a template prints goes through here; markup of our own stays as it is.
    """
    if value is None:
        return ""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return "".join(map(quiet, value))


def quiet(character: str) -> str:
    """Return a character, or its name in brackets where it has no face of its own."""
    if character in _KEPT or unicodedata.category(character) not in _HIDDEN:
        return character
    return f"⟨U+{ord(character):04X}⟩"


def _two(length: float, large: float, large_name: str, small: float, small_name: str) -> str:
    whole = round(length / small) * small
    count, rest = divmod(whole, large)
    return f"{count:.0f} {large_name}" + (f" {rest / small:.0f} {small_name}" if rest else "")


def _offset(local: datetime) -> str:
    text = f"{local:%z}"
    name = local.tzname() or ""
    return (
        f"{name} (UTC{text[:3]}:{text[3:5]})" if name[:1].isalpha() and name != "UTC" else f"UTC{text[:3]}:{text[3:5]}"
    )
