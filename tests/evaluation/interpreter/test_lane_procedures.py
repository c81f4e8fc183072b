"""Statements on lanes: what each lane has assigned when the statements are over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.evaluation.budget import LanesDifferError
from cosched.evaluation.interpreter.programs import program

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application, Hardware

    Model = Callable[[str], Application]


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
