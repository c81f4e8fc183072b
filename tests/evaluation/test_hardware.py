from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.evaluation import Hardware, load_hardware
from cosched.language import ModelError

if TYPE_CHECKING:
    from pathlib import Path


def test_costs_are_evaluated_in_the_order_written(plain: Hardware) -> None:
    # Tclk = 1 / 2 us, MFDL = 2 · Tclk.
    assert (plain.operations["AFDL"], plain.operations["MFDL"], plain.description) == (0.5, 1.0, "for tests")


@pytest.mark.parametrize(("size", "cost"), [(0, 10), (100, 20), (100.5, 40.1), (200, 60)])
def test_a_message_costs_less_a_byte_up_to_the_threshold(plain: Hardware, size: float, cost: float) -> None:
    assert plain.messages["mpi"].transfer(size) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("config a { clc { LFOR = 1 / 0; } }", r"a\.hmcl:1:27: division by zero"),
        ("config a { clc { LFOR = 0 - 1; } }", r"LFOR is -1.0: a cost is finite and not negative"),
        ("config a { clc { LFOR = 1e308 * 10; } }", r"LFOR is inf"),
        ("config a { } config b { }", r"the file holds 2 configs: one is needed"),
        ("", r"the file holds 0 configs"),
        ("config a { clc { LFOP = 1; } }", r"unknown opcode LFOP"),
    ],
)
def test_faults(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.hmcl"
    path.write_text(text)
    with pytest.raises(ModelError, match=message):
        load_hardware(path)
