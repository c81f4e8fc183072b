"""The decoder and the objective in machine code, for whole populations: the same results as `decoder`, bit for bit.

Identical hosts need no names while searching: free times are kept as ascending runs of (time, hosts). A task consumes
runs from the front and inserts one, so its cost hardly depends on the number of hosts. Several classes keep every host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.compiled_windows import Windows, laid_out
from cosched.scheduling.compiled_windows import place as place_task
from cosched.scheduling.jit import compiled
from cosched.scheduling.metrics import MISSED
from cosched.scheduling.widths import narrowed, single_class, width_base

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem, Weights

__all__ = ["Tables", "evaluate", "figures", "repair", "spans", "tables"]


class Tables(NamedTuple):
    """A problem as the compiled code reads it.

    A plan has one number for each task, its width (see `widths.choices`); on identical hosts that is the host count.

    Attributes:
        seconds: (K, m, W) run times on 1 … W hosts, the most that any task can use; K = 1 on identical hosts.
        host_class: (N,) index into the first axis of `seconds`; hosts are ascending by free time, then by index.
        host_index: (N,) index of each host in the problem.
        free: (N,) ascending free times.
        release: (m,) earliest starts.
        deadline: (m,) deadlines.
        before: indices of predecessors, those of task j in before[first[j]:first[j+1]].
        first: (m+1,) see `before`.
        base: above every host count, see above.
        absences: (A, 3) when hosts are not there: host, begin and end.
        windows: when they are there.
        waits: whether any task has a release or predecessors.
        due: whether any task has a deadline.
        weights: (4,) of makespan, idle and lateness, each already divided by what makes its term a pure number, and of
            a missed deadline.
    """

    seconds: NDArray[np.float64]
    host_class: NDArray[np.int64]
    host_index: NDArray[np.int64]
    free: NDArray[np.float64]
    release: NDArray[np.float64]
    deadline: NDArray[np.float64]
    before: NDArray[np.int64]
    first: NDArray[np.int64]
    base: int
    absences: NDArray[np.float64]
    windows: Windows
    waits: bool
    due: bool
    weights: NDArray[np.float64]


def tables(problem: Problem, weights: Weights, bound: float) -> Tables:
    """Lay a problem out for the compiled code; `bound` as in `metrics.objective`."""
    only = single_class(problem)
    ascending = np.lexsort((np.arange(len(problem.hosts)), problem.free))
    before = problem.depends_on or ((),) * len(problem.tasks)
    with_deadline = int(np.isfinite(problem.deadline).sum())
    scale = np.array([1 / bound, 1 / len(problem.hosts), 1 / (max(with_deadline, 1) * bound)])
    weight = np.array([weights.makespan, weights.idle, weights.lateness])
    seconds = narrowed(problem).seconds  # the less memory, the quicker
    return Tables(
        seconds=_plain(seconds if only is None else seconds[only : only + 1]),
        host_class=problem.host_class[ascending] if only is None else np.zeros(len(ascending), dtype=np.int64),
        host_index=ascending.astype(np.int64),
        free=_plain(problem.free[ascending]),
        release=_plain(problem.release),
        deadline=_plain(problem.deadline),
        before=np.array([other for others in before for other in others], dtype=np.int64),
        first=np.cumsum([0, *[len(others) for others in before]], dtype=np.int64),
        base=width_base(problem),
        absences=_plain(np.array(problem.absences, dtype=np.float64).reshape(-1, 3)),
        windows=laid_out(problem),
        waits=any(problem.depends_on) or bool(problem.release.any()),
        due=with_deadline > 0,
        weights=np.append(weight * scale / weight.sum(), MISSED if weights.deadlines_first else 0.0),
    )


def _plain(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the one memory layout and type that the code below is compiled for."""
    return np.ascontiguousarray(values, dtype=np.float64)


@compiled
def evaluate(problem: Tables, orders: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the objective of each plan of a population.

    Args:
        problem: see `tables`.
        orders: (P, m) permutations in which every task is behind its predecessors.
        counts: (P, m) widths by task, each usable.
    """
    tasks = orders.shape[1]
    starts, ends = np.empty(tasks), np.empty(tasks)
    costs = np.empty(orders.shape[0])
    for plan in range(orders.shape[0]):
        spans(problem, orders[plan], counts[plan], starts, ends)
        costs[plan] = _objective(problem, counts[plan], starts, ends)
    return costs


@compiled
def figures(problem: Tables, order: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[float, float, float, float]:
    """Return makespan, number of missed deadlines, lateness and front-weighted idle share of one plan."""
    starts, ends = np.empty(order.shape[0]), np.empty(order.shape[0])
    spans(problem, order, counts, starts, ends)
    makespan = ends.max()
    late = np.maximum(ends - problem.deadline, 0.0)
    idle = _front_idle(problem, counts, starts, ends, makespan) / problem.free.shape[0]
    return makespan, float((ends > problem.deadline).sum()), late.sum(), idle


@compiled
def spans(
    problem: Tables,
    order: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    """Fill in when each task starts and ends, by task index."""
    if problem.absences.shape[0] > 0:
        _spans_around(problem, order, counts, starts, ends)
    elif problem.seconds.shape[0] == 1:
        _spans_identical(problem, order, counts, starts, ends)
    else:
        _spans_classes(problem, order, counts, starts, ends)


@compiled
def repair(problem: Tables, orders: NDArray[np.int64]) -> None:
    """Draw every task's predecessors ahead of it in each order, as `decoder.dependency_order` does."""
    if problem.before.shape[0] == 0:
        return
    tasks = orders.shape[1]
    stack = np.empty(tasks + 1, dtype=np.int64)
    placed = np.empty(tasks, dtype=np.int64)
    for plan in range(orders.shape[0]):
        seen = np.zeros(tasks, dtype=np.bool_)
        done = 0
        for position in range(tasks):
            stack[0] = orders[plan, position]
            depth = 1
            while depth > 0:
                top = stack[depth - 1]
                missing = -1
                for index in range(problem.first[top], problem.first[top + 1]):
                    if not seen[problem.before[index]]:
                        missing = problem.before[index]
                        break
                if missing >= 0:
                    stack[depth] = missing
                    depth += 1
                    continue
                depth -= 1
                if not seen[top]:
                    seen[top] = True
                    placed[done] = top
                    done += 1
        orders[plan, :] = placed


@compiled
def _ready(problem: Tables, task: int, ends: NDArray[np.float64]) -> float:
    ready = float(problem.release[task])
    for index in range(problem.first[task], problem.first[task + 1]):
        ready = max(ready, float(ends[problem.before[index]]))
    return ready


@compiled
def _spans_identical(
    problem: Tables,
    order: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    hosts, tasks = problem.free.shape[0], order.shape[0]
    # Every task takes at least part of one run and inserts one: with `tasks` cells to spare in front of the hosts' runs
    # an insertion can always shift what is before it by one to the left.
    when = np.empty(tasks + hosts)
    width = np.empty(tasks + hosts, dtype=np.int64)
    when[tasks:] = problem.free
    width[tasks:] = 1
    head, tail = tasks, tasks + hosts
    for position in range(tasks):
        task = order[position]
        needed = counts[task]
        start = float(when[head])
        while needed > 0:
            start = float(when[head])
            if width[head] > needed:
                width[head] -= needed
                break
            needed -= width[head]
            head += 1
        if problem.waits:
            start = max(start, _ready(problem, task, ends))
        end = start + problem.seconds[0, task, counts[task] - 1]
        starts[task] = start
        ends[task] = end
        place = tail - 1
        while place >= head and when[place] > end:
            place -= 1
        if place >= head and when[place] == end:
            width[place] += counts[task]
            continue
        for behind in range(head, place + 1):
            when[behind - 1] = when[behind]
            width[behind - 1] = width[behind]
        head -= 1
        when[place] = end
        width[place] = counts[task]


@compiled
def _spans_classes(
    problem: Tables,
    order: NDArray[np.int64],
    widths: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    hosts = problem.free.shape[0]
    when, class_of, index_of = problem.free.copy(), problem.host_class.copy(), problem.host_index.copy()
    chosen = np.empty(hosts, dtype=np.bool_)
    seconds = np.empty(problem.seconds.shape[0])
    for position in range(order.shape[0]):
        task = order[position]
        count, wanted = widths[task] % problem.base, widths[task] // problem.base - 1
        for klass in range(seconds.shape[0]):
            possible = wanted < 0 or klass == wanted
            seconds[klass] = problem.seconds[klass, task, count - 1] if possible else np.inf
        ready = _ready(problem, task, ends)
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
        starts[task] = best_start
        ends[task] = best_end
        for host in range(last + 1):
            chosen[host] = seconds[class_of[host]] <= best_threshold
        _occupy(when, class_of, index_of, chosen, last, best_end)


@compiled
def _spans_around(
    problem: Tables,
    order: NDArray[np.int64],
    widths: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> None:
    pools, runs = problem.windows.pools.copy(), problem.windows.runs.copy()
    table, base, waits = problem.seconds, problem.base, problem.waits
    for position in range(order.shape[0]):
        task = order[position]
        count, wanted = widths[task], -1
        if table.shape[0] > 1:
            count, wanted = count % base, count // base - 1
        for pool in pools:
            allowed = wanted < 0 or pool.host_class == wanted
            pool.seconds = table[pool.host_class, task, count - 1] if allowed else np.inf
        ready = _ready(problem, task, ends) if waits else 0.0
        starts[task], ends[task] = place_task(pools, runs, count, ready)


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
def _objective(
    problem: Tables, widths: NDArray[np.int64], starts: NDArray[np.float64], ends: NDArray[np.float64]
) -> float:
    """Return the objective; `metrics` has the formulas and explains the idle one."""
    makespan, late = 0.0, 0.0
    missed = 0
    for task in range(widths.shape[0]):
        makespan = max(makespan, ends[task])
    for task in range(widths.shape[0] if problem.due else 0):
        missed += ends[task] > problem.deadline[task]
        late += max(0.0, float(ends[task] - problem.deadline[task]))
    if problem.weights[1] == 0.0:
        return float(problem.weights[3] * missed + (problem.weights[0] * makespan + problem.weights[2] * late))
    idle = _front_idle(problem, widths, starts, ends, makespan)
    terms = problem.weights[0] * makespan + problem.weights[1] * idle + problem.weights[2] * late
    return float(problem.weights[3] * missed + terms)


@compiled
def _front_idle(
    problem: Tables,
    widths: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    makespan: float,
) -> float:
    """Return Titan's φ; `metrics` explains it."""
    used, available = 0.0, 0.0
    counts = widths if problem.seconds.shape[0] == 1 else widths % problem.base
    for task in range(widths.shape[0]):
        used += counts[task] * ((makespan - starts[task]) ** 2 - (makespan - ends[task]) ** 2)
    for host in range(problem.free.shape[0]):
        available += (makespan - min(float(problem.free[host]), makespan)) ** 2
    for index in range(problem.absences.shape[0]):
        available -= (makespan - min(float(problem.absences[index, 1]), makespan)) ** 2
        available += (makespan - min(float(problem.absences[index, 2]), makespan)) ** 2
    return max(0.0, available - used) / (makespan * makespan)
