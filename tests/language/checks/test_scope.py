from __future__ import annotations

import pytest

from cosched.language.checks.expressions import NameScope
from cosched.language.diagnostics import Source
from cosched.language.parser.parse import parse_psl
from cosched.language.syntax import Assign, Expression

QUOTED = '"a"'
VARIABLES = {"x": "numeric", "s": "string", "v": "vector"}


def parsed(text: str) -> Expression:
    (assign,) = parse_psl(Source("x.psl", f"partmp t {{ proc exec init {{ r = {text}; }} }}"))[0].procedures[0].body
    assert isinstance(assign, Assign)
    return assign.value


def typed(text: str) -> tuple[str, list[str]]:
    faults: list[str] = []
    scope = NameScope(VARIABLES, {}, lambda _node, message: faults.append(message))
    return scope.type(parsed(text)), faults


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x + 1", "numeric"),
        ("s", "string"),
        (QUOTED, "string"),
        ("[x, 1]", "vector"),
        ("v", "vector"),
        ("v[x]", "numeric"),
        (f"s == {QUOTED}", "numeric"),
        ("-max(x, 2)", "numeric"),
    ],
)
def test_types(text: str, kind: str) -> None:
    assert typed(text) == (kind, [])


def test_every_fault_of_an_expression_is_reported() -> None:
    _, faults = typed("s + y * sqr(2)")
    assert len(faults) == 3
