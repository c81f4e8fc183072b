"""Compute starts and ends of populations in machine code, bit for bit as `decoder.spans`.

Up to a few hundred identical hosts are one ascending row of free times, more are runs of (time, hosts); of several
classes each has a row. Loops read what they need from the tables first: handing tables to a function costs more. They
ask themselves whether there are licences: a call for each task that finds none takes half as long as placing the task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.decoding.availability_kernel import place_in_windows as place_task
from cosched.scheduling.kernels.decoding.licence_kernel import licences_free_from, take_licences
from cosched.scheduling.kernels.jit import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.problem_tables import ProblemTables

__all__ = ["free_rows", "occupy_first", "population_spans", "spans_within"]


@compiled
def free_rows(rows: int, hosts: int) -> NDArray[np.float64]:
    """Return (rows, 2 N) of infinity; free times belong into the first N columns.

    The columns beyond may be read.
    """
    return np.full((rows, 2 * hosts), np.inf)


@compiled
def occupy_first(free: NDArray[np.float64], hosts: int, count: int, end: float, after: NDArray[np.float64]) -> None:
    """Write the free times of hosts after the first `count` are taken until `end`.

    Those that were free from `count` on move to the left while they are no later than the end, and later ones stay:
    min(max(f[i], end), f[i + count]) is both, and has no branch for the processor to guess.

    Args:
        free: (2 N,) see `free_rows`; the first `count` are no later than `end`.
        hosts: N.
        count: 1 … N.
        end: seconds.
        after: (2 N,) another row, of which the first N are written.
    """
    ahead = free[count:]
    for host in range(hosts):
        here, there = free[host], ahead[host]
        later = here if here > end else end
        after[host] = later if later < there else there


# Many identical hosts are ascending runs of (time, hosts): a task consumes runs from the front and inserts one, so
# its cost hardly depends on the number of hosts.


_FEW = 320  # hosts up to which a row is quicker than runs


def population_spans(
    problem: ProblemTables,
    orders: NDArray[np.int64],
    choices: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    """Fill in when each task starts and ends under each plan of a population.

    Args:
        problem: see `objective_kernel.tabulate`.
        orders: (P, m) permutations in which every task is behind its predecessors.
        choices: (P, m) by task, each usable.
        starts: (P, m) by task, filled in.
        ends: (P, m) by task, filled in.
    """
    spans_within(problem, orders, choices, np.full(orders.shape[0], np.inf), starts, ends)


@compiled
def spans_within(
    problem: ProblemTables,
    orders: NDArray[np.int64],
    choices: NDArray[np.int64],
    latest: NDArray[np.float64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    """Do the work of `population_spans`, but of a plan that ends after its `latest` end perhaps in part.

    Args:
        problem: see `population_spans`.
        orders: see `population_spans`.
        choices: see `population_spans`.
        latest: (P,) seconds. Of up to a few hundred identical hosts that stay, plans that are seen to end later are
            read no further: the first end of such a plan is infinite, the others are any.
        starts: see `population_spans`.
        ends: see `population_spans`.
    """
    if problem.unavailability.shape[0] > 0:
        _around(problem, orders, choices, starts, ends)
    elif problem.seconds.shape[0] > 1:
        _on_classes(problem, orders, choices, starts, ends)
    elif problem.free.shape[0] <= _FEW:
        _on_few(problem, orders, choices, latest, starts, ends)
    else:
        _on_many(problem, orders, choices, starts, ends)


@compiled
def _ready(
    release: NDArray[np.float64],
    before: NDArray[np.int64],
    first: NDArray[np.int64],
    task: int,
    ends: NDArray[np.float64],
) -> float:
    """Return when a task is released and its predecessors have ended."""
    ready = float(release[task])
    for index in range(first[task], first[task + 1]):
        ready = max(ready, float(ends[before[index]]))
    return ready


@compiled
def _on_few(
    problem: ProblemTables,
    orders: NDArray[np.int64],
    counts: NDArray[np.int64],
    latest: NDArray[np.float64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    seconds, waits = problem.seconds[0], problem.waits
    release, before, first = problem.release, problem.before, problem.first
    hosts = problem.free.shape[0]
    rows = free_rows(2, hosts)
    free, after = rows[0], rows[1]
    begin, demand = problem.licences.begin, problem.licences.demand
    licences, scarce = problem.licences.units.copy(), demand.shape[1] > 0
    for plan in range(orders.shape[0]):
        last = latest[plan]
        spare = _spare_time(problem.free, seconds, counts[plan], last) if last < np.inf else np.inf
        if scarce:
            licences[:] = problem.licences.units
        for host in range(hosts):
            free[host] = problem.free[host]
        for position in range(orders.shape[1]):
            task = orders[plan, position]
            count = counts[plan, task]
            start = float(free[count - 1])
            if waits:
                start = max(start, _ready(release, before, first, task, ends[plan]))
            if scarce:
                start = licences_free_from(licences, begin, demand, task, start)
            end = start + seconds[task, count - 1]
            for host in range(count if start > free[0] else 0):
                spare -= start - free[host]
            if end > last or spare < 0.0:
                ends[plan, 0] = np.inf
                break
            if scarce:
                take_licences(licences, begin, demand, task, start, end)
            starts[plan, task], ends[plan, task] = start, end
            occupy_first(free, hosts, count, end, after)
            free, after = after, free


@compiled
def _spare_time(
    free: NDArray[np.float64], seconds: NDArray[np.float64], counts: NDArray[np.int64], last: float
) -> float:
    """Return the host-seconds until `last` that no task takes: hosts must not be idle for longer than that."""
    spare = 0.0
    for host in range(free.shape[0]):
        spare += max(last - free[host], 0.0)
    for task in range(counts.shape[0]):
        spare -= counts[task] * seconds[task, counts[task] - 1]
    return spare


@compiled
def _on_many(
    problem: ProblemTables,
    orders: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    seconds, waits = problem.seconds[0], problem.waits
    release, before, first = problem.release, problem.before, problem.first
    hosts, tasks = problem.free.shape[0], orders.shape[1]
    # Every task takes at least part of one run and inserts one: with `tasks` cells to spare in front of the hosts' runs
    # an insertion can always shift what is before it by one to the left.
    when, freed = np.empty(tasks + hosts), np.empty(tasks + hosts, dtype=np.int64)
    begin, demand = problem.licences.begin, problem.licences.demand
    licences = problem.licences.units.copy()
    for plan in range(orders.shape[0]):
        licences[:] = problem.licences.units
        when[tasks:] = problem.free
        freed[tasks:] = 1
        head, tail = tasks, tasks + hosts
        for position in range(tasks):
            task = orders[plan, position]
            count = counts[plan, task]
            needed, start = count, float(when[head])
            while needed > 0:
                start = float(when[head])
                if freed[head] > needed:
                    freed[head] -= needed
                    break
                needed -= freed[head]
                head += 1
            if waits:
                start = max(start, _ready(release, before, first, task, ends[plan]))
            start = licences_free_from(licences, begin, demand, task, start)
            end = start + seconds[task, count - 1]
            take_licences(licences, begin, demand, task, start, end)
            starts[plan, task], ends[plan, task] = start, end
            place = tail - 1
            while place >= head and when[place] > end:
                place -= 1
            if place >= head and when[place] == end:
                freed[place] += count
                continue
            for behind in range(head, place + 1):
                when[behind - 1] = when[behind]
                freed[behind - 1] = freed[behind]
            head -= 1
            when[place], freed[place] = end, count


@compiled
def _on_classes(
    problem: ProblemTables,
    orders: NDArray[np.int64],
    choices: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    release, before, first, waits = problem.release, problem.before, problem.first, problem.waits
    table, base, classes = problem.seconds, problem.base, problem.seconds.shape[0]
    at_first, sizes = _rows(problem.free, problem.host_class, classes)
    free, after = at_first.copy(), at_first[0].copy()
    seconds, heads = np.empty(classes), np.empty(classes)
    taken, chosen = np.zeros(classes, dtype=np.int64), np.zeros(classes, dtype=np.int64)
    begin, demand = problem.licences.begin, problem.licences.demand
    licences, scarce = problem.licences.units.copy(), demand.shape[1] > 0
    for plan in range(orders.shape[0]):
        free[:] = at_first
        licences[:] = problem.licences.units
        for position in range(orders.shape[1]):
            task = orders[plan, position]
            choice = choices[plan, task]
            wanted = choice // base - 1
            count = choice - (wanted + 1) * base
            ready = _ready(release, before, first, task, ends[plan]) if waits else 0.0
            if scarce:
                ready = licences_free_from(licences, begin, demand, task, ready)
            for klass in range(classes):
                possible = wanted < 0 or klass == wanted
                seconds[klass] = table[klass, task, count - 1] if possible else np.inf
            if count == 1:  # what a queue on several classes is mostly made of
                start, end = _place_one(free, seconds, ready, chosen)
            else:
                start, end = _place(free, seconds, ready, count, chosen, taken, heads)
            starts[plan, task], ends[plan, task] = start, end
            if scarce:
                take_licences(licences, begin, demand, task, start, end)
            for klass in range(classes if end < np.inf else 0):
                if chosen[klass] > 0:
                    row, size = free[klass], sizes[klass]
                    occupy_first(row, size, chosen[klass], end, after)
                    for host in range(size):
                        row[host] = after[host]


@compiled
def _place_one(
    free: NDArray[np.float64], seconds: NDArray[np.float64], ready: float, chosen: NDArray[np.int64]
) -> tuple[float, float]:
    """Do the work of `_place` for a task on one host.

    Each class is judged by its own run time, which makes none worse off.
    """
    start, end, best = 0.0, np.inf, -1
    for klass in range(seconds.shape[0]):
        chosen[klass] = 0
        others_start = max(free[klass, 0], ready)
        others_end = others_start + seconds[klass]
        better = others_end < end
        if others_end == end and end < np.inf:
            better = (seconds[klass], free[klass, 0]) < (seconds[best], free[best, 0])
        if better:
            start, end, best = others_start, others_end, klass
    if best >= 0:
        chosen[best] = 1
    return start, end


@compiled
def _place(
    free: NDArray[np.float64],
    seconds: NDArray[np.float64],
    ready: float,
    count: int,
    chosen: NDArray[np.int64],
    taken: NDArray[np.int64],
    heads: NDArray[np.float64],
) -> tuple[float, float]:
    """Return start and end of the placement that ends first; fill in hosts by class."""
    start, end, slowest = 0.0, np.inf, np.inf
    for threshold in seconds:
        if ready + threshold > end or threshold == np.inf:
            continue
        others_start = max(_first_free(free, seconds, threshold, count, taken, heads), ready)
        others_end = others_start + threshold
        if others_end < end or (others_end == end and threshold < slowest):
            start, end, slowest = others_start, others_end, threshold
            for klass in range(seconds.shape[0]):
                chosen[klass] = taken[klass]
    return start, end


@compiled
def _rows(
    free: NDArray[np.float64], host_class: NDArray[np.int64], classes: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return each class's free times as a row (see `free_rows`), and its number of hosts."""
    rows, sizes = free_rows(classes, free.shape[0]), np.zeros(classes, dtype=np.int64)
    for host in range(free.shape[0]):
        klass = host_class[host]
        rows[klass, sizes[klass]] = free[host]
        sizes[klass] += 1
    return rows, sizes


@compiled
def _first_free(
    free: NDArray[np.float64],
    seconds: NDArray[np.float64],
    threshold: float,
    count: int,
    taken: NDArray[np.int64],
    heads: NDArray[np.float64],
) -> float:
    """Return when `count` hosts are free of the classes within the threshold.

    Infinite where there are fewer. It is filled in how many hosts of each class these are; of hosts that become free
    together, those of an earlier class come first. `heads` is room for a time of each class.
    """
    classes, allowed, only = seconds.shape[0], 0, 0
    for klass in range(classes):
        taken[klass] = 0
        heads[klass] = np.inf
        if seconds[klass] <= threshold:
            heads[klass] = free[klass, 0]
            allowed, only = allowed + 1, klass
    if allowed == 1:
        taken[only] = count
        return float(free[only, count - 1])
    when = np.inf
    for _ in range(count):
        soonest, when = 0, heads[0]
        for klass in range(1, classes):
            sooner = heads[klass] < when
            soonest = klass if sooner else soonest
            when = heads[klass] if sooner else when
        if when == np.inf:
            break
        taken[soonest] += 1
        heads[soonest] = free[soonest, taken[soonest]]
    return float(when)


@compiled
def _around(
    problem: ProblemTables,
    orders: NDArray[np.int64],
    choices: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    release, before, first, waits = problem.release, problem.before, problem.first, problem.waits
    table, base, windows = problem.seconds, problem.base, problem.windows
    pools, runs = windows.pools.copy(), windows.runs.copy()
    begin, demand = problem.licences.begin, problem.licences.demand
    licences, scarce = problem.licences.units.copy(), demand.shape[1] > 0
    for plan in range(orders.shape[0]):
        pools[:], runs[:] = windows.pools, windows.runs
        if scarce:
            licences[:] = problem.licences.units
        for position in range(orders.shape[1]):
            task = orders[plan, position]
            count, wanted = choices[plan, task], -1
            if table.shape[0] > 1:
                count, wanted = count % base, count // base - 1
            for pool in pools:
                allowed = wanted < 0 or pool.host_class == wanted
                pool.seconds = table[pool.host_class, task, count - 1] if allowed else np.inf
            ready = _ready(release, before, first, task, ends[plan]) if waits else 0.0
            if scarce:
                ready = licences_free_from(licences, begin, demand, task, ready)
            start, end = place_task(pools, runs, count, ready)
            starts[plan, task], ends[plan, task] = start, end
            if scarce:
                take_licences(licences, begin, demand, task, start, end)
