"""PSL and HMCL text becomes a syntax tree, or a `ModelError`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from lark import Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

from cosched.language.diagnostics import Diagnostic, ModelError, suggestion
from cosched.language.parser.error_recovery import ErrorRecovery
from cosched.language.parser.parser_tables import parser
from cosched.language.parser.task_faults import missing_part
from cosched.language.parser.tree_builder import build_tree
from cosched.language.syntax import walk
from cosched.language.vocabulary import OBJECT_KINDS, UNITS

if TYPE_CHECKING:
    from cosched.language.diagnostics import Source
    from cosched.language.syntax import Config, Node, Object

__all__ = ["DEEPEST_NESTING", "Salvaged", "parse_hmcl", "parse_psl", "salvage_hmcl", "salvage_psl"]

_N = TypeVar("_N")

DEEPEST_NESTING = 100
"""Deepest tree of an object; evaluation recurses over it."""

_MOST_ERRORS = 20
_MOST_EXPECTED = 12


def parse_psl(source: Source) -> tuple[Object, ...]:
    """Return the objects of a PSL file in the order written.

    Raises:
        ModelError: every syntax error found, at most 20.
    """
    return _whole(salvage_psl(source))


def parse_hmcl(source: Source) -> tuple[Config, ...]:
    """Return the configurations of an HMCL file in the order written.

    Raises:
        ModelError: every syntax error found, at most 20.
    """
    return _whole(salvage_hmcl(source))


class Salvaged(NamedTuple, Generic[_N]):
    """The readable part of a file, and the faults of the rest."""

    nodes: tuple[_N, ...]
    faults: tuple[Diagnostic, ...]


def salvage_psl(source: Source) -> Salvaged[Object]:
    """Return the readable objects of a PSL file, and the syntax errors."""
    return cast("Salvaged[Object]", _salvage("psl", source))


def salvage_hmcl(source: Source) -> Salvaged[Config]:
    """Return the readable configurations of an HMCL file, and the syntax errors."""
    return cast("Salvaged[Config]", _salvage("hmcl", source))


def _whole(salvaged: Salvaged[_N]) -> tuple[_N, ...]:
    if salvaged.faults:
        raise ModelError(salvaged.faults)
    return salvaged.nodes


def _salvage(language: str, source: Source) -> Salvaged[Any]:
    errors: list[Diagnostic] = []
    recovery = ErrorRecovery(source.text)

    def report(error: UnexpectedInput) -> bool:
        diagnostic = _diagnostic(error, source)
        if not errors or diagnostic != errors[-1]:
            errors.append(diagnostic)
        return len(errors) < _MOST_ERRORS and recovery.resume(error)

    try:
        tree = parser(language).parse(source.text, on_error=report)
    except UnexpectedInput as error:
        return Salvaged((), tuple(errors or [_diagnostic(error, source)]))
    assert isinstance(tree, Tree)
    nodes: tuple[Node, ...] = build_tree(tree, source, recovery.words())
    deep = _deepest(nodes, source)
    return Salvaged((), (*errors, deep)) if deep else Salvaged(nodes, tuple(errors))


def _deepest(nodes: tuple[Node, ...], source: Source) -> Diagnostic | None:
    """Return a fault at the first node that is nested too deep."""
    for node, depth in walk(*nodes):
        if depth > DEEPEST_NESTING:
            return source.fault(node.at, f"nested deeper than {DEEPEST_NESTING} levels: split it")
    return None


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
    if isinstance(error, UnexpectedToken) and (missing := missing_part(error)):
        return missing
    shown = str(token) if len(token) <= 40 else f"{token[:40]}…"
    words = [word for name in _accepts(error) for word in (OBJECT_KINDS if name == "KIND" else [name.lower()])]
    near = suggestion(token, words) if token.type == "ID" else ""
    return f"unexpected {shown!r}{near or _expected(error)}"


def _after_number(error: UnexpectedInput) -> bool:
    return {"PLUS", "STAR"} <= set(_accepts(error))


def _accepts(error: UnexpectedInput) -> list[str]:
    return sorted(getattr(error, "accepts", None) or getattr(error, "expected", None) or ())


def _expected(error: UnexpectedInput) -> str:
    accepted = set(_accepts(error)) - {"$END", "COMMENT", "SPACE"}
    names: list[str] = []
    for name, group in _GROUPS.items():
        if len(group & accepted) > len(group) / 2:  # a usage, for one, takes an expression without comparisons
            names.append(name)
            accepted -= group
    names += [_WORDS.get(name, name.lower()) for name in accepted]
    if not names or len(names) > _MOST_EXPECTED:
        return ""
    return f": expected {' or '.join(sorted(set(names)))}"


_GROUPS = {
    "an expression": {"NUMBER", "QUANTITY", "STRING", "ID", "LPAR", "LSQB", "MINUS", "PLUS", "NOT"},
    "an operator": {
        "OR",
        "AND",
        "EQ",
        "NE",
        "LT",
        "GT",
        "LE",
        "GE",
        "PLUS",
        "MINUS",
        "STAR",
        "SLASH",
        "PERCENT",
        "CARET",
    },
}
_WORDS = {
    "ID": "a name",
    "NUMBER": "a number",
    "QUANTITY": "a number with a unit",
    "STRING": "a text",
    "KIND": "application, subtask or partmp",
    "RBRACE": "'}'",
    "LBRACE": "'{'",
    "SEMICOLON": "';'",
    "COMMA": "','",
    "COLON": "':'",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "EQUAL": "'='",
    "LT": "'<'",
    "GT": "'>'",
    "STAR": "'*'",
    "TO": "'..'",
    "_OPEN": "'{'",
    "FACTOR": "a factor such as 2x",
}
