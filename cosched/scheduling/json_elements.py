"""The elements of a JSON file, each checked where it is read and refused with its path: `tasks[3].deadline: …`."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

from cosched.errors import UserError

__all__ = ["LONGEST", "SHORTEST", "a_list", "a_name", "a_time", "an_object", "read_json", "shown"]

SHORTEST = 1e-9
"""The least time above 0, in seconds: of times whose squares are no numbers any more nothing can be computed."""

LONGEST = 10 * 365 * 86400.0
"""The longest time, in seconds."""


def read_json(text: str) -> object:
    """Return the value that a JSON text stands for; a key that is there twice in an object is refused.

    Raises:
        UserError: with line and column.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise UserError(f"the key {shown(twice)} is there twice in one object")
        return found

    try:
        document: object = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise UserError(f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise UserError("not a problem: it is nested too deeply") from error
    except ValueError as error:  # a number of thousands of digits
        raise UserError(f"not JSON: {error}") from error
    return document


def an_object(value: object, where: str, known: set[str], needed: set[str]) -> dict[str, Any]:
    """Return an object that has the needed keys and none but the known ones; those that are null are left out.

    Raises:
        UserError: with its path, `where`; as of all the functions below.
    """
    prefix = f"{where}: " if where else ""
    if not isinstance(value, dict):
        raise UserError(f"{prefix}give an object with {', '.join(sorted(known))}")
    for key in value:
        if key not in known:
            raise UserError(f"{prefix}unknown key {shown(key)}: known are {', '.join(sorted(known))}")
    found = {key: inner for key, inner in value.items() if inner is not None}
    for key in sorted(needed):
        if key not in found:
            raise UserError(f"{prefix}{key} is missing")
    return found


def a_list(value: object, where: str, least: int, most: int) -> list[Any]:
    """Return a list of `least` to `most` elements."""
    if not isinstance(value, list):
        raise UserError(f"{where}: give a list")
    if not least <= len(value) <= most:
        raise UserError(f"{where}: {len(value)} elements: give {least} to {most}")
    return value


def a_name(value: object, where: str) -> str:
    """Return a text that can be a name."""
    if not isinstance(value, str) or not 1 <= len(value) <= 200 or not value.isprintable() or value != value.strip():
        raise UserError(f"{where}: {shown(value)} is no name: give a text of 1 to 200 printable characters")
    return value


def a_time(value: object, where: str, *, zero: bool = False) -> float:
    """Return a number of seconds, from a nanosecond to ten years; 0 only where `zero`."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not (0 <= number <= LONGEST) or (number == 0 and not zero):  # before float(): an int may be too large for it
        least = "0 or more" if zero else "above 0"
        raise UserError(f"{where}: {shown(value)} is no time: give seconds {least} and at most {LONGEST:.0f}")
    if 0 < number < SHORTEST:
        raise UserError(f"{where}: {shown(value)} is too short a time: give at least {SHORTEST:g} seconds")
    return float(number)


def shown(value: object) -> str:
    """Return a short printable form of whatever was found."""
    text = ascii(value)
    return text if len(text) <= 40 else f"{text[:37]}…"
