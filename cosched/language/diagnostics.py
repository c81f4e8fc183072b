"""Faults of model files: where they are and how people and editors read them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Diagnostic", "ModelError", "suggestion"]

_WIDEST_LINE = 160


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """One fault.

    Attributes:
        file: as the user named it.
        line: from 1.
        column: from 1, in characters.
        message: one line; says what is wrong and, where it can, what would be right.
        source: text of the line, for the caret; empty where there is none.
    """

    file: str
    line: int
    column: int
    message: str
    source: str = field(default="", compare=False)

    def __str__(self) -> str:
        """Return `file:line:column: message`."""
        return f"{self.file}:{self.line}:{self.column}: {self.message}"

    def render(self) -> str:
        """Return the fault with the source line and a caret below it."""
        start = max(0, self.column - _WIDEST_LINE // 2)
        shown = self.source[start : start + _WIDEST_LINE]
        if not shown.strip():
            return str(self)
        printable = "".join(character if character.isprintable() else " " for character in shown)
        return f"{self}\n  {printable}\n  {' ' * (self.column - 1 - start)}^"


class ModelError(UserError):
    """A PSL or HMCL model has faults, or cannot be evaluated as asked.

    Attributes:
        diagnostics: every fault found, at least one, in the order of files and lines.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        first, more = self.diagnostics[0], len(self.diagnostics) - 1
        rest = f" (and {more} more: `cosched model check` lists them)" if more else ""
        super().__init__(f"{first}{rest}")


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return `: did you mean …?` for the known words nearest to `word`, or nothing."""
    by_case = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), by_case, n=3, cutoff=0.6)
    return f": did you mean {' or '.join(by_case[name] for name in near)}?" if near else ""
