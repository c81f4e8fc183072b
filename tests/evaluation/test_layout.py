from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched.evaluation.hardware import Hardware
from cosched.evaluation.layout import TooFewHostsError, layout

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
