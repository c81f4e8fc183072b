from __future__ import annotations

import pytest

from cosched.evaluation.interpreter.invariance import repeatable, weight
from cosched.language import Source, parse_psl
from cosched.language.syntax import For


def loop(body: str) -> For:
    text = f"partmp t {{ var vector: v; proc exec init {{ for (i = 1; i <= n; i = i + 1) {{ {body} }} }} }}"
    (statement,) = parse_psl(Source("x.psl", text))[0].procedures[0].body
    assert isinstance(statement, For)
    return statement


@pytest.mark.parametrize(
    ("body", "same"),
    [
        ("step cpu { confdev x; }", True),
        ("if (x > 1) step cpu { confdev max(x, 2); }", True),
        ("y = 1;", False),
        ("step cpu { confdev i; }", False),
        ("step cpu { confdev v[i]; }", False),
        ("x = x + 1; step cpu { confdev x; }", False),
        ("step cpu { confdev f(); }", False),
        ("step cpu { confdev x; } call f;", False),
        ("step cpu { confdev x; } return;", False),
        ("while (y) step cpu { confdev x; }", False),
    ],
)
def test_turns_that_emit_the_same(body: str, same: bool) -> None:
    assert repeatable(loop(body)) is same


def test_a_longer_body_weighs_more() -> None:
    assert weight(loop("x = 1;")) < weight(loop("x = 1 + 2 + 3 + 4 + 5 + 6; y = 2 * x;"))
