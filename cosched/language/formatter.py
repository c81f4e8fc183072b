"""The canonical layout of PSL and HMCL: one for every text that says the same in the same order.

Only tokens count, and which comments have a line of their own; line breaks, blank lines and spaces do not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.language.outline import outline
from cosched.language.parser import parse_hmcl, parse_psl
from cosched.language.tokens import tokens
from cosched.language.wrapping import interrupted, reindented, unbroken, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.language.outline import Statement
    from cosched.language.source import Source
    from cosched.language.tokens import Token

__all__ = ["format_source"]

_INDENT = 4
_FURTHER = 8

_SHORT = ("links", "settings", "operations", "devices", "table")  # on one line where there is but one statement
_LISTS = ("links", "settings")  # one element a line where they are too long for one
_FILLED = ("operations", "table")  # as many on a line as there is room for
_TOGETHER = ("include", "var")  # sections without blank lines between


def format_source(source: Source) -> str:
    """Return the text of a model or of a hardware file in canonical layout. What it says does not change.

    Raises:
        ModelError: the text has syntax errors.
    """
    hmcl = source.file.endswith(".hmcl")
    (parse_hmcl if hmcl else parse_psl)(source)
    first, *others = tokens(source.text)
    head = first.before[:1]  # the first comment is the file's
    statements, end = outline([replace(first, before=first.before[1:]), *others], "hmcl" if hmcl else "psl")
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
    """Return the lines of a condition and of what stands below it, or beside it where there is room."""
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
    """Return the lines of all blocks, with blank ones between those of which `blank` says so."""
    lines: list[str] = []
    for place, block in enumerate(blocks):
        if place and blank(place - 1, place):
            lines.append("")
        lines += block
    return lines


def _simple(statement: Statement, indent: int) -> list[str]:
    """Return the lines of a statement without a body: of a list, one for each element if one is not enough."""
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
    """Return the lines of a table: as few as there is room for, and of the same number of elements."""
    for count in range(2, len(elements)):
        wide = -(-len(elements) // count)
        rows = [unbroken(elements[start : start + wide], indent) for start in range(0, len(elements), wide)]
        if all(rows):
            return [line for row in rows for line in row or ()]
    return [line for element in elements for line in wrapped(element, indent, _INDENT)]


def _elements(line: Sequence[Token], *, headed: bool) -> list[list[Token]]:
    """Return the head of a list, up to its `:`, if it has one, and its elements with the commas behind them."""
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
    """Return a condition and a simple statement as one line, if there is no more to it and it fits."""
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
