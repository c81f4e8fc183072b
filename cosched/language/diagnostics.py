"""Faults of model files: where they are and how people and editors read them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cosched.language.source import Source
    from cosched.language.syntax import Node

__all__ = ["MOST_FAULTS", "Diagnostic", "Findings", "ModelError", "TooManyFaults", "suggestion"]

MOST_FAULTS = 200
"""Most faults that are reported of one object or configuration."""

_WIDEST_LINE = 160
# Looking for near matches costs time for each pair of words.
_LONGEST_WORD = 64
_MOST_CANDIDATES = 2000


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


class TooManyFaults(Exception):  # noqa: N818  the end of a check, no error of the program
    """So much is wrong that looking further helps nobody."""


@dataclass
class Findings:
    """The faults of one source, up to a bound.

    Attributes:
        source: that is checked.
        faults: in the order found.
    """

    source: Source
    faults: list[Diagnostic] = field(default_factory=list)

    def report(self, node: Node, message: str) -> None:
        """Add a fault.

        Raises:
            TooManyFaults: that was the last one that is reported.
        """
        self.faults.append(self.source.fault(node.at, message))
        if len(self.faults) >= MOST_FAULTS:
            self.faults.append(self.source.fault(node.at, f"{MOST_FAULTS} faults so far: mend these first"))
            raise TooManyFaults


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return `: did you mean …?` for the known words nearest to `word`, or nothing."""
    if len(word) > _LONGEST_WORD:
        return ""
    by_case = {name.casefold(): name for name in islice(known, _MOST_CANDIDATES)}
    near = difflib.get_close_matches(word.casefold(), by_case, n=3, cutoff=0.6)
    return f": did you mean {' or '.join(by_case[name] for name in near)}?" if near else ""
