"""Decode populations on shared hosts in machine code, bit for bit as `packed_decoder`.

What a host has left of a resource never falls with time. Of cores and devices, of which a host has few, it is an
ascending row of times, one for each unit, when it is free for good: "n are free from when on" is the row's n-th entry.
Of memory it is a stair, times and amounts ascending.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.decoding.licence_kernel import licences_free_from, take_licences
from cosched.scheduling.kernels.jit import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.packing_tables import PackingTables

__all__ = ["population_spans"]


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
    rooms, rows = problem.units.shape[0], problem.begin.shape[0] - 1
    begin, demands, hosts, waits = problem.begin, problem.demand, problem.hosts, problem.waits
    simple = problem.seconds.shape[1] == 1 and problem.until[0] == np.inf
    alike = np.all(problem.share[:, 0] == problem.share[0, 0])
    cores_alone = simple and alike and rows == 1 and problem.steps.shape[1] == 0
    units, steps, step_count = problem.units.copy(), problem.steps.copy(), problem.step_count.copy()
    first_idle = _free_at_first(problem)
    idle, when, rests = first_idle.copy(), np.empty(rooms), np.empty(rooms)
    chosen = np.empty(rooms, dtype=np.int64)
    first_licence, licensed = problem.licences.begin, problem.licences.demand
    licences, scarce = problem.licences.units.copy(), licensed.shape[1] > 0  # few problems have such
    for plan in range(orders.shape[0]):
        licences[:] = problem.licences.units
        units[:], step_count[:], idle[:] = problem.units, problem.step_count, first_idle
        _first_steps(problem.steps, step_count, steps)
        for position in range(orders.shape[1]):
            task = orders[plan, position]
            shape = shapes[plan, task]
            ready = _ready(problem, task, ends[plan], licences) if waits or scarce else 0.0
            slowest = problem.seconds[shape, 0]
            if cores_alone and hosts[shape] == 1:  # what most tasks are
                start, room = _fullest(units, idle, demands[shape, 0], ready)
                end = start + slowest
                starts[plan, task], ends[plan, task] = start, end
                if scarce:
                    take_licences(licences, first_licence, licensed, task, start, end)
                if end < np.inf:
                    amount, free = demands[shape, 0], idle[room, 0]
                    idle[room, 0] = _take_units(units[room], 0, units.shape[1], amount, start, end, free)
                continue
            start = _when_free(units, begin, demands[shape], ready, when)
            if not simple:
                start, slowest = _first_to_end(problem, steps, step_count, when, shape, ready, rests)
            elif problem.steps.shape[1] > 0 or hosts[shape] > 1:
                start = _soonest_start(steps, step_count, demands[shape, rows:], hosts[shape], when, rests)
            starts[plan, task], ends[plan, task] = start, start + slowest
            if start == np.inf:
                continue
            take_licences(licences, first_licence, licensed, task, start, start + slowest)
            _choose(problem, units, steps, step_count, idle, when, shape, start, slowest, chosen, rests)
            for place in range(hosts[shape]):
                room = chosen[place]
                demand = demands[shape]
                _take(units[room], begin, idle[room], steps[room], step_count[room], demand, start, start + slowest)


@compiled
def _free_at_first(problem: PackingTables) -> NDArray[np.int64]:
    """Return (W, R_rows) how many units of each row are free at the origin."""
    rooms, rows = problem.units.shape[0], problem.begin.shape[0] - 1
    idle = np.zeros((rooms, rows), dtype=np.int64)
    for room in range(rooms):
        for row in range(rows):
            idle[room, row] = _free_units(problem.units[room], problem.begin[row], problem.begin[row + 1], 0, 0.0)
    return idle


@compiled
def _first_steps(first: NDArray[np.float64], step_count: NDArray[np.int64], steps: NDArray[np.float64]) -> None:
    """Write the stairs as they are at the beginning."""
    for room in range(step_count.shape[0]):
        for stair in range(step_count.shape[1]):
            for step in range(step_count[room, stair]):
                steps[room, stair, 0, step] = first[room, stair, 0, step]
                steps[room, stair, 1, step] = first[room, stair, 1, step]


@compiled
def _ready(problem: PackingTables, task: int, ends: NDArray[np.float64], licences: NDArray[np.float64]) -> float:
    """Return when a task is released, its predecessors have ended, and it has its licences."""
    ready = float(problem.release[task])
    for index in range(problem.first[task], problem.first[task + 1]):
        ready = max(ready, float(ends[problem.before[index]]))
    return float(licences_free_from(licences, problem.licences.begin, problem.licences.demand, task, ready))


@compiled
def _take(
    row: NDArray[np.float64],
    begin: NDArray[np.int64],
    idle: NDArray[np.int64],
    steps: NDArray[np.float64],
    step_count: NDArray[np.int64],
    demand: NDArray[np.int64],
    start: float,
    end: float,
) -> None:
    """Take what a task takes of a room."""
    rows = begin.shape[0] - 1
    for place in range(demand.shape[0]):
        amount = demand[place]
        if amount == 0:
            continue
        if place < rows:
            idle[place] = _take_units(row, begin[place], begin[place + 1], amount, start, end, idle[place])
        else:
            step_count[place - rows] = _take_steps(steps[place - rows], step_count[place - rows], amount, start, end)


@compiled
def _when_free(
    units: NDArray[np.float64],
    begin: NDArray[np.int64],
    demand: NDArray[np.int64],
    ready: float,
    when: NDArray[np.float64],
) -> float:
    """Fill in when each room is free of what rows say; return the soonest."""
    soonest = np.inf
    when[:] = ready
    for row in range(begin.shape[0] - 1):
        amount = demand[row]
        if amount == 0:
            continue
        column = begin[row] + amount - 1
        if column >= begin[row + 1]:
            when[:] = np.inf
            return np.inf
        for room in range(when.shape[0]):
            time = units[room, column]
            when[room] = time if time > when[room] else when[room]
    for room in range(when.shape[0]):
        soonest = when[room] if when[room] < soonest else soonest
    return soonest


@compiled
def _fullest(units: NDArray[np.float64], idle: NDArray[np.int64], amount: int, ready: float) -> tuple[float, int]:
    """Return when a task on one host can start and where, where there are cores alone and hosts are alike."""
    rooms, most = units.shape
    if amount > most:
        return np.inf, -1
    start = np.inf
    for room in range(rooms):
        time = units[room, amount - 1]
        start = time if time < start else start
    start = ready if ready > start else start
    chosen, least = -1, most + 1
    if start <= 0.0:
        for room in range(rooms):
            rest = idle[room, 0] - amount
            if rest >= 0 and rest < least:
                chosen, least = room, rest
        return start, chosen
    for room in range(rooms):
        if units[room, amount - 1] <= start:
            rest = _free_units(units[room], 0, most, amount, start) - amount
            if rest < least:
                chosen, least = room, rest
                if rest == 0:
                    break
    return start, chosen


@compiled
def _free_units(row: NDArray[np.float64], begin: int, end: int, known: int, time: float) -> int:
    """Return how many units are free from a time on, of which some are known to be."""
    column = begin + known
    while column < end and row[column] <= time:
        column += 1
    return column - begin


@compiled
def _take_units(
    row: NDArray[np.float64], begin: int, last: int, amount: int, start: float, end: float, idle: int
) -> int:
    """Take of the units that are free at the start those that became so last; return how many are free at 0."""
    free = idle if start <= 0.0 else _free_units(row, begin, last, amount, start)
    column = begin + free - amount
    while column < last and row[column] < end:
        there = row[column + amount] if column + amount < last else np.inf
        row[column] = end if end < there else there
        column += 1
    return min(idle, free - amount)


@compiled
def _stair_free_from(steps: NDArray[np.float64], count: int, amount: float) -> float:
    """Return when so much is free. What is asked for is mostly in the first steps."""
    step = 0
    while step < count and steps[1, step] < amount:
        step += 1
    return float(steps[0, step]) if step < count else np.inf


@compiled
def _steps_until(steps: NDArray[np.float64], count: int, time: float) -> int:
    """Return the number of steps up to a time."""
    step = 0
    while step < count and steps[0, step] <= time:
        step += 1
    return step


@compiled
def _take_steps(steps: NDArray[np.float64], count: int, amount: int, start: float, end: float) -> int:
    """Take an amount, as `packed_decoder` does; return the number of steps afterwards."""
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
    return kept + 1 + behind


@compiled
def _soonest_start(
    steps: NDArray[np.float64],
    step_count: NDArray[np.int64],
    demand: NDArray[np.int64],
    count: int,
    when: NDArray[np.float64],
    soonest: NDArray[np.float64],
) -> float:
    """Return when enough rooms are free, where none goes and all are of one class.

    Args:
        steps: stairs as they are.
        step_count: their numbers of steps.
        demand: (R_stairs,) of each.
        count: of rooms.
        when: (W,) when rooms are free of what rows say; what stairs say is added where it matters.
        soonest: room for times.
    """
    found, latest = 0, np.inf  # a room that is free no sooner is not among the first
    for room in range(when.shape[0]):
        time = when[room]
        if time >= latest:
            continue
        for stair in range(demand.shape[0]):
            if demand[stair] > 0:
                time = max(time, _stair_free_from(steps[room, stair], step_count[room, stair], demand[stair]))
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


@compiled
def _first_to_end(
    problem: PackingTables,
    steps: NDArray[np.float64],
    step_count: NDArray[np.int64],
    when: NDArray[np.float64],
    shape: int,
    ready: float,
    soonest: NDArray[np.float64],
) -> tuple[float, float]:
    """Return start and run time of the earliest end, each class tried as the slowest; see `_first_start`."""
    start, end, slowest = np.inf, np.inf, np.inf
    for klass in range(problem.seconds.shape[1]):
        threshold = problem.seconds[shape, klass]
        if threshold == np.inf or ready + threshold > end:
            continue
        others = _first_start(problem, steps, step_count, when, shape, problem.hosts[shape], threshold, soonest)
        if others + threshold < end or (others + threshold == end and threshold < slowest):
            start, end, slowest = others, others + threshold, threshold
    return start, slowest


@compiled
def _first_start(
    problem: PackingTables,
    steps: NDArray[np.float64],
    step_count: NDArray[np.int64],
    when: NDArray[np.float64],
    shape: int,
    count: int,
    threshold: float,
    soonest: NDArray[np.float64],
) -> float:
    """Return the earliest time at which enough rooms of the classes within the threshold stay free long enough.

    Parameters as of `_soonest_start`.
    """
    rows, found = problem.begin.shape[0] - 1, 0
    for room in range(when.shape[0]):
        if problem.seconds[shape, problem.room_class[room]] > threshold:
            continue
        time = when[room]
        for stair in range(steps.shape[1]):
            amount = problem.demand[shape, rows + stair]
            if amount > 0:
                time = max(time, _stair_free_from(steps[room, stair], step_count[room, stair], amount))
        when[room] = time
        if time == np.inf or time + threshold > problem.until[room]:
            continue
        place = found
        while place > 0 and soonest[place - 1] > time:
            soonest[place] = soonest[place - 1]
            place -= 1
        soonest[place] = time
        found += 1
    for place in range(count - 1, found):
        start = soonest[place]
        if _there(problem, when, shape, start, threshold) >= count:
            return float(start)
    return np.inf


@compiled
def _there(problem: PackingTables, when: NDArray[np.float64], shape: int, start: float, threshold: float) -> int:
    """Return how many rooms of the classes within the threshold are free from the start to the end."""
    found = 0
    for room in range(when.shape[0]):
        if when[room] <= start and start + threshold <= problem.until[room]:
            found += problem.seconds[shape, problem.room_class[room]] <= threshold
    return found


@compiled
def _rest(
    row: NDArray[np.float64],
    begin: NDArray[np.int64],
    idle: NDArray[np.int64],
    steps: NDArray[np.float64],
    step_count: NDArray[np.int64],
    share: NDArray[np.float64],
    demand: NDArray[np.int64],
    rank: NDArray[np.int64],
    start: float,
) -> float:
    """Return what a task leaves of a room, see `Room.rest`; infinite where it does not fit."""
    rows, rest = begin.shape[0] - 1, 0.0
    for place in rank:
        amount = demand[place]
        if share[place] == 0.0:
            if amount > 0:
                return np.inf
            continue
        if place >= rows:
            upto = _steps_until(steps[place - rows], step_count[place - rows], start)
            free = steps[place - rows, 1, upto - 1] if upto > 0 else 0.0
        elif start <= 0.0:
            free = float(idle[place])
        else:
            free = float(_free_units(row, begin[place], begin[place + 1], amount, start))
        if free < amount:
            return np.inf
        rest += (free - amount) * share[place]
    return rest


@compiled
def _choose(
    problem: PackingTables,
    units: NDArray[np.float64],
    steps: NDArray[np.float64],
    step_count: NDArray[np.int64],
    idle: NDArray[np.int64],
    when: NDArray[np.float64],
    shape: int,
    start: float,
    threshold: float,
    chosen: NDArray[np.int64],
    rests: NDArray[np.float64],
) -> None:
    """Fill in the rooms that a task takes: those that end the soonest, of these those that it leaves least of."""
    count, until, found = problem.hosts[shape], problem.until, 0
    begin, share, demand, rank = problem.begin, problem.share, problem.demand[shape], problem.rank
    seconds, room_class, goes = problem.seconds[shape], problem.room_class, problem.until[0] < np.inf
    for room in range(when.shape[0]):
        if when[room] > start or seconds[room_class[room]] > threshold:
            continue
        if goes and start + threshold > until[room]:
            continue
        rest = _rest(units[room], begin, idle[room], steps[room], step_count[room], share[room], demand, rank, start)
        if rest == np.inf:
            continue
        place = min(found, count)
        while place > 0 and (until[chosen[place - 1]], rests[place - 1]) > (until[room], rest):
            if place < count:
                chosen[place], rests[place] = chosen[place - 1], rests[place - 1]
            place -= 1
        if place < count:
            chosen[place], rests[place] = room, rest
            found += 1
        if rest == 0.0 and count == 1 and not goes:
            return
