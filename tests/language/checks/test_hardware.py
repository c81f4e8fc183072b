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


def test_curves_noise_and_blocks() -> None:
    assert faults("memory { curve = [0 B: 87 GB/s, 2 MiB: 33 GB/s, 1e9: 2000 * 5]; }") == []
    assert faults("noise { phase = 2 %, run = 0.03; } blocks { heat.update = 0.58 ns, heat.norm = 1e-3; }") == []
    assert faults("mpi { points = [0 B: 1 us, 1 MiB: 500 us], send_share = 20 %, receive_share = 1 / 8; }") == []
    assert faults(MPI.replace(" }", " points = [0: 1, 8: 2]; }")) == []


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("memory { curve = [1: 2]; }", "curve has 1 points: a curve has 2 to 1000"),
        ("memory { curve = [1: 2, 1: 3]; }", "1 bytes is not more than 1: sizes grow from point to point"),
        ("memory { curve = [1: 2, 2: 0]; }", "0 in curve: it is finite and more than 0"),
        ("memory { curve = [-1: 2, 2: 1]; }", "a size of -1 bytes: it is finite and not negative"),
        ("mpi { points = [0: 1e308, 1e-300: 1]; }", "1 in points is too far from 1e+308 for so few bytes more"),
        ("memory { curve = [1: x, 2: 1]; }", "a number is needed here"),
        ("memory { curve = [1 us: 3, 2: 1]; }", "a time does not fit: a size in bytes is needed for curve"),
        ("memory { curve = [1: 3 us, 2: 1]; }", "a time does not fit: a rate is needed for curve"),
        ("memory { curv = [1: 3, 2: 1]; }", "curv is no curve of memory: did you mean curve?"),
        ("memory { curve = 3; }", "curve is a curve: write curve = [size: value, …]"),
        ("clc { LFOR = [1: 3, 2: 1]; }", "clc has no curves: LFOR takes one number"),
        ("memory { curve = [1: 3, 2: 1]; curve = [1: 3, 2: 1]; }", "curve is already given in line 1"),
        ("mpi { points = [1: 2 KiB, 2: 1]; }", "a size in bytes does not fit: a time is needed for points"),
        (f"mpi {{ {WORDS} send_share = 3 %; }}", "send_share needs points, the times that it is part of"),
        (
            "mpi { points = [1: 3, 2: 1], send_share = 1, receive_share = 0.1; }",
            "send_share and receive_share of mpi are more",
        ),
        ("mpi { points = [1: 3, 2: 1], send_share = 101 %; }", "send_share is 1.01: a part is 0 to 1, such as 3 %"),
        ("noise { runs = 3 %; }", "runs is no noise: did you mean run?"),
        ("noise { run = 3 us; }", "a time does not fit: a plain number is needed for run"),
        ("noise { run = 3; }", "run is 3: a part is 0 to 1, such as 3 %"),
        ("blocks { update = 3 ns; }", "update is no block: write APPLICATION.BLOCK = a time"),
        ("blocks { a.update = 3 KiB; }", "a size in bytes does not fit: a time is needed for a.update"),
        ("blocks { a.update = -1; }", "a.update is -1.0: a cost is finite and not negative"),
        ("blocks { a.b = 1, a.b = 2; }", "a.b is already given in line 1"),
        ("clc { a.b = 1; }", "a.b is a block's name: it belongs into the group blocks"),
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
        ('hardware { Desc = "x"; } clc { LFOR = 2 * Desc; }', "a number is needed here: Desc is a text"),
        ("hardware { processors = 0; }", "processors is 0.0: a host has 1 to 10000"),
        ("hardware { processors = 1.5; }", "processors is 1.5: a host has 1 to 10000"),
        ('hardware { processors = "two"; }', "processors is two: a host has 1 to 10000"),
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
