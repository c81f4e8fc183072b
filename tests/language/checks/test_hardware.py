from __future__ import annotations

import pytest

from cosched.language import Source, parse_hmcl
from cosched.language.checks.hardware import check_config

MPI = (
    "mpi { " + " ".join(f"DD_{cost}_{letter} = 1;" for cost in ("COMM", "TSEND", "TRECV") for letter in "ABCDE") + " }"
)


WORDS = "transfer_latency = 5 us, send_overhead = 1, receive_overhead = 1;"


def faults(groups: str) -> list[str]:
    (config,) = parse_hmcl(Source("x.hmcl", f"config c {{ {groups} }}"))
    return [fault.message for fault in check_config(config)]


def test_a_sound_configuration() -> None:
    assert faults(f'hardware {{ Tclk = 1 / 2, Desc = "d"; }} {MPI} clc {{ LFOR = max(2, 3) * Tclk; }}') == []


def test_a_line_for_long_messages_may_begin_below_nothing() -> None:
    """As the papers' do: at the threshold and beyond it costs more than nothing all the same."""
    assert faults(MPI.replace("DD_COMM_D = 1;", "DD_COMM_D = -1;")) == []


def test_message_costs_in_words() -> None:
    assert faults(f"mpi {{ {WORDS} }} pvm {{ {WORDS} long_message = 1 KiB, long_send_overhead = 3; }}") == []


def test_costs_of_memory() -> None:
    assert faults("memory { bandwidth = 12 GB/s; }") == []
    levels = "L1_size = 32 KiB, L1_bandwidth = 200 GB/s, L3_size = 32 MiB, L3_bandwidth = 40 GB/s"
    assert faults(f"memory {{ {levels}, bandwidth = 12 GB/s; }}") == []


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("hosts { a = 1; b = 0; }", "a number of hosts is needed here, 1 to 100000"),
        ("hosts { a = 1.5; }", "a number of hosts is needed here, 1 to 100000"),
        ('hosts { a = "x"; }', "a number"),
        ("hosts { }", "hosts lists none"),
        ("hosts { c = 2; }", "c cannot be among its own hosts"),
        (f"hosts {{ a = 2; }} {MPI}", "mpi beside hosts: the costs are those of the configurations listed there"),
        ("mpj { }", "group mpj is not known: did you mean mpi?"),
        ("cache { }", "group cache is not known: known are hardware, "),
        ("memory { }", "memory lacks bandwidth, that of main memory"),
        ("memory { bandwidth = 1, L2_size = 8; }", "memory lacks L2_bandwidth: a cache has a size and a bandwidth"),
        ("memory { bandwidth = 1, L2_bandwidth = 8; }", "memory lacks L2_size: a cache has a size and a bandwidth"),
        ("memory { bandwidth = 1, L4_size = 8; }", "L4_size is no cost of memory: did you mean L"),
        ("memory { bandwidth = 8 KiB; }", "a size in bytes does not fit: a rate is needed for bandwidth"),
        ("memory { bandwidth = 1, L1_bandwidth = 2, L1_size = 8 us; }", "a time does not fit: a size in bytes is"),
        ("memory { bandwidth = -1; }", "bandwidth is -1.0: a cost is finite and not negative"),
        (
            "memory { bandwidth = 1, L1_size = 8, L1_bandwidth = 3, L3_size = 8, L3_bandwidth = 2; }",
            "L3_size is not more than L1_size: sizes grow from level to level",
        ),
        ("hosts { a = 1; } memory { bandwidth = 1; }", "memory beside hosts: the costs are those of the"),
        ("clc { } clc { }", "group clc is already given in line 1"),
        ("clc { LFOR = 1; LFOR = 2; }", "LFOR is already given in line 1"),
        ("clc { LFOX = 1; }", "unknown opcode LFOX: did you mean LFOR"),
        ("clc { LFOR = Tclk; }", "Tclk has no value yet"),
        ('clc { LFOR = "x"; }', "a number is needed here, not a text"),
        ("clc { LFOR = [1]; }", "a number is needed here"),
        ("clc { LFOR = sqr(1); }", "function sqr is not known: did you mean sqrt?"),
        ("clc { LFOR = sqrt(); }", "sqrt takes 1 arguments, not 0"),
        ("mpi { transfer_latency = 1; }", "mpi lacks send_overhead, receive_overhead"),
        (f"mpi {{ {WORDS} DD_COMM_A = 1; }}", "DD_COMM_A does not mix with transfer_latency, send_overhead"),
        (f"mpi {{ {WORDS} long_send_overhead = 1; }}", "long_send_overhead needs long_message"),
        (
            f"mpi {{ {WORDS} send_bandwith = 1 GB/s; }}",
            "send_bandwith is no cost of a message: did you mean send_bandw",
        ),
        (MPI.replace("DD_COMM_B = 1;", ""), "mpi lacks DD_COMM_B"),
        (
            MPI.replace("DD_COMM_D = 1;", "DD_COMM_D = -1.1;"),
            "DD_COMM_A to E of mpi make messages of some size cost less",
        ),
        (MPI.replace("DD_TRECV_E = 1;", "DD_TRECV_E = -0.1;"), "DD_TRECV_A to E of mpi make messages"),
        (MPI.replace("DD_TSEND_B = 1;", "DD_TSEND_B = -0.1;"), "DD_TSEND_A to E of mpi make messages"),
        (MPI.replace("DD_TSEND_B = 1;", "DD_TSEND_B = 1e308 * 10;"), "DD_TSEND_B is inf: a coefficient is finite"),
        (MPI.replace("DD_COMM_B", "DD_COMM_F"), "DD_COMM_F is no cost of a message: did you mean"),
    ],
)
def test_faults(groups: str, message: str) -> None:
    assert any(found.startswith(message) for found in faults(groups))
