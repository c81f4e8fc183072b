from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from cosched.coscheduler.stages.kept_hosts import can_all_end


def test_one_lead_needs_no_more_hosts_than_there_are() -> None:
    assert can_all_end([4], 4)
    assert not can_all_end([5], 4)


def test_two_that_need_all_hosts_may_not_both_begin() -> None:
    assert not can_all_end([2, 2], 2)
    assert can_all_end([1, 4], 4)
    assert can_all_end([3, 4], 4)
    assert not can_all_end([4, 4], 4)


@given(widest=st.lists(st.integers(1, 5), min_size=1, max_size=4), hosts=st.integers(1, 6))
def test_it_is_so_whenever_they_can_end_in_some_order(widest: list[int], hosts: int) -> None:
    def can_end(order: tuple[int, ...]) -> bool:
        return all(count <= hosts - (len(order) - 1 - place) for place, count in enumerate(order))

    assert can_all_end(widest, hosts) == any(map(can_end, permutations(widest)))
