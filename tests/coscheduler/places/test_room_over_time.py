from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cosched.connector.hosts import HostShare
from cosched.coscheduler.places.room_over_time import RoomUse, free_for_good

SIZE = HostShare(1000, 8, 2)
shares = st.builds(HostShare, st.integers(0, 600), st.integers(1, 4), st.integers(0, 1))
uses = st.lists(
    st.tuples(st.floats(-5, 50), st.floats(0.5, 30), shares).map(
        lambda each: RoomUse(each[0], each[0] + each[1], each[2])
    ),
    max_size=8,
)


@given(uses, st.floats(0, 100))
def test_what_is_told_is_free_from_then_on_for_good(taken: list[RoomUse], time: float) -> None:
    steps = free_for_good(SIZE, taken)
    assert steps[0][0] == 0.0
    assert steps[-1][1] == SIZE
    assert all(one[0] < two[0] and one[1].within(two[1]) and one[1] != two[1] for one, two in pairwise(steps))
    told = [share for after, share in steps if after <= time][-1]
    moments = [time, *(each.begin for each in taken if each.begin > time)]
    for moment in moments:
        used = sum((each.share for each in taken if each.begin <= moment < each.end), HostShare())
        assert told.cores <= max(SIZE.cores - used.cores, 0)
        assert told.memory <= max(SIZE.memory - used.memory, 0)
        assert told.gpus <= max(SIZE.gpus - used.gpus, 0)


def test_half_of_a_host_is_free_beside_a_task_and_all_of_it_behind() -> None:
    found = free_for_good(SIZE, [RoomUse(0.0, 20.0, HostShare(400, 4, 1))])
    assert found == [(0.0, HostShare(600, 4, 1)), (20.0, SIZE)]


def test_a_hole_before_a_planned_task_is_not_free_for_good() -> None:
    found = free_for_good(SIZE, [RoomUse(10.0, 30.0, SIZE)])
    assert found == [(0.0, HostShare()), (30.0, SIZE)]
