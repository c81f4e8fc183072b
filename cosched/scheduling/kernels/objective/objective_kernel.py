"""Objectives of whole populations of plans in machine code: the same values as `objective.objective`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.host_counts import class_base, narrowed, single_class
from cosched.scheduling.kernels.decoding.availability_kernel import tabulate_windows
from cosched.scheduling.kernels.decoding.decode_kernel import population_spans, spans_within
from cosched.scheduling.kernels.decoding.licence_kernel import tabulate_licences
from cosched.scheduling.kernels.decoding.problem_tables import ProblemTables
from cosched.scheduling.kernels.jit import compiled
from cosched.scheduling.kernels.objective.objective_terms import counted_slowdowns, mean_slowdown, term_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.problem import Problem

__all__ = ["compare_children", "evaluate_population", "plan_figures", "repair_orders", "tabulate", "take_turns"]


def tabulate(problem: Problem, weights: Weights, bound: float) -> ProblemTables:
    """Lay a problem out for the compiled code; `bound` as in `objective.objective`."""
    only = single_class(problem)
    ascending = np.lexsort((np.arange(len(problem.hosts)), problem.free))
    before = problem.depends_on or ((),) * len(problem.tasks)
    with_deadline = int(np.isfinite(problem.deadline).sum())
    slowdowns = counted_slowdowns(problem, weights)
    seconds = narrowed(problem).seconds  # the less memory, the quicker
    return ProblemTables(
        seconds=_plain(seconds if only is None else seconds[only : only + 1]),
        host_class=problem.host_class[ascending] if only is None else np.zeros(len(ascending), dtype=np.int64),
        host_index=ascending.astype(np.int64),
        free=_plain(problem.free[ascending]),
        release=_plain(problem.release),
        deadline=_plain(problem.deadline),
        before=np.array([other for others in before for other in others], dtype=np.int64),
        first=np.cumsum([0, *[len(others) for others in before]], dtype=np.int64),
        base=class_base(problem),
        unavailability=_plain(np.array(problem.unavailability, dtype=np.float64).reshape(-1, 3)),
        windows=tabulate_windows(problem),
        weight=_plain(np.ones(len(problem.tasks)) if problem.weight is None else problem.weight),
        waits=any(problem.depends_on) or bool(problem.release.any()),
        due=with_deadline > 0,
        weights=term_weights(problem, weights, bound, len(problem.hosts), slowdowns.least),
        waited=_plain(slowdowns.waited),
        rate=_plain(slowdowns.rate),
        licences=tabulate_licences(problem),
        within=np.inf,
    )


def _plain(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the one memory layout and type that the code below is compiled for."""
    return np.ascontiguousarray(values, dtype=np.float64)


def evaluate_population(
    problem: ProblemTables, orders: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the objective of each plan of a population.

    Args:
        problem: see `tabulate`.
        orders: (P, m) permutations in which every task is behind its predecessors.
        counts: (P, m) choices by task, each usable.
    """
    return compare_children(problem, orders, counts, np.full(orders.shape[0], np.inf))


_TRACE = 1e-9  # of the makespan's weight: it decides between equals alone
_SEEING = 2  # of so many plans one sees it
_ROUNDED = 1 + 1e-9  # what rounding could make of a limit


@compiled
def compare_children(
    problem: ProblemTables, orders: NDArray[np.int64], counts: NDArray[np.int64], limits: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the objective of each plan, or infinity where the makespan alone makes it worse than its limit.

    Of every second plan a trace of the host-time beyond `within` comes to it, where that is finite. Most makespans are
    those of many plans: the one with less to do beyond the bound is nearer to a shorter one. But where all follow that,
    they go astray together: the others drift among equals.

    Args:
        problem: see `tabulate`; `within` is finite only of identical hosts where the makespan alone has a weight.
        orders: see `evaluate_population`.
        counts: see `evaluate_population`.
        limits: (P,) objectives.
    """
    starts, ends = np.empty(orders.shape), np.empty(orders.shape)
    latest, a_second, within = np.full(orders.shape[0], np.inf), problem.weights[0], problem.within
    if a_second > 0.0:
        for plan in range(orders.shape[0]):
            latest[plan] = limits[plan] / a_second * _ROUNDED
    spans_within(problem, orders, counts, latest, starts, ends)
    costs = _objectives(problem, counts, starts, ends)
    if within == np.inf:
        return costs
    trace = _TRACE * a_second / problem.free.shape[0]
    for plan in range(_SEEING - 1, orders.shape[0], _SEEING):
        excess = 0.0
        for task in range(orders.shape[1] if costs[plan] < np.inf else 0):
            excess += counts[plan, task] * (max(ends[plan, task], within) - max(starts[plan, task], within))
        costs[plan] += trace * excess
    return costs


def plan_figures(
    problem: ProblemTables, order: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[float, float, float, float, float]:
    """Return makespan, missed deadlines, lateness, front-weighted idle share and mean slowdown of one plan."""
    starts, ends = np.empty((1, order.shape[0])), np.empty((1, order.shape[0]))
    population_spans(problem, order.reshape(1, -1), counts.reshape(1, -1), starts, ends)
    makespan, over = float(ends.max()), ends[0] - problem.deadline
    idle = _front_idle(problem, counts, starts[0], ends[0], makespan) / problem.free.shape[0]
    slowdown = mean_slowdown(problem.waited, problem.rate, ends[0])
    return makespan, float((over > 0).sum()), float(np.maximum(over, 0.0).sum()), idle, slowdown


@compiled
def repair_orders(before: NDArray[np.int64], first: NDArray[np.int64], orders: NDArray[np.int64]) -> None:
    """Draw every task's predecessors ahead of it in each order, as `decoder.dependency_order` does.

    Predecessors are given as in `ProblemTables`.
    """
    if before.shape[0] == 0:
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
                for index in range(first[top], first[top + 1]):
                    if not seen[before[index]]:
                        missing = before[index]
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
def take_turns(user: NDArray[np.int64], sequence: NDArray[np.int64], orders: NDArray[np.int64]) -> None:
    """Have users take turns in each order, see `problem.Turns`; each user's tasks keep their order."""
    first = np.zeros(sequence.max() + 2, dtype=np.int64)
    for place in range(sequence.shape[0]):
        first[sequence[place] + 1] += 1
    for index in range(1, first.shape[0]):
        first[index] += first[index - 1]
    own = np.empty(sequence.shape[0], dtype=np.int64)
    for plan in range(orders.shape[0]):
        following = first.copy()
        for position in range(orders.shape[1]):
            task = orders[plan, position]
            if user[task] >= 0:
                own[following[user[task]]] = task
                following[user[task]] += 1
        following[:] = first
        place = 0
        for position in range(orders.shape[1]):
            if user[orders[plan, position]] >= 0:
                whose = sequence[place]
                orders[plan, position] = own[following[whose]]
                following[whose] += 1
                place += 1


@compiled
def _objectives(
    problem: ProblemTables, choices: NDArray[np.int64], starts: NDArray[np.float64], ends: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the objective of each plan; `objective.objective` has the formulas and explains the idle one."""
    weights, weight, deadline, due = problem.weights, problem.weight, problem.deadline, problem.due
    plans, tasks = ends.shape
    costs = np.empty(plans)
    for plan in range(plans):
        makespan, late, idle, missed = 0.0, 0.0, 0.0, 0.0
        if ends[plan, 0] == np.inf:  # not read to its end, see `spans_within`
            costs[plan] = np.inf
            continue
        for task in range(tasks):
            makespan = max(makespan, ends[plan, task])
        for task in range(tasks if due else 0):
            if ends[plan, task] > deadline[task]:
                missed += weight[task]
                late += weight[task] * (ends[plan, task] - deadline[task])
        if weights[1] > 0.0:
            idle = _front_idle(problem, choices[plan], starts[plan], ends[plan], makespan)
        costs[plan] = weights[3] * missed + (weights[0] * makespan + weights[1] * idle + weights[2] * late)
        if weights[4] > 0.0:
            costs[plan] += weights[4] * mean_slowdown(problem.waited, problem.rate, ends[plan])
    return costs


@compiled
def _front_idle(
    problem: ProblemTables,
    choices: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    makespan: float,
) -> float:
    """Return Titan's φ; `objective.objective` explains it."""
    used, available = 0.0, 0.0
    counts = choices if problem.seconds.shape[0] == 1 else choices % problem.base
    for task in range(choices.shape[0]):
        used += counts[task] * ((makespan - starts[task]) ** 2 - (makespan - ends[task]) ** 2)
    for host in range(problem.free.shape[0]):
        available += (makespan - min(float(problem.free[host]), makespan)) ** 2
    for index in range(problem.unavailability.shape[0]):
        available -= (makespan - min(float(problem.unavailability[index, 1]), makespan)) ** 2
        available += (makespan - min(float(problem.unavailability[index, 2]), makespan)) ** 2
    return max(0.0, available - used) / (makespan * makespan)
