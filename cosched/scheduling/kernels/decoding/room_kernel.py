"""What shared hosts have left while a plan is decoded, in machine code.

What a host has left of a resource never falls with time. Of cores and devices, of which a host has few, it is an
ascending row of times, one for each unit, when it is free for good: "n are free from when on" is the row's n-th entry.
Of memory it is a stair, times and amounts ascending. A task looks at all rooms and takes of one or two; so for each
amount that tasks ask for, the n-th entries of all rooms lie side by side as well, and loops over them have no branches:
processors do eight rooms at once. A room that changes writes its entries there anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.kernels.jit import borrowing, compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.packing_tables import PackingTables

__all__ = [
    "LeftRooms",
    "first_up_to",
    "least",
    "left_rooms",
    "reset",
    "rest",
    "rests_at_origin",
    "stairs_free_from",
    "take",
    "when_free",
]


_LATEST = np.int64(np.iinfo(np.int64).max)  # the bits of no number are more


class LeftRooms(NamedTuple):
    """Arrays say what is left of each room.

    W' is the number of rooms, rounded up to whole vectors: what is beyond the last room is never free.

    Attributes:
        units: (W, U+1) see `PackingTables.units`.
        times: (L, W') when each level is free for good.
        steps: (W, R_stairs, 2, L) see `PackingTables.steps`.
        step_count: (W, R_stairs) how many steps there are.
        idle: (R, W') how much is free for good at the origin.
        later: (U+1,) room for a row.
    """

    units: NDArray[np.float64]
    times: NDArray[np.float64]
    steps: NDArray[np.float64]
    step_count: NDArray[np.int64]
    idle: NDArray[np.float64]
    later: NDArray[np.float64]


@compiled
def left_rooms(problem: PackingTables) -> LeftRooms:
    """Return what is left of rooms before any plan: `reset` fills it in."""
    return LeftRooms(
        problem.units.copy(),
        problem.times.copy(),
        problem.steps.copy(),
        problem.step_count.copy(),
        problem.idle.copy(),
        np.empty(problem.units.shape[1]),
    )


@compiled
def reset(problem: PackingTables, left: LeftRooms) -> None:
    """Give back what a plan has taken."""
    left.units[:], left.times[:], left.idle[:] = problem.units, problem.times, problem.idle
    left.step_count[:] = problem.step_count
    for room in range(problem.step_count.shape[0]):
        for stair in range(problem.step_count.shape[1]):
            for step in range(problem.step_count[room, stair]):
                left.steps[room, stair, 0, step] = problem.steps[room, stair, 0, step]
                left.steps[room, stair, 1, step] = problem.steps[room, stair, 1, step]


@borrowing
def when_free(times: NDArray[np.float64], levels: NDArray[np.int64], ready: float, when: NDArray[np.float64]) -> float:
    """Fill in from when on each room has what a task takes of rows; return the soonest.

    No room has it before the task is ready. The least is found as in `least`, while it is written: to read so soon what
    was just written takes three times as long.
    """
    free, soonest = times[levels[0]], _LATEST
    for room in range(when.shape[0]):
        time = np.float64(free[room] if free[room] > ready else ready)
        when[room] = time
        soonest = time.view(np.int64) if time.view(np.int64) < soonest else soonest
    for resource in range(1, levels.shape[0]):
        if levels[resource] > 0:
            free, soonest = times[levels[resource]], _LATEST
            for room in range(when.shape[0]):
                time = np.float64(free[room] if free[room] > when[room] else when[room])
                when[room] = time
                soonest = time.view(np.int64) if time.view(np.int64) < soonest else soonest
    found = np.int64(soonest)  # numba views nothing that is written twice
    return float(found.view(np.float64))


@borrowing
def least(values: NDArray[np.float64]) -> float:
    """Return the least of numbers that are not below 0.

    As whole numbers their bits are in the same order, and of whole numbers processors compare eight at once.
    """
    bits = values.view(np.int64)
    found = bits[0]
    for place in range(bits.shape[0]):
        found = bits[place] if bits[place] < found else found
    smallest = np.int64(found)
    return float(smallest.view(np.float64))


@borrowing
def first_up_to(values: NDArray[np.float64], limit: float) -> int:
    """Return the place of the first value that is no more than a limit; there is one."""
    place = 0
    while values[place] > limit:
        place += 1
    return place


@borrowing
def stairs_free_from(left: LeftRooms, room: int, demand: NDArray[np.int64]) -> float:
    """Return when a room has what a shape takes of stairs; `demand` of rows, then of stairs."""
    latest, rows = 0.0, left.idle.shape[0] - left.step_count.shape[1]
    for stair in range(left.step_count.shape[1]):
        amount = demand[rows + stair]
        if amount > 0:
            latest = max(latest, _stair_free_from(left.steps[room, stair], left.step_count[room, stair], amount))
    return latest


@borrowing
def rests_at_origin(
    problem: PackingTables, left: LeftRooms, demand: NDArray[np.int64], rests: NDArray[np.float64]
) -> float:
    """Fill in what a task at the origin leaves of each room, see `Room.rest`; infinite where it does not fit.

    Returns:
        The least of it.
    """
    smallest = _LATEST
    rests[:] = 0.0
    for place in problem.rank:
        amount, idle, share = float(demand[place]), left.idle[place], problem.share[place]
        smallest = _LATEST
        for room in range(rests.shape[0]):
            more = rests[room] + (idle[room] - amount) * share[room]
            kept = np.float64(more if idle[room] >= amount else np.inf)
            rests[room] = kept
            smallest = kept.view(np.int64) if kept.view(np.int64) < smallest else smallest
    found = np.int64(smallest)
    return float(found.view(np.float64))


@borrowing
def rest(problem: PackingTables, left: LeftRooms, room: int, demand: NDArray[np.int64], start: float) -> float:
    """Return what a task leaves of a room that has what it takes of rows; infinite where stairs have less."""
    begin, rows, total = problem.begin, problem.begin.shape[0] - 1, 0.0
    for place in problem.rank:
        amount = demand[place]
        if start <= 0.0:
            free = left.idle[place, room]
        elif place < rows:
            column = begin[place] + amount
            while column < begin[place + 1] and left.units[room, column] <= start:
                column += 1
            free = float(column - begin[place])
        else:
            upto = _steps_until(left.steps[room, place - rows], left.step_count[room, place - rows], start)
            free = left.steps[room, place - rows, 1, upto - 1] if upto > 0 else 0.0
        if free < amount:
            return np.inf
        total += (free - amount) * problem.share[place, room]
    return total


@borrowing
def take(
    problem: PackingTables, left: LeftRooms, room: int, demand: NDArray[np.int64], start: float, end: float
) -> None:
    """Take a task's part of a room, of units those that became free last before its start."""
    rows = problem.begin.shape[0] - 1
    for place in range(demand.shape[0]):
        amount = demand[place]
        if amount == 0:
            continue
        if place < rows:
            first = problem.begin[place]
            row = left.units[room, first : problem.begin[place + 1]]
            remains = _take_units(row, left.later, amount, start, end)
            for level in range(problem.first_level[place], problem.first_level[place + 1]):
                left.times[level, room] = left.units[room, problem.column[level]]
            still = float(remains)
        else:
            stair = place - rows
            left.step_count[room, stair], still = _take_steps(
                left.steps[room, stair], left.step_count[room, stair], amount, start, end
            )
        if still < left.idle[place, room]:
            left.idle[place, room] = still


@borrowing
def _take_units(row: NDArray[np.float64], later: NDArray[np.float64], amount: int, start: float, end: float) -> int:
    """Take units of a row; return how many remain that are free at the start.

    Behind those, what becomes free by the end moves to the left, and the end comes behind it; later times stay:
    min(max(t[i], end), t[i + amount]) is all of it.
    """
    units, free = row.shape[0], 0
    for column in range(units):
        free += row[column] <= start
    ahead, last = row[amount:], row[units - amount :]
    for column in range(units - amount):
        here, there = row[column], ahead[column]
        time = here if here > end else end
        time = time if time < there else there
        later[column] = here if there <= start else time
    for column in range(amount):
        last[column] = last[column] if last[column] > end else end
    for column in range(units - amount):
        row[column] = later[column]
    return free - amount


@borrowing
def _stair_free_from(steps: NDArray[np.float64], count: int, amount: float) -> float:
    """Return when so much is free. What is asked for is mostly in the first steps."""
    step = 0
    while step < count and steps[1, step] < amount:
        step += 1
    return float(steps[0, step]) if step < count else np.inf


@borrowing
def _steps_until(steps: NDArray[np.float64], count: int, time: float) -> int:
    """Return the number of steps up to a time."""
    step = 0
    while step < count and steps[0, step] <= time:
        step += 1
    return step


@borrowing
def _take_steps(steps: NDArray[np.float64], count: int, amount: int, start: float, end: float) -> tuple[int, float]:
    """Take an amount, as `stairs.Stair` does; return the number of steps afterwards, and what is left at the start."""
    before_end = _steps_until(steps, count, end)
    upto_start = _steps_until(steps, count, start)
    back = steps[1, before_end - 1]
    left = steps[1, upto_start - 1] - amount
    low = 0  # steps that stay as they are
    while low < upto_start and steps[1, low] < left:
        low += 1
    kept = low
    if left > 0.0:  # the first that had as much, or more, is what is left up to the start
        steps[1, kept] = left
        kept += 1
    at_end = before_end > 0 and steps[0, before_end - 1] == end
    middle = before_end - 1 if at_end else before_end
    behind = count - before_end
    shift = kept + (middle - upto_start) + 1 - before_end  # of those after the end
    if shift > 0:
        for step in range(count - 1, before_end - 1, -1):
            steps[0, step + shift] = steps[0, step]
            steps[1, step + shift] = steps[1, step]
    # Those between start and end move to the left, never to the right.
    for step in range(upto_start, middle):
        steps[0, kept] = steps[0, step]
        steps[1, kept] = steps[1, step] - amount
        kept += 1
    if shift < 0:
        for step in range(before_end, count):
            steps[0, step + shift] = steps[0, step]
            steps[1, step + shift] = steps[1, step]
    steps[0, kept], steps[1, kept] = end, back
    return kept + 1 + behind, left
