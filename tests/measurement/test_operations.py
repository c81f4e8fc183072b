from __future__ import annotations

import re

import pytest

from cosched.language.vocabulary import OPCODES
from cosched.measurement.operations import operation_costs, operation_source

KERNELS = re.findall(r'^    \{"(\w+)", kernel_', operation_source(), re.MULTILINE)


def costs(**nanoseconds: float) -> dict[str, float]:
    """Return the costs where all kernels take 1 ns an eighth of a turn, and their empty loops 0.5."""
    usual = {name: 0.5 if name.startswith("empty") else 1.0 for name in KERNELS}
    return operation_costs(usual | nanoseconds)


def test_every_opcode_has_a_cost_and_nothing_else_has() -> None:
    assert costs().keys() == OPCODES.keys()


def test_the_loop_is_left_out_and_a_microsecond_is_the_unit() -> None:
    assert costs(ADL=2.5)["AFDL"] == pytest.approx(0.002)
    assert costs(LFOR=8.5)["LFOR"] == pytest.approx(0.001)  # 64 turns inside, of which 8 are an eighth


def test_what_is_less_than_its_loop_costs_next_to_nothing() -> None:
    assert 0 < costs(ADL=0.1)["AFDL"] < 1e-4


def test_a_short_float_is_a_float() -> None:
    found = costs(MFG=7.5)
    assert found["MFSG"] == found["MFFG"] == pytest.approx(0.007)


def test_arrays_of_many_dimensions_go_on_as_those_measured() -> None:
    found = costs(ARD3=2.5, ARD4=3.5)
    assert [found[f"ARD{count}"] for count in (4, 5, 9)] == pytest.approx([0.003, 0.004, 0.008])
    assert found["ARDN"] == found["ARD9"]


def test_an_argument_costs_what_it_adds_to_a_call() -> None:
    found = costs(FCAL=2.5, FARI=4.5)
    assert (found["FCAL"], found["FARI"]) == pytest.approx((0.002, 0.002))
