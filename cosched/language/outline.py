"""The statements of a text, read off its tokens by what their first words promise: the parser has accepted it before.

Unlike the syntax tree this keeps every token and comment, and nothing else: it is what the layout is made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.language.tokens import Token

__all__ = ["Statement", "outline"]

# What is in the braces after a word, by where the word stands; `*` is any other word.
_BLOCKS = {
    "psl": {"*": "object"},
    "hmcl": {"*": "groups"},
    "object": {"link": "links", "option": "settings", "proc": "procedure"},
    "groups": {"clc": "operations", "*": "settings"},
    "exec": {"step": "devices"},
    "cflow": {"case": "arms", "measured": "table"},
}
_GUARDS = {"exec": ("for", "while", "if"), "cflow": ("loop",)}
_CFLOW = ("compute", "loop", "case", "measured", "call")


@dataclass
class Statement:
    """What ends with `;`, or has a body.

    Attributes:
        head: all tokens of a simple statement; else those before the body, with its `{` if there is one.
        context: where a simple statement stands (`links` for a declaration too: a list with a head); what the body of
            any other is.
        body: the statements of a body; None where there is none.
        close: the `}` of the body.
        other: what begins with `else`.
    """

    head: list[Token]
    context: str
    body: list[Statement] | None = None
    close: Token | None = None
    other: Statement | None = None


def outline(found: Sequence[Token], language: str) -> tuple[list[Statement], Token]:
    """Return the statements of a text, and the token at its end.

    Args:
        found: all tokens of a text that the parser accepts.
        language: `psl` or `hmcl`.
    """
    return _Reader(found).statements(language), found[-1]


class _Reader:
    """Takes statements off a list of tokens."""

    def __init__(self, found: Sequence[Token]) -> None:
        self._tokens = found
        self._at = 0

    def statements(self, context: str) -> list[Statement]:
        """Return the statements up to the next `}` or the end."""
        found = []
        while self._next() != "}" and self._tokens[self._at].kind != "end":
            found.append(self._statement(context))
        return found

    def _next(self) -> str:
        return self._tokens[self._at].text

    def _take(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _until(self, mark: str) -> list[Token]:
        start = self._at
        while self._take().text != mark:
            pass
        return list(self._tokens[start : self._at])

    def _statement(self, context: str) -> Statement:
        word = self._next()
        if word in _GUARDS.get(context, ()):
            return self._guarded(context, [])
        if context == "arms":
            return self._arm()
        if context == "table":
            return self._table()
        blocks = _BLOCKS.get(context, {})
        inner = blocks.get(word) or blocks.get("*")
        if inner is None:
            declares = word == "var" and context in ("object", "exec")
            return Statement(self._until(";"), "links" if declares else context)
        if inner == "procedure":
            inner = self._tokens[self._at + 1].text
        return self._braced(self._until("{"), inner)

    def _braced(self, head: list[Token], context: str) -> Statement:
        return Statement(head, context, self.statements(context), self._take())

    def _guarded(self, context: str, head: list[Token]) -> Statement:
        """Return a statement with a condition and a body, and what is done else."""
        word, depth = self._next(), 0
        head.append(self._take())
        while not (depth == 1 and self._next() == ")"):
            depth += (self._next() == "(") - (self._next() == ")")
            head.append(self._take())
        head.append(self._take())
        statement = self._body(context, head)
        if word == "if" and self._next() == "else":
            other = [self._take()]
            statement.other = self._guarded(context, other) if self._next() == "if" else self._body(context, other)
        return statement

    def _body(self, context: str, head: list[Token]) -> Statement:
        if self._next() == "{":
            return self._braced([*head, self._take()], context)
        return Statement(head, context, [self._statement(context)])

    def _arm(self) -> Statement:
        head = self._until(":")
        if self._next() == "{":
            return self._braced([*head, self._take()], "cflow")
        body = []
        while self._next() in _CFLOW:
            body.append(self._statement("cflow"))
        return Statement(head, "cflow", body)

    def _table(self) -> Statement:
        start = self._at
        while self._next() != "}":
            self._at += 1
        return Statement(list(self._tokens[start : self._at]), "table")
