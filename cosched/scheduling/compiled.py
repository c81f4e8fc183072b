"""Problems laid out for machine code, and what plans of them cost: the same as `metrics`, for whole populations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.compiled_spans import spans
from cosched.scheduling.compiled_windows import Windows, laid_out
from cosched.scheduling.jit import compiled
from cosched.scheduling.metrics import MISSED
from cosched.scheduling.widths import narrowed, single_class, width_base

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem, Weights

__all__ = ["Tables", "evaluate", "figures", "repair", "tables"]


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
    starts, ends = np.empty(orders.shape), np.empty(orders.shape)
    spans(problem, orders, counts, starts, ends)
    return _objectives(problem, counts, starts, ends)


@compiled
def figures(problem: Tables, order: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[float, float, float, float]:
    """Return makespan, number of missed deadlines, lateness and front-weighted idle share of one plan."""
    starts, ends = np.empty((1, order.shape[0])), np.empty((1, order.shape[0]))
    spans(problem, order.reshape(1, -1), counts.reshape(1, -1), starts, ends)
    makespan, over = ends.max(), ends[0] - problem.deadline
    idle = _front_idle(problem, counts, starts[0], ends[0], makespan) / problem.free.shape[0]
    return makespan, float((over > 0).sum()), np.maximum(over, 0.0).sum(), idle


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
def _objectives(
    problem: Tables, widths: NDArray[np.int64], starts: NDArray[np.float64], ends: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the objective of each plan; `metrics` has the formulas and explains the idle one."""
    weights, deadline, due = problem.weights, problem.deadline, problem.due
    plans, tasks = ends.shape
    costs = np.empty(plans)
    for plan in range(plans):
        makespan, late, idle, missed = 0.0, 0.0, 0.0, 0
        for task in range(tasks):
            makespan = max(makespan, ends[plan, task])
        for task in range(tasks if due else 0):
            missed += ends[plan, task] > deadline[task]
            late += max(0.0, ends[plan, task] - deadline[task])
        if weights[1] > 0.0:
            idle = _front_idle(problem, widths[plan], starts[plan], ends[plan], makespan)
        costs[plan] = weights[3] * missed + (weights[0] * makespan + weights[1] * idle + weights[2] * late)
    return costs


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
