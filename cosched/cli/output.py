"""Print the results of all commands: JSON or text, one-line errors, exit codes."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "JsonOption",
    "LimitOption",
    "OffsetOption",
    "clean",
    "console",
    "emit_json",
    "figure",
    "finite",
    "percentage",
    "print_answer",
    "print_table",
    "remove_each",
    "write_text",
]

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, stable and documented, instead of text.")]
LimitOption = Annotated[int, typer.Option(min=1, max=1000, help="Show at most this many, the newest.")]
OffsetOption = Annotated[int, typer.Option(min=0, help="Leave out this many of the newest.")]

console = Console(soft_wrap=True, highlight=False)
"""Where tables and text for people go (standard output)."""


def clean(text: str) -> str:
    """Return text with unprintable characters as escapes, so that none steers a terminal."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, never cut short; columns that are empty throughout are left out."""
    lines = [[clean(cell) for cell in row] for row in rows]
    used = [place for place in range(len(headings)) if not lines or any(line[place] for line in lines)]
    widths = {place: max(cell_len(line[place]) for line in (headings, *lines)) for place in used}
    for line in (headings, *lines):
        cells = [line[place] + " " * (widths[place] - cell_len(line[place])) for place in used]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def finite(value: float | None) -> float | None:
    """Return the number, or None for infinity and NaN, which JSON lacks."""
    return value if value is not None and math.isfinite(value) else None


def figure(value: float, digits: int) -> str:
    """Return a number with at least `digits`; whole numbers as people count them, no 3.006e+05."""
    return f"{value:.0f}" if 10 ** (digits - 1) <= abs(value) < 1e15 else f"{value:.{digits}g}"


def percentage(share: float) -> str:
    """Return a share of 1 in percent, the larger the fewer places: 0.12%, 2.3%, 235%."""
    return f"{share:.{0 if abs(share) >= 0.1 else 1 if abs(share) >= 0.01 else 2}%}"


def emit_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print one JSON document and a newline to standard output."""
    # What this terminal's encoding lacks would be written as what JSON has not.
    escaped = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    json.dump(document, sys.stdout, indent=2, allow_nan=False, ensure_ascii=escaped)
    sys.stdout.write("\n")


def print_answer(json: bool, document: Mapping[str, Any] | Sequence[Any], lines: Callable[[], Sequence[str]]) -> None:
    """Print an answer as JSON where that was asked for, else as lines for people."""
    if json:
        emit_json(document)
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lines()))


def remove_each(ids: Sequence[str], remove: Callable[[str], None], words: str, *, json: bool) -> None:
    """Remove several by their identifiers, and say which are gone; exit code 1 where one could not be.

    Args:
        ids: identifiers; where one is refused the others are removed all the same.
        remove: removes one.
        words: what is printed of one that is gone, with {} for its identifier.
        json: print documents.

    Raises:
        SystemFault: the daemon does not answer; what was removed before is printed.
    """
    gone: list[str] = []
    refused: list[str] = []
    try:
        for each in ids:
            try:
                remove(each)
            except UserError as error:
                refused.append(str(error))
            else:
                gone.append(each)
    finally:
        if gone or refused:
            print_answer(json, [{"id": each} for each in gone], lambda: [words.format(clean(each)) for each in gone])
        sys.stderr.write("".join(f"cosched: {clean(reason)}\n" for reason in refused))
    if refused:
        raise typer.Exit(1)


def write_text(path: Path, text: str) -> None:
    """Write a file that the user asked for.

    Raises:
        UserError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as fault:
        raise UserError(f"{path} cannot be written: {fault.strerror or fault}") from None
