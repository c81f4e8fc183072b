"""Times of sequential work on lanes: as those of `test_cflow.py`, for several numbers of hosts at once."""

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


def times(model: Model, plain: Hardware, body: str) -> list[float]:
    """Return microseconds of a cflow on 1, 2 and 4 hosts."""
    application = model(f"""proc exec init {{ step cpu on 1 {{ confdev w(); }} }}
        proc cflow w {{ {body} }} proc cflow v {{ compute <is clc, Nproc*MFDL>; }}""")
    (steps,) = program(application, plain, np.array([1, 2, 4]), [{"Nproc": n} for n in (1.0, 2.0, 4.0)], 1000)
    found: list[float] = steps.amount.tolist()
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("compute <is clc, FCAL, Nproc*AFDL>;", [4.5, 5, 6]),
        ("compute <is measured, 8 / Nproc>;", [8, 4, 2]),
        ("loop (<is clc, LFOR>, Nproc) { compute <is clc, AFDL>; call v; }", [1.75, 5.5, 19]),
        ("case (<is clc, IFBR>) { 1 / Nproc: compute <is clc, FCAL>; }", [4.125, 2.125, 1.125]),
        ("measured (Nproc) { 1: 3, 2: 4, 4: 5 * Nproc }", [3, 4, 20]),
        ("compute <is clc, AFDL>; compute <is clc, AFDL>;", [1, 1, 1]),
        ("compute <is memory, 8, 64 / Nproc>;", [4, 1, 1]),
        ("compute <is memory, 8 * Nproc, 33>;", [4, 8, 16]),
        ("loop (<is memory, 8, 8>, Nproc) { compute <is memory, 8, 9 * Nproc>; }", [2, 4, 20]),
    ],
)
def test_times(model: Model, plain: Hardware, body: str, expected: list[float]) -> None:
    assert times(model, plain, body) == pytest.approx(expected)


@pytest.mark.parametrize(
    "body",
    [
        "loop (<is clc>, 3 - Nproc) compute <is clc>;",
        "case (<is clc>) { Nproc / 3: compute <is clc>; }",
        "case (<is clc>) { 3 - Nproc: compute <is clc>; }",
        "compute <is memory, 3 - Nproc, 8>;",
        "compute <is memory, 8, 3 - Nproc>;",
        "measured (Nproc) { 1: 3, 2: 4 }",
    ],
)
def test_a_fault_on_one_lane_is_left_to_each_by_itself(model: Model, plain: Hardware, body: str) -> None:
    with pytest.raises(LanesDifferError):
        times(model, plain, body)
