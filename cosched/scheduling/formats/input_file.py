"""Read a user's file with a bounded size and check each element of its JSON.

Faults name the file and the path of the element: `queue.json: tasks[3].deadline: …`.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = [
    "LONGEST",
    "SHORTEST",
    "quoted",
    "read_file",
    "read_json",
    "read_list",
    "read_name",
    "read_object",
    "read_time",
]


_MOST_BYTES = 256 * 2**20
_Parsed = TypeVar("_Parsed")


def read_file(path: Path, parse: Callable[[str], _Parsed], most: int = _MOST_BYTES) -> _Parsed:
    """Return what `parse` makes of a file's text.

    Args:
        path: unpacked first where it ends in .gz.
        parse: may raise a UserError.
        most: bytes that the text may have.

    Raises:
        UserError: the file cannot be read, or `parse` refuses it; the message begins with the path.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(most + 1)  # a pipe, a device or a packed file does not say how much there is
        if len(data) > most:
            raise UserError(f"{path}: more than {most} bytes are too many")
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise UserError(f"{path}: is no whole gzip file: fetch it again") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: byte {error.start} is not UTF-8: save the file as UTF-8") from error
    try:
        return parse(text)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


SHORTEST = 1e-9
"""The least time above 0, in seconds: of times whose squares are no numbers any more nothing can be computed."""

LONGEST = 10 * 365 * 86400.0
"""The longest time, in seconds."""


def read_json(text: str) -> object:
    """Return the value of a JSON text; refuse an object that has a key twice.

    Raises:
        UserError: with line and column.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise UserError(f"the key {quoted(twice)} is there twice in one object: keep one")
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


def read_object(value: object, where: str, known: set[str], needed: set[str]) -> dict[str, Any]:
    """Return an object with all needed and only known keys, without null values.

    Raises:
        UserError: it is another value; the message begins with its path, `where`, as in all functions below.
    """
    prefix = f"{where}: " if where else ""
    if not isinstance(value, dict):
        raise UserError(f"{prefix}give an object with {', '.join(sorted(known))}")
    for key in value:
        if key not in known:
            raise UserError(f"{prefix}unknown key {quoted(key)}: known are {', '.join(sorted(known))}")
    found = {key: inner for key, inner in value.items() if inner is not None}
    for key in sorted(needed):
        if key not in found:
            raise UserError(f"{prefix}{key} is missing: add it")
    return found


def read_list(value: object, where: str, least: int, most: int) -> list[Any]:
    """Return a list of `least` to `most` elements."""
    if not isinstance(value, list):
        raise UserError(f"{where}: give a list")
    if not least <= len(value) <= most:
        raise UserError(f"{where}: {len(value)} elements: give {least} to {most}")
    return value


def read_name(value: object, where: str) -> str:
    """Return a text that can be a name."""
    if not isinstance(value, str) or not 1 <= len(value) <= 200 or not value.isprintable() or value != value.strip():
        raise UserError(f"{where}: {quoted(value)} is no name: give a text of 1 to 200 printable characters")
    return value


def read_time(value: object, where: str, *, zero: bool = False) -> float:
    """Return a number of seconds, from a nanosecond to ten years; 0 only where `zero`."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not (0 <= number <= LONGEST) or (number == 0 and not zero):  # before float(): an int may be too large for it
        least = "0 or more" if zero else "above 0"
        raise UserError(f"{where}: {quoted(value)} is no time: give seconds {least} and at most {LONGEST:.0f}")
    if 0 < number < SHORTEST:
        raise UserError(f"{where}: {quoted(value)} is too short a time: give at least {SHORTEST:g} seconds")
    return float(number)


def quoted(value: object) -> str:
    """Return a short printable form of a value."""
    text = ascii(value)
    return text if len(text) <= 40 else f"{text[:37]}…"
