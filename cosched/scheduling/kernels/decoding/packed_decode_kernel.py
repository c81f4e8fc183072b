"""Decode populations on shared hosts in machine code, bit for bit as `packed_decoder`.

A task is placed in two looks over all rooms: when the soonest is free (of stairs, which are slow to read, only those
are asked that could be), and which rooms are free then. Mostly that is one, and it is taken; among several each says
what the task leaves of it. What rooms have left is in `room_kernel`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.kernels.decoding.licence_kernel import licences_free_from, take_licences
from cosched.scheduling.kernels.decoding.room_kernel import (
    first_up_to,
    least,
    left_rooms,
    reset,
    rest,
    rests_at_origin,
    stairs_free_from,
    take,
    when_free,
)
from cosched.scheduling.kernels.jit import borrowing, compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.packing_tables import PackingTables
    from cosched.scheduling.kernels.decoding.room_kernel import LeftRooms

__all__ = ["population_spans"]


class _Notes(NamedTuple):
    """Arrays hold what is found out of the task that is placed.

    Attributes:
        when: (W',) when each room is free, or no later than that.
        rests: (W',) what the task leaves of each.
        there: (W,) rooms that are free when it starts.
        soonest: (W,) the soonest times.
    """

    when: NDArray[np.float64]
    rests: NDArray[np.float64]
    there: NDArray[np.int64]
    soonest: NDArray[np.float64]


@compiled
def population_spans(
    problem: PackingTables,
    orders: NDArray[np.int64],
    shapes: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    """Fill in when each task starts and ends under each plan of a population.

    Args:
        problem: see `packing_kernel.tabulate`.
        orders: (P, m) permutations in which every task is behind its predecessors.
        shapes: (P, m) by task, each possible.
        starts: (P, m) by task, filled in.
        ends: (P, m) by task, filled in.
    """
    rooms, left, licences = problem.units.shape[0], left_rooms(problem), problem.licences.units.copy()
    padded = left.idle.shape[1]
    notes = _Notes(np.empty(padded), np.empty(padded), np.empty(rooms, dtype=np.int64), np.empty(rooms))
    for plan in range(orders.shape[0]):
        reset(problem, left)
        licences[:] = problem.licences.units
        _place_all(problem, left, licences, notes, orders[plan], shapes[plan], starts[plan], ends[plan])


@borrowing
def _place_all(
    problem: PackingTables,
    left: LeftRooms,
    licences: NDArray[np.float64],
    notes: _Notes,
    order: NDArray[np.int64],
    shapes: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    """Fill in when each task starts and ends under one plan."""
    simple = problem.seconds.shape[1] == 1 and problem.until[0] == np.inf
    scarce = problem.licences.demand.shape[1] > 0  # few problems have such
    for task in order:
        shape = shapes[task]
        ready = _ready(problem, task, ends, licences) if problem.waits or scarce else 0.0
        soonest = when_free(left.times, problem.levels[shape], ready, notes.when)
        start, slowest = _start(problem, left, notes, shape, ready, soonest, simple)
        end = start + slowest
        starts[task], ends[task] = start, end
        if start == np.inf:
            continue
        if scarce:
            take_licences(licences, problem.licences.begin, problem.licences.demand, task, start, end)
        _choose(problem, left, notes, shape, start, slowest, simple)
        for place in range(problem.hosts[shape]):
            take(problem, left, notes.there[place], problem.demand[shape], start, end)


@borrowing
def _ready(problem: PackingTables, task: int, ends: NDArray[np.float64], licences: NDArray[np.float64]) -> float:
    """Return when a task is released, its predecessors have ended, and it has its licences."""
    ready = float(problem.release[task])
    for index in range(problem.first[task], problem.first[task + 1]):
        ready = max(ready, float(ends[problem.before[index]]))
    return float(licences_free_from(licences, problem.licences.begin, problem.licences.demand, task, ready))


@borrowing
def _start(
    problem: PackingTables, left: LeftRooms, notes: _Notes, shape: int, ready: float, start: float, simple: bool
) -> tuple[float, float]:
    """Return start and run time of a task; `notes.when` is when rows are free, and stairs where that mattered."""
    if not simple:
        return _first_to_end(problem, left, notes, shape, ready)
    slowest = problem.seconds[shape, 0]
    if problem.hosts[shape] > 1:
        return _soonest_of_several(left, problem.demand[shape], problem.hosts[shape], notes), slowest
    if left.step_count.shape[1] > 0:
        while start < np.inf:
            room = first_up_to(notes.when, start)
            time = stairs_free_from(left, room, problem.demand[shape])
            if time <= start:
                break
            notes.when[room] = time
            start = least(notes.when)
    return start, slowest


@borrowing
def _soonest_of_several(left: LeftRooms, demand: NDArray[np.int64], count: int, notes: _Notes) -> float:
    """Return when `count` rooms are free, where none goes and all are of one class."""
    when, soonest = notes.when, notes.soonest
    found, latest = 0, np.inf  # a room that is free no sooner is not among the first
    for room in range(soonest.shape[0]):
        if when[room] >= latest:
            continue
        time = max(when[room], stairs_free_from(left, room, demand))
        when[room] = time
        if time >= latest:
            continue
        place = min(found, count - 1)
        while place > 0 and soonest[place - 1] > time:
            soonest[place] = soonest[place - 1]
            place -= 1
        soonest[place] = time
        found += 1
        if found >= count:
            latest = soonest[count - 1]
    return latest


@borrowing
def _first_to_end(
    problem: PackingTables, left: LeftRooms, notes: _Notes, shape: int, ready: float
) -> tuple[float, float]:
    """Return start and run time of the earliest end, each class tried as the slowest; see `_first_start`."""
    start, end, slowest = np.inf, np.inf, np.inf
    for klass in range(problem.seconds.shape[1]):
        threshold = problem.seconds[shape, klass]
        if threshold == np.inf or ready + threshold > end:
            continue
        others = _first_start(problem, left, notes, shape, threshold)
        if others + threshold < end or (others + threshold == end and threshold < slowest):
            start, end, slowest = others, others + threshold, threshold
    return start, slowest


@borrowing
def _first_start(problem: PackingTables, left: LeftRooms, notes: _Notes, shape: int, threshold: float) -> float:
    """Return the earliest time at which enough rooms of the classes within the threshold stay free long enough."""
    when, soonest, found = notes.when, notes.soonest, 0
    for room in range(soonest.shape[0]):
        if problem.seconds[shape, problem.room_class[room]] > threshold:
            continue
        time = max(when[room], stairs_free_from(left, room, problem.demand[shape]))
        when[room] = time
        if time == np.inf or time + threshold > problem.until[room]:
            continue
        place = found
        while place > 0 and soonest[place - 1] > time:
            soonest[place] = soonest[place - 1]
            place -= 1
        soonest[place] = time
        found += 1
    for place in range(problem.hosts[shape] - 1, found):
        if _there(problem, notes, shape, soonest[place], threshold) >= problem.hosts[shape]:
            return float(soonest[place])
    return np.inf


@borrowing
def _there(problem: PackingTables, notes: _Notes, shape: int, start: float, threshold: float) -> int:
    """Note the rooms of the classes within the threshold that are free from the start to the end; return how many."""
    found = 0
    for room in range(notes.there.shape[0]):
        if notes.when[room] <= start and start + threshold <= problem.until[room]:
            notes.there[found] = room
            found += problem.seconds[shape, problem.room_class[room]] <= threshold
    return found


@borrowing
def _choose(
    problem: PackingTables, left: LeftRooms, notes: _Notes, shape: int, start: float, threshold: float, simple: bool
) -> None:
    """Note the rooms that a task takes: those that end the soonest, of these those that it leaves least of."""
    demand, count, there, rests = problem.demand[shape], problem.hosts[shape], notes.there, notes.rests
    if simple and start <= 0.0:
        smallest = rests_at_origin(problem, left, demand, rests)
        if count == 1:
            there[0] = first_up_to(rests, smallest)
            return
        found = 0
        for room in range(there.shape[0]):
            there[found] = room
            found += rests[room] < np.inf
    else:
        found = _free_then(notes, start) if simple else _there(problem, notes, shape, start, threshold)
        if found == count:
            return
        for place in range(found):
            rests[there[place]] = rest(problem, left, there[place], demand, start)
    _sort_first(problem.until, rests, there, found, count)


@borrowing
def _free_then(notes: _Notes, start: float) -> int:
    """Note the rooms that are free then; return how many. Mostly there is one, which two sums tell."""
    found, where = 0, 0
    for room in range(notes.when.shape[0]):
        free = notes.when[room] <= start
        found += free
        where += room if free else 0
    if found == 1:
        notes.there[0] = where
        return 1
    found = 0
    for room in range(notes.there.shape[0]):
        if notes.when[room] <= start:
            notes.there[found] = room
            found += 1
    return found


@borrowing
def _sort_first(
    until: NDArray[np.float64], rests: NDArray[np.float64], there: NDArray[np.int64], found: int, count: int
) -> None:
    """Bring the first rooms by their ends, then by what is left of them, to the front; equals stay in order."""
    for index in range(1, found):
        room = there[index]
        end, left = until[room], rests[room]
        place = min(index, count)
        while place > 0 and (until[there[place - 1]], rests[there[place - 1]]) > (end, left):
            if place < count:
                there[place] = there[place - 1]
            place -= 1
        there[place] = room
