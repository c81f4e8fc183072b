from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.evaluation.hardware import Hardware
from cosched.evaluation.layout import TooFewHostsError, factors, layout

FAST, SLOW = Hardware("fast", {}, {}, processors=2), Hardware("slow", {}, {})
MIXED = Hardware("mixed", {}, {}, hosts=(FAST, SLOW, FAST))


def test_hosts_that_are_all_alike() -> None:
    found = layout(FAST, [1, 2])
    assert found.processors.tolist() == [2, 4]
    assert found.host.tolist() == [0, 0, 1, 1, 2, 2]
    assert (found.classes, found.kind.tolist()) == ((FAST,), [0] * 6)


def test_listed_hosts_are_taken_from_the_first_on() -> None:
    found = layout(MIXED, [3, 1])
    assert found.processors.tolist() == [5, 2]
    assert found.host.tolist() == [0, 0, 1, 2, 2, 3, 3]
    assert found.classes == (FAST, SLOW)
    assert found.kind.tolist() == [0, 0, 1, 0, 0, 0, 0]
    assert layout(MIXED, [1]).classes == (FAST,)


@pytest.mark.parametrize(("hardware", "count"), [(SLOW, 0), (SLOW, -1), (SLOW, 100_001), (FAST, 50_001), (MIXED, 0)])
def test_numbers_of_hosts_that_make_no_sense(hardware: Hardware, count: int) -> None:
    with pytest.raises(UserError, match="the number of hosts is 1 to"):
        layout(hardware, [count])


def test_more_hosts_than_are_listed() -> None:
    with pytest.raises(TooFewHostsError, match="4 hosts: mixed lists 3"):
        layout(MIXED, [2, 4])


@pytest.mark.parametrize(
    ("count", "sides", "expected"),
    [(1, 2, (1, 1)), (12, 2, (4, 3)), (13, 2, (13, 1)), (16, 2, (4, 4)), (24, 3, (4, 3, 2)), (7, 1, (7,))],
)
def test_most_nearly_equal(count: int, sides: int, expected: tuple[int, ...]) -> None:
    assert factors(count, sides) == expected


@given(st.integers(1, 2000), st.integers(1, 3))
def test_the_product_is_the_count_and_the_largest_comes_first(count: int, sides: int) -> None:
    found = factors(count, sides)
    assert math.prod(found) == count
    assert list(found) == sorted(found, reverse=True)
