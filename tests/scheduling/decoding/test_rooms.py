"""The look over arrays finds what a look at one room after another finds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.availability import Unavailability
from cosched.scheduling.decoding.rooms import rooms_of
from cosched.scheduling.packing import Held, scaled
from tests.scheduling.packed import a_packed_problem, packed_problems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.decoding.rooms import Rooms
    from cosched.scheduling.problem import Problem


def free_from(rooms: Rooms, demand: Sequence[int]) -> list[float]:
    """Return when each room has what is asked for, by its stairs."""
    found = []
    for room in rooms.all:
        when = -math.inf
        for resource, amount in enumerate(demand):
            times, amounts = room.steps(resource)
            there = [time for time, had in zip(times, amounts, strict=True) if had >= amount]
            when = max(when, there[0] if there else math.inf) if amount else when
        found.append(when)
    return found


def first_to_end(
    rooms: Rooms, seconds: Sequence[float], demand: Sequence[int], count: int, ready: float
) -> tuple[float, float, list[int]]:
    """Return what `Rooms.first_to_end` should, trying each time at which a room becomes free."""
    when = [max(time, ready) for time in free_from(rooms, demand)]
    best: tuple[float, float, list[int]] = (math.inf, math.inf, [])
    for slowest in sorted({each for each in seconds if each < math.inf}):
        able = [number for number, room in enumerate(rooms.all) if seconds[room.host_class] <= slowest]
        for start in sorted({when[number] for number in able if when[number] < math.inf}):
            there = [number for number in able if when[number] <= start and start + slowest <= rooms.all[number].until]
            if len(there) >= count and start + slowest < best[1]:
                there.sort(key=lambda number: (rooms.all[number].until, rooms.all[number].rest(demand, start)))
                best = (start, start + slowest, sorted(there[:count]))
                break
    return best


@given(packed_problems(unavailability=True), st.data())
def test_tasks_end_first_where_a_look_at_each_room_says(problem: Problem, data: st.DataObject) -> None:
    assert problem.packing is not None
    packing = scaled(problem.packing)
    rooms = rooms_of(problem, packing)
    for _ in range(data.draw(st.integers(1, 30))):
        shape = data.draw(st.integers(0, len(packing.hosts) - 1))
        demand, seconds = packing.demand[shape].tolist(), packing.seconds[shape].tolist()
        ready = data.draw(st.sampled_from([0.0, 1.0, 7.5]))
        start, end, chosen = rooms.first_to_end(seconds, demand, int(packing.hosts[shape]), ready)
        assert (start, end, sorted(chosen)) == first_to_end(rooms, seconds, demand, int(packing.hosts[shape]), ready)
        rooms.take(chosen, demand, start, end)
        assert rooms.free_from(demand).tolist() == free_from(rooms, demand)


def test_a_stair_may_grow_beyond_its_first_table() -> None:
    problem = a_packed_problem([[(1, (1,), (1.0,))]], [(64,)])
    assert problem.packing is not None
    rooms = rooms_of(problem, scaled(problem.packing))
    for seconds in range(1, 41):
        assert rooms.first_to_end([float(seconds)], [1], 1, 0.0) == (0.0, float(seconds), [0])
        rooms.take([0], [1], 0.0, float(seconds))
    assert rooms.free_from([24]).tolist() == [0.0]
    assert [float(rooms.free_from([24 + more])[0]) for more in range(1, 41)] == [float(each) for each in range(1, 41)]


def test_a_host_that_goes_and_comes_is_two_rooms() -> None:
    problem = a_packed_problem(
        [[(1, (2,), (5.0,))]],
        [(4,), (4,)],
        held=[Held(1, 9.0, (4,))],
        unavailability=(Unavailability(0, 3.0, 20.0),),
    )
    assert problem.packing is not None
    rooms = rooms_of(problem, scaled(problem.packing))
    assert [(room.host, room.until) for room in rooms.all] == [(0, 3.0), (0, math.inf), (1, math.inf)]
    assert rooms.first_to_end([3.0], [1], 1, 0.0)[2] == [0]
    assert rooms.first_to_end([5.0], [1], 1, 0.0) == (9.0, 14.0, [2])
    assert rooms.first_to_end([5.0], [1], 2, 0.0) == (20.0, 25.0, [1, 2])
