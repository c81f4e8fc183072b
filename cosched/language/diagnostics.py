"""The text of a model file, and the faults found at its positions.

`read` and `decode` bound what a text may be; a `ModelError` carries every `Diagnostic`; `suggestion` finds near names.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


__all__ = ["LARGEST_FILE", "Diagnostic", "ModelError", "Source", "decode", "read", "suggestion"]


"""Most faults that are reported of one object or configuration."""

_WIDEST_LINE = 160
# Looking for near matches costs time for each pair of words.
_LONGEST_WORD = 64
_MOST_CANDIDATES = 2000
_ALIKE = 0.65  # of two words that may be meant for one another, from 0 to 1: "survey" and "closure" are not


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
    if len(word) > _LONGEST_WORD:
        return ""
    by_case = {name.casefold(): name for name in islice(known, _MOST_CANDIDATES)}
    near = difflib.get_close_matches(word.casefold(), by_case, n=3, cutoff=_ALIKE)
    return f": did you mean {' or '.join(by_case[name] for name in near)}?" if near else ""


LARGEST_FILE = 256 * 1024
"""Most bytes of one model file."""

# Characters that are invisible or reorder what a reader sees (Unicode TR 36), and those no text file contains.
_REFUSED = re.compile("[\x00\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Source:
    """A file's name as people know it, and its text."""

    file: str
    text: str = field(repr=False)

    def line(self, number: int) -> str:
        """Return the text of a line (counted from 1), empty past the end."""
        lines = _lines(self.text)
        return lines[number - 1].rstrip("\r") if 1 <= number <= len(lines) else ""

    def fault(self, position: tuple[int, int], message: str) -> Diagnostic:
        """Return a diagnostic at (line, column) that carries the line's text."""
        line, column = position
        return Diagnostic(self.file, line, column, message, self.line(line))


@lru_cache(maxsize=4)
def _lines(text: str) -> list[str]:
    return text.split("\n")


def read(path: Path) -> Source:
    """Read a model file.

    Raises:
        ModelError: it cannot be read, is too large or is no plain UTF-8 text.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe, say, without a writer
            raise ModelError([Diagnostic(str(path), 1, 1, "cannot be read: it is no file")])
        with path.open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise ModelError([Diagnostic(str(path), 1, 1, reason)]) from None
    return decode(content, str(path))


def decode(content: bytes | str, file: str) -> Source:
    """Return a model's text, given as bytes or as text.

    Bytes are UTF-8, with a byte order mark or without.

    Raises:
        ModelError: too large, another encoding, or characters that no model may contain.
    """
    if len(content) > LARGEST_FILE:
        raise ModelError([Diagnostic(file, 1, 1, f"larger than {LARGEST_FILE // 1024} KiB: split the model")])
    text = content if isinstance(content, str) else _utf8(content, file)
    source = Source(file, text.removeprefix("\ufeff"))
    refused = _REFUSED.search(source.text)
    if refused:
        line = source.text.count("\n", 0, refused.start()) + 1
        column = refused.start() - source.text.rfind("\n", 0, refused.start())
        character = ord(refused.group())
        raise ModelError([Diagnostic(file, line, column, f"character U+{character:04X} is not allowed: remove it")])
    return source


def _utf8(content: bytes, file: str) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ModelError([Diagnostic(file, 1, 1, "is UTF-16: save it as UTF-8")])
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        message = f"byte 0x{content[error.start]:02X} is not UTF-8: save the file as UTF-8"
        raise ModelError([Diagnostic(file, line, column, message)]) from None
