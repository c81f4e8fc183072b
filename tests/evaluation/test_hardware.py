from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.evaluation import Hardware, load_hardware
from cosched.evaluation.costs import Memory, described_memory
from cosched.language import ModelError

if TYPE_CHECKING:
    from pathlib import Path


def test_costs_are_evaluated_in_the_order_written(plain: Hardware) -> None:
    # Tclk = 1 / 2 us, MFDL = 2 · Tclk.
    assert (plain.operations["AFDL"], plain.operations["MFDL"], plain.description) == (0.5, 1.0, "for tests")


def test_costs_of_memory_are_those_written(plain: Hardware, tmp_path: Path) -> None:
    assert plain.memory is not None
    assert (plain.memory.levels, plain.memory.sizes, plain.memory.a_byte) == (("L1", "main"), (32,), (0.125, 0.5))
    path = tmp_path / "without.hmcl"
    path.write_text("config without { }")
    assert load_hardware(path).memory is None


@pytest.mark.parametrize(("size", "cost"), [(0, 10), (100, 20), (100.5, 40.1), (200, 60)])
def test_a_message_costs_less_a_byte_up_to_the_threshold(plain: Hardware, size: float, cost: float) -> None:
    assert plain.messages["mpi"].transfer(size) == pytest.approx(cost)


def test_both_forms_of_message_costs_mean_the_same(tmp_path: Path, plain: Hardware) -> None:
    path = tmp_path / "words.hmcl"
    path.write_text("""config words { mpi {
        transfer_latency = 10 us, transfer_bandwidth = 10, send_overhead = 1 us, send_bandwidth = 100 MB/s;
        receive_overhead = 3, receive_bandwidth = 1 / 0.03, long_message = 100 B, long_transfer_latency = 20;
        long_transfer_bandwidth = 5, long_send_overhead = 2, long_send_bandwidth = 50, long_receive_overhead = 4;
        long_receive_bandwidth = 25;
    } }""")
    one, other = plain.messages["mpi"], load_hardware(path).messages["mpi"]
    for size in (0, 50, 100, 101, 1000):
        assert one.transfer(size) == pytest.approx(other.transfer(size))
        assert one.send(size) == pytest.approx(other.send(size))
        assert one.receive(size) == pytest.approx(other.receive(size))


def test_what_is_left_out_of_the_describing_form_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "short.hmcl"
    path.write_text("config short { mpi { transfer_latency = 7, send_overhead = 1, receive_overhead = 2; } }")
    costs = load_hardware(path).messages["mpi"]
    assert (costs.transfer(1e9), costs.send(1e9), costs.receive(0)) == (7, 1, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("config a { clc { LFOR = 1 / 0; } }", r"a\.hmcl:1:27: division by zero"),
        ("config a { clc { LFOR = 0 - 1; } }", r"LFOR is -1.0: a cost is finite and not negative"),
        ("config a { clc { LFOR = 1e308 * 10; } }", r"LFOR is inf"),
        (
            "config a { mpi { transfer_latency = 1, send_overhead = 1, receive_overhead = 1, send_bandwidth = 0; } }",
            r"send_bandwidth is 0: leave it out",
        ),
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


def test_hosts_listed_by_the_names_of_their_configurations(tmp_path: Path) -> None:
    (tmp_path / "node.hmcl").write_text("config node { hardware { processors = 4; } clc { LFOR = 2; } }")
    path = tmp_path / "both.hmcl"
    path.write_text('config both { hardware { Desc = "two kinds"; } hosts { node = 2, SgiOrigin2000 = 1; } }')
    found = load_hardware(path)
    assert (found.name, found.description) == ("both", "two kinds")
    assert [host.name for host in found.hosts] == ["node", "node", "sgi_origin2000"]
    assert [kind.processors for kind in found.classes] == [4, 1]
    assert found.hosts[0] is found.hosts[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hosts { other = 1; }", r"both.hmcl:1:\d+: no hardware other beside this file or in the library"),
        ("hosts { twice = 1; }", r"twice.hmcl:1:1: twice lists hosts itself"),
        ("hardware { processors = 0; }", "processors is 0.0: a host has 1 to 10000"),
        ("hardware { processors = 1.5; }", "processors is 1.5: a host has 1 to 10000"),
        ('hardware { processors = "two"; }', "processors is two: a host has 1 to 10000"),
    ],
)
def test_hosts_that_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "twice.hmcl").write_text("config twice { hosts { sgi_origin2000 = 1; } }")
    (tmp_path / "both.hmcl").write_text(f"config both {{ {text} }}")
    with pytest.raises(ModelError, match=message):
        load_hardware(tmp_path / "both.hmcl")


MEMORY = Memory(("L1", "L3", "main"), (100.0, 1000.0), (0.5, 1.0, 4.0))


@pytest.mark.parametrize(
    ("working_set", "time"), [(0, 5), (100, 5), (100.5, 10), (1000, 10), (1001, 40), (float("inf"), 40)]
)
def test_the_smallest_level_that_holds_the_working_set_counts(working_set: float, time: float) -> None:
    assert MEMORY.time(10, working_set) == time


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 2000)), min_size=1))
def test_arrays_have_the_times_of_their_numbers(uses: list[tuple[float, float]]) -> None:
    volume, working_set = np.array(uses).T
    expected = [MEMORY.time(*use) for use in uses]
    found = MEMORY.time(volume, working_set)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == expected
    assert np.asarray(MEMORY.time(volume[0], working_set)).tolist()[0] == expected[0]
    assert np.asarray(MEMORY.time(volume, float(working_set[0]))).tolist()[0] == expected[0]


def test_main_memory_alone() -> None:
    memory = described_memory({"bandwidth": 4.0})
    assert memory == Memory(("main",), (), (0.25,))
    assert memory.time(8, 1e12) == 2
    assert np.asarray(memory.time(8.0, np.array([0.0, 1e12]))).tolist() == [2, 2]


def test_levels_may_be_left_out() -> None:
    settings = {"L3_bandwidth": 2.0, "bandwidth": 1.0, "L1_size": 8.0, "L1_bandwidth": 4.0, "L3_size": 64.0}
    assert described_memory(settings) == Memory(("L1", "L3", "main"), (8, 64), (0.25, 0.5, 1))


def test_one_level_costs_more() -> None:
    assert MEMORY.costlier("L3", 2) == Memory(("L1", "L3", "main"), (100, 1000), (0.5, 2, 4))
    assert MEMORY.costlier("L2", 2) == MEMORY
