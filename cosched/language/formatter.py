"""The canonical layout of PSL and HMCL text: `format_source` is `cosched model format`.

Statements are read off the tokens (`read_statements`), for the tree keeps no comments; then each is laid out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.language.parser.parse import parse_hmcl, parse_psl
from cosched.language.tokens import interrupted, reindented, tokens, unbroken, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.language.diagnostics import Source
    from cosched.language.tokens import Token

__all__ = ["Statement", "format_source", "read_statements"]


# What is in the braces after a word, by where the word stands; `*` is any other word.
_BLOCKS = {
    "psl": {"*": "object"},
    "hmcl": {"*": "groups"},
    "object": {"link": "links", "option": "settings", "proc": "procedure"},
    "groups": {"clc": "operations", "*": "settings"},
    "exec": {"step": "devices"},
    "cflow": {"case": "arms", "measured": "table"},
    "tunable": {"task_select": "choices"},
}
_GUARDS = {"exec": ("for", "while", "if"), "cflow": ("loop",), "tunable": ("task_loop",)}
_STAGES = ("task", "task_select", "task_loop")
_CFLOW = ("compute", "loop", "case", "measured", "call")


@dataclass
class Statement:
    """A statement ends with `;` or has a body.

    Attributes:
        head: all tokens of a simple statement; else those before the body, with its `{` if there is one.
        context: where a simple statement stands (`links` for a declaration too: a list with a head); what the body of
            any other is.
        body: the statements of a body; None where there is none.
        close: the `}` of the body.
        other: the part that begins with `else` or `finally`.
    """

    head: list[Token]
    context: str
    body: list[Statement] | None = None
    close: Token | None = None
    other: Statement | None = None


def read_statements(found: Sequence[Token], language: str) -> tuple[list[Statement], Token]:
    """Return the statements of a text, and the token at its end.

    Args:
        found: all tokens of a text that the parser accepts.
        language: `psl` or `hmcl`.
    """
    return _StatementReader(found).statements(language), found[-1]


class _StatementReader:
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
        if context == "choices":
            return self._choice()
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

    def _condition(self) -> list[Token]:
        """Return a word and the condition behind it."""
        head, depth = [self._take()], 0
        while not (depth == 1 and self._next() == ")"):
            depth += (self._next() == "(") - (self._next() == ")")
            head.append(self._take())
        return [*head, self._take()]

    def _guarded(self, context: str, head: list[Token]) -> Statement:
        """Return a statement with a condition, a body and perhaps an `else`."""
        word = self._next()
        head += self._condition()
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

    def _choice(self) -> Statement:
        """Return an arm of a `task_select` with its `finally`."""
        head = self._condition()
        if self._next() == "{":
            choice = self._braced([*head, self._take()], "tunable")
        else:
            body = []
            while self._next() in _STAGES:
                body.append(self._statement("tunable"))
            choice = Statement(head, "tunable", body)
        if self._next() == "finally":
            choice.other = self._braced(self._until("{"), "finals")
        return choice

    def _table(self) -> Statement:
        start = self._at
        while self._next() != "}":
            self._at += 1
        return Statement(list(self._tokens[start : self._at]), "table")


# Two texts with the same tokens in the same order have one layout: line breaks, blank lines and spaces do not count,
# only which comments have a line of their own.


_INDENT = 4
_FURTHER = 8

_SHORT = (
    "links",
    "settings",
    "operations",
    "devices",
    "table",
    "finals",
)  # on one line where there is but one statement
_LISTS = ("links", "settings")  # one element a line where they are too long for one
_FILLED = ("operations", "table")  # as many on a line as there is room for
_TOGETHER = ("include", "var")  # sections without blank lines between


def format_source(source: Source) -> str:
    """Return a model or hardware file in canonical layout; its meaning does not change.

    Raises:
        ModelError: the text has syntax errors.
    """
    hmcl = source.file.endswith(".hmcl")
    (parse_hmcl if hmcl else parse_psl)(source)
    first, *others = tokens(source.text)
    head = first.before[:1]  # the first comment is the file's
    statements, end = read_statements([replace(first, before=first.before[1:]), *others], "hmcl" if hmcl else "psl")
    blocks = [_comments(head, 0), *(_laid_out(statement, 0) for statement in statements), _comments(end.before, 0)]
    return "\n".join([*_apart([block for block in blocks if block], lambda _before, _after: True), ""])


def _laid_out(statement: Statement, indent: int) -> list[str]:
    """Return the lines of a statement with the comments above it."""
    return [*_comments(statement.head[0].before, indent), *_lines(statement, indent)]


def _lines(statement: Statement, indent: int) -> list[str]:
    if statement.body is None:
        return _simple(statement, indent)
    other = statement.other
    if statement.close is None:
        lines = _unbraced(statement, indent)
        return lines + _laid_out(other, indent) if other else lines
    if other is None and (short := _on_one_line(statement, indent)):
        return short
    lines = [*wrapped(statement.head, indent, _FURTHER), *_within(statement, indent + _INDENT)]
    lines += _comments(statement.close.before, indent + _INDENT)
    if other is None:
        return lines + wrapped([statement.close], indent, 0)
    if other.head[0].before:
        return lines + wrapped([statement.close], indent, 0) + _laid_out(other, indent)
    return lines + _lines(replace(other, head=[statement.close, *other.head]), indent)


def _unbraced(statement: Statement, indent: int) -> list[str]:
    """Return the lines of a condition and its statement, one line if possible."""
    if short := _beside(statement, indent):
        return short
    return [*wrapped(statement.head, indent, _FURTHER), *_within(statement, indent + _INDENT)]


def _within(statement: Statement, indent: int) -> list[str]:
    """Return the lines of a body."""
    blocks = [_laid_out(inner, indent) for inner in statement.body or ()]
    words = [inner.head[0].text for inner in statement.body or ()]
    if statement.context == "object":
        return _apart(blocks, lambda at, to: words[at] != words[to] or words[at] not in _TOGETHER)
    if statement.context == "groups":
        return _apart(blocks, lambda at, to: max(len(blocks[at]), len(blocks[to])) > 1)
    return _apart(blocks, lambda at, to: words[at] == "var" != words[to])


def _apart(blocks: Sequence[list[str]], blank: Callable[[int, int], bool]) -> list[str]:
    """Return the lines of all blocks, with a blank line wherever `blank` asks for one."""
    lines: list[str] = []
    for place, block in enumerate(blocks):
        if place and blank(place - 1, place):
            lines.append("")
        lines += block
    return lines


def _simple(statement: Statement, indent: int) -> list[str]:
    """Return the lines of a statement without a body.

    A long list has a line for each element.
    """
    line = statement.head
    if short := unbroken([line], indent):
        return short
    elements = _elements(line, headed=statement.context == "links")
    aside = interrupted(line)
    if statement.context == "table" and not aside:
        return _rows(elements, indent)
    if not (statement.context in _LISTS or (aside and statement.context in _FILLED)):
        return wrapped(line, indent, _INDENT)
    lines: list[str] = []
    if statement.context == "links":
        lines += wrapped(elements.pop(0), indent, _INDENT)
        indent += _INDENT
    for element in elements:
        lines += _comments(element[0].before, indent) if element[0] is not line[0] else []
        lines += wrapped(element, indent, _INDENT)
    return lines


def _rows(elements: Sequence[list[Token]], indent: int) -> list[str]:
    """Return the lines of a table: as few as fit, with equally many elements each."""
    for count in range(2, len(elements)):
        wide = -(-len(elements) // count)
        rows = [unbroken(elements[start : start + wide], indent) for start in range(0, len(elements), wide)]
        if all(rows):
            return [line for row in rows for line in row or ()]
    return [line for element in elements for line in wrapped(element, indent, _INDENT)]


def _elements(line: Sequence[Token], *, headed: bool) -> list[list[Token]]:
    """Return a list's head up to its `:` and its elements with their commas.

    The head may be missing.
    """
    elements: list[list[Token]] = [[]]
    depth = 0
    for token in line:
        elements[-1].append(token)
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if depth == 0 and (token.text == "," or (token.text == ":" and headed and len(elements) == 1)):
            elements.append([])
    return elements


def _on_one_line(statement: Statement, indent: int) -> list[str] | None:
    """Return a statement with braces as one line, if it may be one and fits."""
    body = statement.body or []
    if statement.close is None or (body and (statement.context not in _SHORT or len(body) > 1)):
        return None
    return unbroken([statement.head, *(inner.head for inner in body), [statement.close]], indent)


def _beside(statement: Statement, indent: int) -> list[str] | None:
    """Return a condition and its simple statement as one line, if it fits."""
    inner, *further = statement.body or [statement]
    if further or inner is statement:
        return None
    if inner.body is None:
        return unbroken([statement.head, inner.head], indent)
    if inner.close is None or not _on_one_line(inner, indent):
        return None
    return unbroken([statement.head, inner.head, *(within.head for within in inner.body), [inner.close]], indent)


def _comments(comments: Sequence[str], indent: int) -> list[str]:
    return [line for text in comments for line in (" " * indent + reindented(text, indent)).split("\n")]
