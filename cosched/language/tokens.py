"""Tokens of a text with their comments, and statements broken into lines of them.

The formatter's lower half; start at `tokens` and `wrapped`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LINE_WIDTH", "Token", "interrupted", "reindented", "spaced", "tokens", "unbroken", "wrapped"]


_TOKEN = re.compile(
    r"""(?P<comment>\(\*[\s\S]*?\*\))|(?P<newline>\n)|(?P<space>[ \t\r\f]+)|(?P<string>"[^"\n]*")
    |(?P<factor>(?P<times>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[ \t]*x\b)
    |(?P<quantity>(?P<number>(?:[0-9]+(?:\.(?!\.)[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
       (?:[ \t]*(?P<unit>(?:[kMG]?B|[KMG]iB|[kMG]?bit)(?:/s)?|ns|us|ms|s|min|h)\b)?)
    |(?P<name>[A-Za-z_]\w*)|(?P<mark>\|\||&&|[=!<>]=|\.\.|.)""",
    re.VERBOSE,
)
_USAGES = (["is", "clc"], ["is", "measured"], ["is", "memory"], ["is", "block"])
_OPENING, _CLOSING = ("(", "["), (")", "]")
_SIGNS = ("-", "+", "!")
_BEFORE_EXPRESSIONS = (
    *("for", "while", "if", "else", "loop", "case", "measured", "in", "on", "return", "confdev"),
    *("when", "task_loop", "by"),
)


@dataclass(frozen=True)
class Token:
    """A word, number, text or mark.

    Attributes:
        kind: `name`, `quantity`, `factor`, `string`, `mark`, or `end` for the end of the file.
        text: a number and its unit have one space between them, a factor as `2x` none.
        before: comments on lines of their own above it.
        after: comments behind it on its line.
    """

    kind: str
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def tokens(text: str) -> list[Token]:
    """Return the tokens of a text that the parser accepts, and its end."""
    found: list[tuple[str, str]] = []
    above: list[list[str]] = [[]]
    beside: list[list[str]] = []
    alone = True  # whether a comment would be the first on its line, or follows such a one
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind == "newline":
            alone = True
        elif kind == "comment":
            (above[-1] if alone else beside[-1]).append(match.group())
        elif kind != "space":
            found.append((kind, _shown(match)))
            beside.append([])
            above.append([])
            alone = False
    words = [
        Token(kind, shown, tuple(before), tuple(after))
        for (kind, shown), before, after in zip(found, above, beside, strict=False)
    ]
    return [*words, Token("end", "", tuple(above[-1]))]


def _shown(match: re.Match[str]) -> str:
    if match["factor"]:
        return f"{match['times']}x"
    return f"{match['number']} {match['unit']}" if match["unit"] else match.group()


def spaced(line: Sequence[Token]) -> list[bool]:
    """Return for each token of a statement whether a space goes before it."""
    spaces, usage, counts, depth = [], False, False, 0
    before, sign = Token("", ""), False
    inside = 0  # brackets that are open, within which braces are tight
    for place, token in enumerate(line):
        following = [following.text for following in line[place + 1 : place + 3]]
        opens = token.text == "<" and following in _USAGES
        closes = usage and depth == 0 and token.text == ">"
        counts = usage and (counts or (before.text == "is" and token.text == "clc"))  # rather than measured or memory
        tight = counts and depth == 0 and "*" in (token.text, before.text)
        first_of_usage = usage and before.text == "<" and token.text == "is"
        braced = inside > 0 and (before.text == "{" or token.text == "}")
        adjoins = _adjoin(before, token) and not (token.text == "[" and _names_task(line, place))
        spaces.append(not (place == 0 or sign or closes or tight or first_of_usage or braced or adjoins))
        inside += (token.text in _OPENING) - (token.text in _CLOSING)
        usage = (usage or opens) and not closes
        if usage and token.kind == "mark":
            depth += (token.text == "(") - (token.text == ")")
        operand = before.kind in ("name", "quantity", "factor", "string") and before.text not in _BEFORE_EXPRESSIONS
        sign = token.kind == "mark" and token.text in _SIGNS and not (operand or before.text in (")", "]"))
        before = token
    return spaces


def _names_task(line: Sequence[Token], place: int) -> bool:
    """Return whether a task's name stands before this place of a statement, and no vector's."""
    return place >= 2 and line[place - 2].text == "task"


def _adjoin(before: Token, token: Token) -> bool:
    """Return whether two tokens stand together without a space."""
    if before.text in ("(", "[", ".") or token.text in (")", "]", ",", ";", ":", "."):
        return True
    return token.text in ("(", "[") and before.kind == "name" and before.text not in _BEFORE_EXPRESSIONS


LINE_WIDTH = 120
"""Characters of a line, where it can be broken at all: a comment or a text cannot."""

_NOT_HERE = (9, 0, 0)
_RANKS = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<": 4,
    ">": 4,
    "<=": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "%": 6,
    "^": 7,
}


class _Piece(NamedTuple):
    """A token or comment with its space, and the penalty of a break before it."""

    text: str
    space: bool
    badness: tuple[int, int, int] = _NOT_HERE


def interrupted(line: Sequence[Token]) -> bool:
    """Return whether a comment stands within a statement."""
    return any(token.after for token in line[:-1]) or any(token.before for token in line[1:])


def unbroken(parts: Sequence[Sequence[Token]], indent: int) -> list[str] | None:
    """Return parts of a statement on one line, or None if that is impossible.

    A comment or the width may forbid it.

    The comment behind it needs no room, and may have further lines.
    """
    line = [token for part in parts for token in part]
    if interrupted(line):
        return None
    code = " " * indent + " ".join(_line(_pieces([replace(token, after=()) for token in part]), 0) for part in parts)
    return _line([_Piece(code, space=False), *_comments(line[-1])], 0).split("\n") if len(code) <= LINE_WIDTH else None


def wrapped(line: Sequence[Token], indent: int, further: int) -> list[str]:
    """Return the lines of a statement.

    Args:
        line: its tokens. Comments above the first one are left out.
        indent: indentation of the first line, in characters.
        further: how much further in the other lines are.
    """
    lines: list[str] = []
    pieces = _pieces(line)
    start, place, column = 0, 0, indent
    best: int | None = None  # where this line would be broken
    while place < len(pieces):
        piece = pieces[place]
        if place > start and piece.badness < _NOT_HERE and (best is None or piece.badness <= pieces[best].badness):
            best = place
        column = _end(column + (piece.space and place > start), piece.text)
        if column > LINE_WIDTH and best is not None and not piece.text.startswith("(*"):
            lines.append(_line(pieces[start:best], indent + further * bool(lines)))
            start = place = best
            best, column = None, indent + further
        else:
            place += 1
    return [*lines, _line(pieces[start:], indent + further * bool(lines))]


def reindented(comment: str, column: int) -> str:
    """Return a comment that begins in a column (from 0).

    Later lines are below its first word.
    """
    column = min(column, LINE_WIDTH)  # comments behind one another must not stand further in without end
    first, *rest = (line.rstrip() for line in comment.expandtabs().split("\n"))
    closing = rest.pop() if rest and rest[-1].strip() == "*)" else None
    margin = min((len(line) - len(line.lstrip()) for line in rest if line), default=0)
    lines = [first, *(" " * (column + 3) + line[margin:] if line else "" for line in rest)]
    if closing is not None:
        lines.append(" " * column + "*)")
    return "\n".join(lines)


def _end(column: int, text: str) -> int:
    """Return in which column a text ends that begins in one."""
    return column + len(text) if "\n" not in text else len(reindented(text, column).rpartition("\n")[2])


def _line(pieces: Sequence[_Piece], indent: int) -> str:
    column = indent
    parts = [" " * indent]
    for place, piece in enumerate(pieces):
        space = piece.space and place > 0
        parts += [" " * space, reindented(piece.text, column + space) if "\n" in piece.text else piece.text]
        column = _end(column + space, piece.text)
    return "".join(parts)


def _pieces(line: Sequence[Token]) -> list[_Piece]:
    pieces: list[_Piece] = []
    depth, before = 0, ""
    for place, (token, space) in enumerate(zip(line, spaced(line), strict=True)):
        if place:  # where a comment is alone on its line within a statement, it goes behind the word before it
            pieces += [_Piece(comment, space=True) for comment in token.before]
        depth -= token.text in (")", "]")
        after_comment = bool(pieces) and pieces[-1].text.startswith("(*")
        pieces.append(
            _Piece(token.text, space or after_comment, _badness(before, token, depth) if space else _NOT_HERE)
        )
        depth += token.text in ("(", "[")
        pieces += _comments(token)
        before = token.text
    return pieces


def _comments(token: Token) -> list[_Piece]:
    return [_Piece(comment, space=True) for comment in token.after]


def _badness(before: str, token: Token, depth: int) -> tuple[int, int, int]:
    if before in (",", ";"):
        return (0, depth, 0)
    if token.kind == "mark" and token.text in _RANKS:
        return (0, depth, _RANKS[token.text])
    return _NOT_HERE if token.text == "{" else (1, depth, 0)
