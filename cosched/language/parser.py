"""PSL and HMCL text to syntax trees. Any text ends in a tree or in a `ModelError`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lark import Token, Tree
from lark.exceptions import UnexpectedInput

from cosched.language.builder import build
from cosched.language.diagnostics import Diagnostic, ModelError, suggestion
from cosched.language.grammar import parser
from cosched.language.names import KINDS
from cosched.language.recovery import resume
from cosched.language.syntax import walk
from cosched.language.units import UNITS

if TYPE_CHECKING:
    from cosched.language.source import Source
    from cosched.language.syntax import Config, Node, Object

__all__ = ["DEEPEST_NESTING", "parse_hmcl", "parse_psl"]

DEEPEST_NESTING = 100
"""Deepest tree of an object; evaluation recurses over it."""

_MOST_ERRORS = 20
_MOST_EXPECTED = 6


def parse_psl(source: Source) -> tuple[Object, ...]:
    """Return the objects of a PSL file in the order written.

    Raises:
        ModelError: every syntax error found, at most 20.
    """
    return cast("tuple[Object, ...]", _parse("psl", source))


def parse_hmcl(source: Source) -> tuple[Config, ...]:
    """Return the configurations of an HMCL file in the order written.

    Raises:
        ModelError: every syntax error found, at most 20.
    """
    return cast("tuple[Config, ...]", _parse("hmcl", source))


def _parse(language: str, source: Source) -> tuple[Node, ...]:
    errors: list[Diagnostic] = []

    def report(error: UnexpectedInput) -> bool:
        diagnostic = _diagnostic(error, source)
        if not errors or diagnostic != errors[-1]:
            errors.append(diagnostic)
        return len(errors) < _MOST_ERRORS and resume(error, source.text)

    tree = None
    try:
        tree = parser(language).parse(source.text, on_error=report)
    except UnexpectedInput as error:
        if not errors:
            errors.append(_diagnostic(error, source))
    if errors:
        raise ModelError(errors)
    assert isinstance(tree, Tree)
    nodes: tuple[Node, ...] = build(tree, source)
    _refuse_deep(nodes, source)
    return nodes


def _refuse_deep(nodes: tuple[Node, ...], source: Source) -> None:
    for node, depth in walk(*nodes):
        if depth > DEEPEST_NESTING:
            message = f"nested deeper than {DEEPEST_NESTING} levels: split it"
            raise ModelError([source.fault(node.at, message)])


def _diagnostic(error: UnexpectedInput, source: Source) -> Diagnostic:
    token = getattr(error, "token", None)
    if isinstance(token, Token) and token.type == "$END":
        last = source.text.rstrip()
        line, column = last.count("\n") + 1, len(last) - last.rfind("\n")
        return source.fault((line, column), f"the file ends too early{_expected(error)}")
    position = (max(error.line, 1), max(error.column, 1))
    if isinstance(token, Token):
        return source.fault(position, _unexpected(token, error, source))
    start = error.pos_in_stream or 0
    found = source.text[start : start + 1]
    if found == '"':
        return source.fault(position, 'the text is not closed: a string ends with " on its line')
    return source.fault(position, f"unexpected character {found!r}")


def _unexpected(token: Token, error: UnexpectedInput, source: Source) -> str:
    start = token.start_pos or 0
    if source.text.startswith("(*", start) or source.text.startswith("(*", start - 1):
        return "the comment is not closed: it ends with *)"
    before = source.text[:start].rstrip()
    if token.type == "ID" and before[-1:].isdigit() and _after_number(error):
        return f"{str(token)!r} is no unit{suggestion(token, UNITS) or ', and an operator is missing'}"
    shown = str(token) if len(token) <= 40 else f"{token[:40]}…"
    words = [word for name in _accepts(error) for word in (KINDS if name == "KIND" else [name.lower()])]
    near = suggestion(token, words) if token.type == "ID" else ""
    return f"unexpected {shown!r}{near or _expected(error)}"


def _after_number(error: UnexpectedInput) -> bool:
    return {"PLUS", "STAR"} <= set(_accepts(error))


def _accepts(error: UnexpectedInput) -> list[str]:
    return sorted(getattr(error, "accepts", None) or getattr(error, "expected", None) or ())


def _expected(error: UnexpectedInput) -> str:
    names = [_WORDS.get(name, name.lower()) for name in _accepts(error) if name not in ("$END", "COMMENT", "SPACE")]
    if not names or len(names) > _MOST_EXPECTED:
        return ""
    return f": expected {' or '.join(sorted(set(names)))}"


_WORDS = {"ID": "a name", "NUMBER": "a number", "QUANTITY": "a number with a unit", "STRING": "a text",
          "KIND": "application, subtask or partmp", "RBRACE": "'}'", "LBRACE": "'{'", "SEMICOLON": "';'",
          "COMMA": "','", "COLON": "':'", "LPAR": "'('", "RPAR": "')'", "LSQB": "'['", "RSQB": "']'", "EQUAL": "'='",
          "LT": "'<'", "GT": "'>'", "STAR": "'*'"}  # fmt: skip
