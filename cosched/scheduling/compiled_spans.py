"""When the tasks of whole populations start and end, in machine code: the same as `decoder.spans`, bit for bit.

Identical hosts need no names while searching. Few of them are an ascending row of free times (see `ascending`); many
are kept as ascending runs of (time, hosts): a task consumes runs from the front and inserts one, so its cost hardly
depends on the number of hosts. Several classes keep every host.

What a loop needs is taken out of the tables ahead of it: to hand them all to a function for every task takes longer
than to place the task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.ascending import occupied, room
from cosched.scheduling.compiled_windows import place as place_task
from cosched.scheduling.jit import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.compiled import Tables

__all__ = ["spans"]

_FEW = 320  # hosts up to which a row is quicker than runs


@compiled
def spans(
    problem: Tables,
    orders: NDArray[np.int64],
    widths: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    """Fill in when each task starts and ends under each plan of a population.

    Args:
        problem: see `compiled.tables`.
        orders: (P, m) permutations in which every task is behind its predecessors.
        widths: (P, m) by task, each usable.
        starts: (P, m) by task, filled in.
        ends: (P, m) by task, filled in.
    """
    if problem.absences.shape[0] > 0:
        _around(problem, orders, widths, starts, ends)
    elif problem.seconds.shape[0] > 1:
        _on_classes(problem, orders, widths, starts, ends)
    elif problem.free.shape[0] <= _FEW:
        _on_few(problem, orders, widths, starts, ends)
    else:
        _on_many(problem, orders, widths, starts, ends)


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
    problem: Tables,
    orders: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    seconds, waits = problem.seconds[0], problem.waits
    release, before, first = problem.release, problem.before, problem.first
    hosts = problem.free.shape[0]
    rows = room(2, hosts)
    free, after = rows[0], rows[1]
    for plan in range(orders.shape[0]):
        for host in range(hosts):
            free[host] = problem.free[host]
        for position in range(orders.shape[1]):
            task = orders[plan, position]
            count = counts[plan, task]
            start = float(free[count - 1])
            if waits:
                start = max(start, _ready(release, before, first, task, ends[plan]))
            end = start + seconds[task, count - 1]
            starts[plan, task], ends[plan, task] = start, end
            occupied(free, hosts, count, end, after)
            free, after = after, free


@compiled
def _on_many(
    problem: Tables,
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
    when, width = np.empty(tasks + hosts), np.empty(tasks + hosts, dtype=np.int64)
    for plan in range(orders.shape[0]):
        when[tasks:] = problem.free
        width[tasks:] = 1
        head, tail = tasks, tasks + hosts
        for position in range(tasks):
            task = orders[plan, position]
            count = counts[plan, task]
            needed, start = count, float(when[head])
            while needed > 0:
                start = float(when[head])
                if width[head] > needed:
                    width[head] -= needed
                    break
                needed -= width[head]
                head += 1
            if waits:
                start = max(start, _ready(release, before, first, task, ends[plan]))
            end = start + seconds[task, count - 1]
            starts[plan, task], ends[plan, task] = start, end
            place = tail - 1
            while place >= head and when[place] > end:
                place -= 1
            if place >= head and when[place] == end:
                width[place] += count
                continue
            for behind in range(head, place + 1):
                when[behind - 1] = when[behind]
                width[behind - 1] = width[behind]
            head -= 1
            when[place], width[place] = end, count


@compiled
def _on_classes(
    problem: Tables,
    orders: NDArray[np.int64],
    widths: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    release, before, first = problem.release, problem.before, problem.first
    hosts, classes, table, base = problem.free.shape[0], problem.seconds.shape[0], problem.seconds, problem.base
    chosen, seconds = np.empty(hosts, dtype=np.bool_), np.empty(classes)
    when, class_of, index_of = problem.free.copy(), problem.host_class.copy(), problem.host_index.copy()
    for plan in range(orders.shape[0]):
        when[:], class_of[:], index_of[:] = problem.free, problem.host_class, problem.host_index
        for position in range(orders.shape[1]):
            task = orders[plan, position]
            count, wanted = widths[plan, task] % base, widths[plan, task] // base - 1
            for klass in range(classes):
                possible = wanted < 0 or klass == wanted
                seconds[klass] = table[klass, task, count - 1] if possible else np.inf
            ready = _ready(release, before, first, task, ends[plan])
            best_start, best_end, best_threshold, last = 0.0, np.inf, np.inf, 0
            for threshold in seconds:
                found = 0
                for host in range(hosts if threshold < np.inf else 0):
                    found += seconds[class_of[host]] <= threshold
                    if found == count:
                        start = max(when[host], ready)
                        end = start + threshold
                        if end < best_end or (end == best_end and threshold < best_threshold):
                            best_start, best_end, best_threshold, last = start, end, threshold, host
                        break
            starts[plan, task], ends[plan, task] = best_start, best_end
            for host in range(last + 1):
                chosen[host] = seconds[class_of[host]] <= best_threshold
            _occupy(when, class_of, index_of, chosen, last, best_end)


@compiled
def _occupy(
    when: NDArray[np.float64],
    class_of: NDArray[np.int64],
    index_of: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    last: int,
    end: float,
) -> None:
    """Move the chosen hosts (none behind `last`) to `end`, keeping the order by free time, then index."""
    for host in range(last, -1, -1):
        if not chosen[host]:
            continue
        klass, index = class_of[host], index_of[host]
        place = host
        while place + 1 < when.shape[0] and (
            when[place + 1] < end or (when[place + 1] == end and index_of[place + 1] < index)
        ):
            when[place] = when[place + 1]
            class_of[place] = class_of[place + 1]
            index_of[place] = index_of[place + 1]
            place += 1
        when[place], class_of[place], index_of[place] = end, klass, index


@compiled
def _around(
    problem: Tables,
    orders: NDArray[np.int64],
    widths: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    release, before, first, waits = problem.release, problem.before, problem.first, problem.waits
    table, base, windows = problem.seconds, problem.base, problem.windows
    pools, runs = windows.pools.copy(), windows.runs.copy()
    for plan in range(orders.shape[0]):
        pools[:], runs[:] = windows.pools, windows.runs
        for position in range(orders.shape[1]):
            task = orders[plan, position]
            count, wanted = widths[plan, task], -1
            if table.shape[0] > 1:
                count, wanted = count % base, count // base - 1
            for pool in pools:
                allowed = wanted < 0 or pool.host_class == wanted
                pool.seconds = table[pool.host_class, task, count - 1] if allowed else np.inf
            ready = _ready(release, before, first, task, ends[plan]) if waits else 0.0
            starts[plan, task], ends[plan, task] = place_task(pools, runs, count, ready)
