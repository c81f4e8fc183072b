"""Times of sequential work, worked out by hand: AFDL 0.5, MFDL 1, LFOR 0.25, IFBR 0.125, CMLL 1, FCAL 4 us."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.evaluation import CountError, Hardware, profile
from cosched.evaluation.budget import LanesDifferError
from cosched.evaluation.interpreter.programs import program
from cosched.language import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application

    Model = Callable[[str], Application]


def time(model: Model, plain: Hardware, body: str, more: str = "", hosts: int = 2) -> float:
    """Return microseconds of a cflow on each processor."""
    text = f"var numeric: n = 4; proc exec init {{ step cpu {{ confdev w(); }} }}\nproc cflow w {{ {body} }} {more}"
    return float(profile(model(text), plain, [hosts])[0]) * 1e6


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("compute <is clc>;", 0),
        ("compute <is clc, AFDL, AFDL>;", 1),
        ("compute <is clc, 3*AFDL, (n - 2)*FCAL, 0*CMLL>;", 9.5),
        ("compute <is measured, 2 us + n>;", 6),
        # head and body together, as often as the count says; a count may be a fraction
        ("loop (<is clc, LFOR>, n) { compute <is clc, AFDL>; }", 3),
        ("loop (<is clc>, 2.5) compute <is clc, MFDL>;", 2.5),
        ("loop (<is clc>, 0) compute <is clc, FCAL>;", 0),
        ("loop (<is clc>, n) loop (<is clc, LFOR>, n) compute <is clc>;", 4),
        ("case (<is clc, IFBR>) { 0.5: compute <is clc, FCAL>; 0.25: { compute <is clc, MFDL>; call v; } }", 2.625),
        ("case (<is clc>) { 0.1: compute <is clc>; 0.2: compute <is clc>; 0.7: compute <is clc, MFDL>; }", 0.7),
        ("measured (n) { 3: 7, 2 + 2: 9 us }", 9),
        ("measured (Nproc) { 1: 7, 2: 5 }", 5),
        ("call v; call v;", 2),
        # 0.125 us a byte while no more than 32 are gone over, 0.5 beyond
        ("compute <is memory, 16, 32>;", 2),
        ("compute <is memory, 4 * n, 32.5>; compute <is clc, AFDL>;", 8.5),
        ("compute <is memory, 0, 100>;", 0),
        ("loop (<is memory, 8, n>, n) { compute <is memory, 8, 8 * n + 1>; }", 20),
        ("case (<is memory, 8, 8>) { 0.5: compute <is memory, 8, 33>; }", 3),
    ],
)
def test_times(model: Model, plain: Hardware, body: str, expected: float) -> None:
    assert time(model, plain, body, "proc cflow v { compute <is clc, MFDL>; }") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("loop (<is clc>, 1 - n) compute <is clc>;", "a loop of -3 turns"),
        ("case (<is clc>) { 0.6: compute <is clc>; n / 8: compute <is clc>; }", r"a probability of 0.5 .* 1.1\)"),
        ("case (<is clc>) { 1 - n: compute <is clc>; }", "a probability of -3"),
        ("compute <is memory, 1 - n, n>;", "-3 bytes of memory: their number is not negative"),
        ("loop (<is memory, 8, 1 - n>, 2) { }", "-3 bytes of memory"),
        ("measured (n) { 1: 2 }", "nothing was measured for 4"),
    ],
)
def test_what_has_no_time_is_a_fault_at_its_line(model: Model, plain: Hardware, body: str, message: str) -> None:
    with pytest.raises(ModelError, match=rf"psl:2:\d+: {message}") as caught:
        time(model, plain, body)
    assert not isinstance(caught.value, CountError)


def test_a_table_by_the_number_of_hosts_says_which_can_be_used(model: Model, plain: Hardware) -> None:
    with pytest.raises(CountError, match="nothing was measured for 3"):
        time(model, plain, "measured (2 * Nproc / 2) { 1: 7 }", hosts=3)


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
def test_times_on_lanes(model: Model, plain: Hardware, body: str, expected: list[float]) -> None:
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
