from __future__ import annotations

import pytest

from cosched.language import Source, parse_hmcl
from cosched.language.hardware_checker import check_config

MPI = (
    "mpi { " + " ".join(f"DD_{cost}_{letter} = 1;" for cost in ("COMM", "TSEND", "TRECV") for letter in "ABCDE") + " }"
)


def faults(groups: str) -> list[str]:
    (config,) = parse_hmcl(Source("x.hmcl", f"config c {{ {groups} }}"))
    return [fault.message for fault in check_config(config)]


def test_a_sound_configuration() -> None:
    assert faults(f'hardware {{ Tclk = 1 / 2, Desc = "d"; }} {MPI} clc {{ LFOR = max(2, 3) * Tclk; }}') == []


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("mpj { }", "group mpj is not known: did you mean mpi?"),
        ("clc { } clc { }", "group clc is already given in line 1"),
        ("clc { LFOR = 1; LFOR = 2; }", "LFOR is already given in line 1"),
        ("clc { LFOX = 1; }", "unknown opcode LFOX: did you mean LFOR"),
        ("clc { LFOR = Tclk; }", "Tclk has no value yet"),
        ('clc { LFOR = "x"; }', "a number is needed here, not a text"),
        ("clc { LFOR = [1]; }", "a number is needed here"),
        ("clc { LFOR = sqr(1); }", "function sqr is not known: did you mean sqrt?"),
        ("clc { LFOR = sqrt(); }", "sqrt takes 1 arguments, not 0"),
        (MPI.replace("DD_COMM_B = 1;", ""), "mpi lacks DD_COMM_B"),
        (MPI.replace("DD_COMM_B", "DD_COMM_F"), "DD_COMM_F is no cost of a message: did you mean"),
    ],
)
def test_faults(groups: str, message: str) -> None:
    assert any(found.startswith(message) for found in faults(groups))
