"""Licences that people ask for as text: "matlab:2,ansys"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MOST_LICENCES", "checked_amounts", "checked_licence", "format_licences", "licences_text", "parse_licences"]

MOST_LICENCES = 1_000_000
"""The most that a domain may have of one, and that a task may ask for."""

_MOST_NAMES = 16  # that a task may ask for
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.@+-]{0,63}")


def checked_licence(name: str) -> str:
    """Return the name of a licence.

    Raises:
        UserError: it is none.
    """
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{name[:80]!r} is no name of a licence: write a letter, then up to 63 letters, digits or _ . @ + -"
        )
    return name


def parse_licences(text: str) -> dict[str, int]:
    """Return how many of each licence a text asks for; nothing where it is empty.

    Args:
        text: names, each with a number where it is not one, as "matlab:2,ansys".

    Raises:
        UserError: it says something else.
    """
    found: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, colon, amount = part.partition(":")
        if "=" in name:
            raise UserError(f"{part[:80]!r} is no licence with a number: write it as matlab:2")
        if checked_licence(name) in found:
            raise UserError(f"licence {name} is there twice: name each once, as in matlab:2,ansys")
        digits = amount if colon else "1"
        if not (digits.isascii() and digits.isdigit() and 1 <= len(digits) <= 7):
            raise UserError(f"{part[:80]!r} is no licence with a number: write it as matlab:2")
        found[name] = int(digits)
    return checked_amounts(found)


def checked_amounts(licences: Mapping[str, int]) -> dict[str, int]:
    """Return what a task asks for, sorted by name.

    Raises:
        UserError: a name or an amount is none.
    """
    if len(licences) > _MOST_NAMES:
        raise UserError(f"{len(licences)} licences are too many: a task may ask for {_MOST_NAMES} of them")
    for name, amount in licences.items():
        checked_licence(name)
        if not 1 <= amount <= MOST_LICENCES:
            raise UserError(f"{amount} of licence {name} is no number of them: give 1 to {MOST_LICENCES}")
    return dict(sorted(licences.items()))


def licences_text(licences: Mapping[str, int]) -> str:
    """Return the text that `parse_licences` reads; names with a number where it is not one."""
    return ",".join(name if amount == 1 else f"{name}:{amount}" for name, amount in sorted(licences.items()))


def format_licences(licences: Mapping[str, int]) -> str:
    """Return licences in words: "2 of ansys and 1 of matlab"; empty for none."""
    parts = [f"{amount} of {name}" for name, amount in sorted(licences.items())]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
