"""Statements one after another: the times of the steps that they emit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.evaluation.budget import Budget
from cosched.evaluation.interpreter.programs import compiled_application, one_by_one
from cosched.language import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application, Hardware

    Model = Callable[[str], Application]

MORE = """proc exec f(a) { var numeric: b; b = 10 * a; if (a > 2) return b; return b + 1; }
    proc exec g { x = x + 1; } proc exec h { while (1) { if (x > 7) return x; x = x + 1; } }"""


def emitted(model: Model, plain: Hardware, body: str, steps: int = 10_000) -> list[float]:
    """Return the times of the steps on one processor."""
    application = model(f"var numeric: x = 5;\nproc exec init {{ {body} }} {MORE}")
    program = one_by_one(application, compiled_application(application, plain), 1, {}, Budget(steps))
    return [time for segment in program for time in segment.amount.tolist()]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("step cpu { confdev 1; confdev x; }", [1, 5]),
        ("var numeric: y = 2, z = y + 1; step cpu { confdev z; }", [3]),
        ("if (x > 4) step cpu { confdev 1; } else step cpu { confdev 2; }", [1]),
        ("if (x < 4) step cpu { confdev 1; }", []),
        ("while (x > 3) { step cpu { confdev x; } x = x - 1; }", [5, 4]),
        ("var numeric: i; for (i = 1; i < 4; i = i + 1) step cpu { confdev i; }", [1, 2, 3]),
        # The same steps in each turn are made once.
        ("var numeric: i; for (i = 9; i > 5; i = i - 2) { step cpu { confdev 1; confdev x; } }", [1, 5, 1, 5]),
        ("var numeric: i; for (i = 1; i < 0; i = i + 1) step cpu { confdev 1; } step cpu { confdev i; }", [1]),
        ("x = f(2) + f(3); step cpu { confdev x; }", [51]),
        ("call g; call g(); step cpu { confdev x; }", [7]),
        ("step cpu { confdev h(); }", [8]),
        ("step cpu { confdev 1; } return; step cpu { confdev 2; }", [1]),
        ("while (1) { step cpu { confdev 1; } if (x > 5) return; x = x + 1; }", [1, 1]),
    ],
)
def test_emitted(model: Model, plain: Hardware, body: str, expected: list[float]) -> None:
    assert emitted(model, plain, body) == expected


def test_every_turn_comes_off_the_budget(model: Model, plain: Hardware) -> None:
    with pytest.raises(ModelError, match=r"psl:2:\d+: stopped here after 100 steps"):
        emitted(model, plain, "var numeric: i; for (i = 0; i < 200; i = i + 1) x = i;", steps=100)
