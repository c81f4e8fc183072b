from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.free_hosts import IdenticalFreeHosts


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.data())
def test_hosts_are_taken_from_the_front_and_come_back_in_place(free: list[int], data: st.DataObject) -> None:
    times, plain = IdenticalFreeHosts(free), sorted(free)
    for _ in range(5):
        count = data.draw(st.integers(1, len(free)))
        end = data.draw(st.integers(0, 20))
        times.take(count, end)
        plain = sorted(plain[count:] + [end] * count)
        assert [times.earliest(number + 1) for number in range(len(free))] == plain
