"""Statements one after another: the times of the steps that they emit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.evaluation.budget import Budget, LanesDifferError
from cosched.evaluation.interpreter.programs import compiled_application, one_by_one, program
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


def left(model: Model, plain: Hardware, body: str) -> list[float]:
    """Return x on 1, 2, 3 and 4 hosts after the statements."""
    application = model(f"""var numeric: x = 5; proc exec init {{ {body} step cpu on 1 {{ confdev x; }} }}
        proc exec f(a) {{ var numeric: b; b = 10 * a; if (a > 2) return b; return b + 1; }}
        proc exec g {{ x = x + 1; }} proc exec h {{ call g; return 1; }}""")
    initial = [{"Nproc": n, "x": 5.0} for n in (1.0, 2.0, 3.0, 4.0)]
    (steps,) = program(application, plain, np.array([1, 2, 3, 4]), initial, 1000)
    found: list[float] = steps.amount.tolist()
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = Nproc;", [1, 2, 3, 4]),
        ("if (Nproc > 2) x = 1;", [5, 5, 1, 1]),
        ("if (Nproc > 2) x = 1; else x = Nproc;", [1, 2, 1, 1]),
        ("if (Nproc > 9) x = 1;", [5, 5, 5, 5]),
        ("if (Nproc > 2) { if (Nproc == 4) x = 2; x = x + 1; }", [5, 5, 6, 3]),
        ("while (x > Nproc) x = x - 1;", [1, 2, 3, 4]),
        ("var numeric: i; for (i = 1; i <= Nproc; i = i + 1) x = x + i;", [6, 8, 11, 15]),
        ("var numeric: i; for (i = Nproc; i < 4; i = i + 2) x = i;", [3, 2, 3, 5]),
        ("x = f(Nproc);", [11, 21, 30, 40]),
        ("call g; if (Nproc > 9) call g; else x = x + f(x);", [66, 66, 66, 66]),
        # Lanes that do not call a procedure keep what it would assign.
        ("if (Nproc % 2) call g;", [6, 5, 6, 5]),
        ("if (Nproc % 2) { var numeric: y; y = h(); }", [6, 5, 6, 5]),
        ("if (Nproc > 2 && h()) x = 10 * x;", [5, 5, 60, 60]),
        ("while (h() && x < 6 + Nproc) x = x + 1;", [8, 8, 10, 10]),
        ("var numeric: y; if (Nproc > 2) y = 1; else y = 2; x = y;", [2, 2, 1, 1]),
        ("var numeric: y; if (1) { if (Nproc > 2) { y = 1; if (y > 1) return; } else y = 3; } x = y;", [3, 3, 1, 1]),
        ("var numeric: x = 3; x = 4; call g;", [4, 4, 4, 4]),
    ],
)
def test_assigned(model: Model, plain: Hardware, body: str, expected: list[float]) -> None:
    assert left(model, plain, body) == expected


@pytest.mark.parametrize(
    "body",
    [
        # Not all lanes have y when it is read.
        "var numeric: y; if (Nproc > 2) y = 1; x = y;",
        "if (Nproc > 2) return; x = 1;",
        "while (1) x = 1;",
        "x = 1 / (Nproc - 2);",
    ],
)
def test_each_lane_is_left_to_itself(model: Model, plain: Hardware, body: str) -> None:
    with pytest.raises(LanesDifferError), np.errstate(all="ignore"):
        left(model, plain, body)
