from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.evaluation.interpreter.expressions import Expressions
from cosched.language import ModelError, Source, parse_psl
from cosched.language.syntax import Assign
from tests.evaluation.interpreter.frames import frame

if TYPE_CHECKING:
    from cosched.evaluation.interpreter.frame import Value

VALUES: dict[str, Value] = {"x": 3.0, "text": "t", "list": (4.0, 5.0), "one": 7.0}
TYPES = {"x": "numeric", "text": "string", "list": "vector", "one": "vector", "own": "numeric"}


def value(text: str) -> Value:
    source = Source("x.psl", f"partmp t {{ proc exec init {{ r = {text}; }} }}")
    (assign,) = parse_psl(source)[0].procedures[0].body
    assert isinstance(assign, Assign)
    procedures = {"half": lambda _frame, arguments, _at: arguments[0] / 2}
    compiled = Expressions(source, TYPES, frozenset({"own"}), procedures, {}).value(assign.value)
    return compiled(frame(VALUES, {"own": 9.0}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * x ^ 2", 19),
        ("-x % 4", 1),
        ("!x + !0", 1),
        ("x > 2 && x <= 3 || 1 / 0", 1),
        ("own + half(x)", 10.5),
        ("list[2] - list[1]", 1),
        ("one + one[1]", 14),
        ('text == "t"', 1),
        ('text != "t"', 0),
        ("[x, 2 * x]", (3, 6)),
        ("text", "t"),
        ("max(1, x, 2) + ceil(1.2) + mod(7, 4)", 8),
    ],
)
def test_values(text: str, expected: Value) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x / 0", "division by zero"),
        ("mod(x, 0)", "mod: division by zero"),
        ("(0 - 1) ^ 0.5", r"-1 \^ 0.5 has no finite value"),
        ("sqrt(0 - x)", r"sqrt\(-3\) has no finite value"),
        ("missing", "variable missing has no value"),
        ("list + 1", r"vector list is a list here: pick an element, list\[1\]"),
        ("list[3]", "list has elements 1 to 2, not 3"),
        ("list[1.5]", "list has elements 1 to 2, not 1.5"),
    ],
)
def test_faults_have_a_place(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=rf"x\.psl:1:\d+: {message}"):
        value(text)
