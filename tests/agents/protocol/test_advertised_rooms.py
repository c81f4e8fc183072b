from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.agents.protocol.advertised_rooms import AdvertisedRoom, RoomStep, advertised_rooms, debited_rooms
from cosched.connector.hosts import HostShare

SIZE = HostShare(1000, 8, 2)
HALF = HostShare(500, 4, 1)
BUSY = [(0.0, HALF), (20.0, SIZE)]


@st.composite
def hosts(draw: st.DrawFn) -> list[tuple[float, HostShare]]:
    """Draw what is free of a host over time."""
    times = sorted({0.0, *draw(st.lists(st.floats(0.1, 1e4), max_size=30))})
    left, found = HostShare(), []
    for time in times:
        left += HostShare(draw(st.integers(0, 9)), draw(st.integers(0, 3)), draw(st.integers(0, 1)))
        found.append((time, left))
    return found


def free_from(host: list[tuple[float, HostShare]], share: HostShare) -> float:
    return next((after for after, left in host if share.within(left)), math.inf)


@given(st.lists(hosts(), min_size=1, max_size=6), st.integers(0, 9), st.integers(1, 6))
def test_rooms_promise_nothing_too_early(free: list[list[tuple[float, HostShare]]], memory: int, cores: int) -> None:
    share = HostShare(memory, cores, 0)
    rooms = advertised_rooms(free)
    told = sorted(time for room in rooms for time in [room.free_from(share)] * room.hosts)
    real = sorted(free_from(host, share) for host in free)
    assert len(told) == len(real)
    assert all(one >= other for one, other in zip(told, real, strict=True))
    assert all(len(room.steps) <= 16 for room in rooms)


def test_of_hundreds_of_hosts_that_differ_few_rooms_are_told_and_none_has_too_much() -> None:
    free = [[(0.0, HostShare(100, 1 + number % 7, 0)), (float(number), SIZE)] for number in range(1, 300)]
    rooms = advertised_rooms(free)
    assert len(rooms) <= 64
    assert sum(room.hosts for room in rooms) == 299
    told = sorted(time for room in rooms for time in [room.free_from(None)] * room.hosts)
    assert all(time >= number for time, number in zip(told, range(1, 300), strict=True))


def test_hosts_of_which_the_same_is_free_are_one_room() -> None:
    (half, whole) = sorted(advertised_rooms([BUSY, [(0.0, SIZE)], BUSY]), key=lambda room: -room.hosts)
    assert (half.hosts, half.free_from(HALF), half.free_from(SIZE), half.free_from(None)) == (2, 0.0, 20.0, 20.0)
    assert (whole.hosts, whole.at(0.0)) == (1, SIZE)
    assert half.free_from(HostShare(1, 9, 0)) == math.inf


def test_what_a_task_takes_is_gone_until_its_end() -> None:
    rooms = advertised_rooms([BUSY, BUSY])
    once = debited_rooms(rooms, HALF, 1, 50.0)
    assert sorted(room.free_from(HALF) for room in once) == [0.0, 20.0]
    assert sorted(room.free_from(None) for room in once) == [20.0, 50.0]
    (both,) = debited_rooms(rooms, None, 2, 50.0)
    assert (both.hosts, both.free_from(HostShare(0, 1, 0))) == (2, 50.0)


def test_a_task_is_reckoned_where_it_leaves_the_fewest_cores() -> None:
    left = debited_rooms(advertised_rooms([[(0.0, SIZE)], BUSY]), HALF, 1, 5.0)
    assert sorted(room.free_from(SIZE) for room in left) == [0.0, 20.0]


def test_room_that_shrinks_with_time_is_none() -> None:
    with pytest.raises(ValueError, match="grow"):
        AdvertisedRoom(1, (RoomStep(0.0, 4, 0, 0), RoomStep(5.0, 3, 0, 0)))
    with pytest.raises(ValueError, match="grow"):
        AdvertisedRoom(1, ())
