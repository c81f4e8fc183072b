"""Objectives of whole populations of plans with elastic tasks: the same values as `objective.measure_pieces` leads to.

Deadlines are judged by the promised ends; makespan, idle time and slowdown by the expected ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.elastic.tasks import ElasticParameters
from cosched.scheduling.kernels.decoding.decode_kernel import population_spans, spans_within
from cosched.scheduling.kernels.elastic.lending_kernel import STEP, ElasticTables
from cosched.scheduling.kernels.elastic.loan_kernel import expected_spans
from cosched.scheduling.kernels.jit import compiled
from cosched.scheduling.kernels.objective import objective_kernel
from cosched.scheduling.kernels.objective.objective_terms import counted_slowdowns, mean_slowdown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.elastic.tasks import ElasticTask
    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.problem import Problem

__all__ = ["compare_children", "evaluate_population", "plan_figures", "tabulate"]

_ROUNDED = 1 + 1e-12  # what rounding could make of a limit


def tabulate(problem: Problem, weights: Weights, bound: float) -> ElasticTables:
    """Lay a problem with `elastic` tasks out for the compiled code; `bound` as in `objective.objective`."""
    assert problem.elastic, "some task is elastic"
    plain = objective_kernel.tabulate(problem, weights, bound)
    least = counted_slowdowns(problem, weights).least
    hosts, tasks = len(problem.hosts), list(problem.elastic.values())
    elastic = np.full(len(problem.tasks), -1, dtype=np.int64)
    elastic[list(problem.elastic)] = np.arange(len(tasks))
    return ElasticTables(
        plain,
        plain.before,
        plain.first,
        floor=float(plain.weights[0] * lower_bound(problem) + plain.weights[4] * least),
        elastic=elastic,
        steps=np.array([_step(task, count) for task in tasks for count in range(hosts + 1)], dtype=STEP),
        costs=np.array([(task.grow_cost, task.shrink_cost, task.drain) for task in tasks], dtype=np.float64),
        drain=max(float(task.drain) for task in tasks),
        ahead=any(task.grow_cost + task.shrink_cost + task.drain > 0 for task in tasks),
        moments=np.unique(plain.release),
        payback=float(ElasticParameters().payback),
    )


def _step(task: ElasticTask, hosts: int) -> tuple[float, ...]:
    """Return a record of `ElasticTables.steps`."""
    seconds, wider = task.on(hosts), task.wider(hosts)
    gain = delay = 0.0
    if wider is not None:
        gain = (1 / task.on(wider) - 1 / seconds) / (wider - hosts)
        delay = (seconds - task.on(wider)) / (wider - hosts)
    return seconds, 1 / seconds, gain, delay, wider or 0, task.narrower(hosts) or 0


def evaluate_population(
    problem: ElasticTables, orders: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the objective of each plan of a population.

    Args:
        problem: see `tabulate`.
        orders: (P, m) permutations in which every task is behind its predecessors.
        counts: (P, m) promised hosts by task, each usable.
    """
    return compare_children(problem, orders, counts, np.full(orders.shape[0], np.inf))


@compiled
def compare_children(
    problem: ElasticTables, orders: NDArray[np.int64], counts: NDArray[np.int64], limits: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the objective of each plan, or of one that is worse than its limit, a lower bound that is, too.

    Most plans are worse than their parents by their promised ends alone, without a look at loans.

    Args:
        problem: see `tabulate`.
        orders: (P, m) as in `evaluate_population`.
        counts: (P, m) likewise.
        limits: (P,) objectives.
    """
    plans, weights = orders.shape[0], problem.plain.weights
    starts, ends, costs = np.empty(orders.shape), np.empty(orders.shape), np.empty(plans)
    begun, ended, used = np.empty(orders.shape), np.empty(orders.shape), np.empty((plans, 3))
    spans_within(problem.plain, orders, counts, np.full(plans, np.inf), starts, ends)
    for plan in range(plans):
        missed, late = _delay(problem.plain.deadline, problem.plain.weight, ends[plan])
        costs[plan] = weights[3] * missed + weights[2] * late
    wanted = costs + problem.floor <= limits * _ROUNDED
    expected_spans(problem, orders, counts, starts, ends, wanted, begun, ended, used)
    for plan in range(plans):
        if not wanted[plan]:
            costs[plan] += problem.floor
            continue
        makespan = ended[plan].max()
        idle = _front_idle(problem.plain.free, used[plan], makespan)
        costs[plan] += weights[0] * makespan + weights[1] * idle
        if weights[4] > 0.0:
            costs[plan] += weights[4] * mean_slowdown(problem.plain.waited, problem.plain.rate, ended[plan])
    return costs


def plan_figures(
    problem: ElasticTables, order: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[float, float, float, float, float]:
    """Return makespan, missed deadlines, lateness, front-weighted idle share and mean slowdown of one plan."""
    starts, ends, used = np.empty((1, order.shape[0])), np.empty((1, order.shape[0])), np.empty((1, 3))
    begun, ended, wanted = np.empty((1, order.shape[0])), np.empty((1, order.shape[0])), np.ones(1, dtype=np.bool_)
    one, promises = order.reshape(1, -1), counts.reshape(1, -1)
    population_spans(problem.plain, one, promises, starts, ends)
    expected_spans(problem, one, promises, starts, ends, wanted, begun, ended, used)
    missed, late = _delay(problem.plain.deadline, np.ones(order.shape[0]), ends[0])
    makespan = float(ended[0].max())
    idle = _front_idle(problem.plain.free, used[0], makespan) / problem.plain.free.shape[0]
    return makespan, missed, late, idle, mean_slowdown(problem.plain.waited, problem.plain.rate, ended[0])


@compiled
def _delay(
    deadline: NDArray[np.float64], weight: NDArray[np.float64], ends: NDArray[np.float64]
) -> tuple[float, float]:
    """Return weighted missed deadlines and lateness."""
    missed, late = 0.0, 0.0
    for task in range(ends.shape[0]):
        if ends[task] > deadline[task]:
            missed += weight[task]
            late += weight[task] * (ends[task] - deadline[task])
    return missed, late


@compiled
def _front_idle(free: NDArray[np.float64], used: NDArray[np.float64], makespan: float) -> float:
    """Return Titan's φ; `objective.objective` explains it. (w − a)² − (w − b)² is 2 w (b − a) − (b² − a²)."""
    available = 0.0
    for host in range(free.shape[0]):
        left = makespan - min(float(free[host]), makespan)
        available += left * left
    busy = 2 * makespan * used[0] - used[1]
    return float(max(0.0, available - busy) / (makespan * makespan))
