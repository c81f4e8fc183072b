"""Numbers and text as pages show them; times and durations are formatted in `cosched.api.times`."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["as_terminal", "commands", "number", "plain", "sentence", "visible", "without_attempt"]

_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")  # controls, marks that turn the direction of text, half characters
_KEPT = "\t\n"
# Colours and moves of the cursor (CSI), titles and links (OSC), and other sequences of ECMA-48.
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")

# What lines of the log begin with: an attempt's UUID, and what leads from it to the rest.
_ATTEMPT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?: is(?= job )|:)?(?: |$)")


def number(value: float) -> str:
    """Return a number briefly, thousands apart."""
    return f"{value:,.0f}".replace(",", "\u202f") if abs(value) >= 1000 else f"{value:.4g}"


def plain(value: Any) -> Any:
    """Return text with invisible and direction-changing characters made visible.

    Everything that a template prints goes through here; markup of our own stays as it is.
    """
    if value is None:
        return ""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return "".join(map(visible, value))


def visible(character: str) -> str:
    """Return a character, or its code point in brackets if it is invisible."""
    if character in _KEPT or unicodedata.category(character) not in _HIDDEN:
        return character
    return f"⟨U+{ord(character):04X}⟩"


def sentence(text: str) -> str:
    """Return words with a capital first; what follows stays as it is, for a name may be among it."""
    return text[:1].upper() + text[1:]


def without_attempt(detail: str) -> str:
    """Return a line of the log without the attempt's UUID at its beginning: its task stands before it."""
    found = _ATTEMPT.match(detail)
    return detail[found.end() :] if found else detail


def commands(text: str) -> Markup:
    """Return a text in which words between backticks, as commands are, stand out."""
    parts = (Markup("<code>{}</code>" if odd else "{}").format(plain(part)) for odd, part in _alternately(text))  # noqa: S704  constants
    return Markup().join(parts)


def _alternately(text: str) -> Iterator[tuple[bool, str]]:
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one of them stands alone
        parts = [text]
    return ((bool(number % 2), part) for number, part in enumerate(parts))


def as_terminal(text: str) -> str:
    """Return what a program wrote as a terminal leaves it: no colours, and of a line that was written over the last."""
    lines = _SEQUENCE.sub("", text).split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
