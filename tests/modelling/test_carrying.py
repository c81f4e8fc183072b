from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.evaluation import Hardware
from cosched.evaluation.costs import Memory
from cosched.modelling.carrying import carried

OPERATIONS = {name: 1e-3 * place for place, name in enumerate(("AFDL", "MFDL", "SFDL", "ARD1", "LFOR", "CMLL"), 1)}
MEMORY = Memory(("L1", "L2", "main"), (32e3, 2e6), (1e-5, 2e-5, 1e-4))
OLD = Hardware("node_a", OPERATIONS, {}, memory=MEMORY)
BLOCKS = {"update": 5e-4, "norm": 1e-3, "update_beyond_L2": 2e-4}


def other(operations: float, near: float, far: float) -> Hardware:
    """Return hosts whose operations and bytes take so many times as long."""
    costs = tuple(cost * factor for cost, factor in zip(MEMORY.a_byte, (near, near, far), strict=True))
    return Hardware(
        "node_b",
        {name: cost * operations for name, cost in OPERATIONS.items()},
        {},
        memory=replace(MEMORY, a_byte=costs),
    )


def test_hosts_that_take_twice_as_long_for_everything_do_for_blocks() -> None:
    found = carried(BLOCKS, OLD, other(2, 2, 2))
    assert found.costs == pytest.approx({name: 2 * cost for name, cost in BLOCKS.items()})
    assert found.operations == pytest.approx(2)
    assert found.memory == pytest.approx((2, 2))
    assert found.error == 0.25  # and never less


def test_costs_beyond_a_cache_go_by_the_memory_and_the_range_covers_both() -> None:
    found = carried(BLOCKS, OLD, other(0.5, 1, 3))
    assert found.costs["update"] == pytest.approx(0.5 * BLOCKS["update"])
    assert found.costs["update_beyond_L2"] == pytest.approx(3 * BLOCKS["update_beyond_L2"])
    assert found.error == pytest.approx(3 / 0.5 - 1)


def test_operations_that_differ_widen_the_range() -> None:
    uneven = replace(OLD, name="node_b", operations={**OPERATIONS, "SFDL": 30e-3, "ARD1": 20e-3, "LFOR": 10e-3})
    assert carried(BLOCKS, OLD, uneven).error > 1


@given(st.floats(0.05, 20), st.floats(0.05, 20), st.floats(0.05, 20))
def test_there_and_back_is_the_same(operations: float, near: float, far: float) -> None:
    new = other(operations, near, far)
    there = carried(BLOCKS, OLD, new)
    assert carried(there.costs, new, OLD).costs == pytest.approx(BLOCKS)
    assert 0.25 <= there.error <= 9


def test_without_memory_operations_decide_alone() -> None:
    found = carried(BLOCKS, OLD, replace(other(2, 1, 9), memory=None))
    assert found.memory is None
    assert found.costs["update_beyond_L2"] == pytest.approx(2 * BLOCKS["update_beyond_L2"])


def test_too_few_operations_in_common_are_refused() -> None:
    with pytest.raises(UserError, match="node_a and node_b have 1 costs of operations in common, and 5 are needed"):
        carried(BLOCKS, OLD, Hardware("node_b", {"AFDL": 1e-3, "SQRT": 1.0}, {}))


def test_hosts_whose_caches_nobody_told_have_the_ratio_of_their_main_memory() -> None:
    plain = Memory(("main",), (), (1e-4,))
    old, new = replace(OLD, memory=plain), replace(other(2, 1, 1), memory=replace(plain, a_byte=(3e-4,)))
    assert carried(BLOCKS, old, new).memory == pytest.approx((3, 3))


def test_a_guess_made_of_a_guess_is_surer_of_neither() -> None:
    assert carried(BLOCKS, OLD, other(2, 2, 2), 0.5).error == pytest.approx(1.5 * 1.25 - 1)
