"""Split a queue over the hosts' classes and plan each class alone.

The result is a first plan for a search.

A list schedule over all classes lets long tasks end late on slow hosts. Here it is first decided which class runs what,
as if a class were one machine that is as quick as all its hosts together (see `dual_price`); then each class is a
problem of identical hosts, for which good plans are known. Loading this module loads numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.host_counts import single_class
from cosched.scheduling.kernels.decoding.decode_kernel import population_spans
from cosched.scheduling.kernels.objective import objective_kernel
from cosched.scheduling.mapping.dual_price import DualPriceSearch
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.plan import Plan
from cosched.scheduling.problem import Problem
from cosched.scheduling.search.initial_population import initial_plans

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["assign_classes"]

_MOST_CLASSES = 8  # more of them cost more time than they are worth
_ROUNDS = 2  # of the search for who runs where
_MAKESPAN = Weights(1.0, 0.0, 0.0)


def assign_classes(problem: Problem, thresholds: int) -> Plan | None:
    """Return a plan in which every task runs on hosts of one class.

    Args:
        problem: the problem to schedule.
        thresholds: see `initial_population.initial_plans`.

    Returns:
        The plan; None where hosts are alike or come and go, tasks wait for something or hold licences, some task needs
        hosts of more than one class, or every task can use but one host: then `dual_price` itself does better.
    """
    constrained = bool(problem.unavailability) or any(problem.depends_on) or bool(problem.release.any())
    constrained |= problem.licences is not None or not np.isfinite(problem.free).all()
    if constrained or single_class(problem) is not None or not np.isfinite(problem.seconds[:, :, 1:]).any():
        return None
    present, host_class = np.unique(problem.host_class, return_inverse=True)
    areas = _areas(problem, present, host_class)
    if len(present) > _MOST_CLASSES or not np.isfinite(areas).any(axis=1).all():
        return None
    kind = _kinds(problem, host_class, areas)
    starts, counts = np.empty(len(kind)), np.ones(len(kind), dtype=np.int64)
    for each in range(len(present)):
        tasks = np.flatnonzero(kind == each)
        if len(tasks):
            alone = _alone(problem, tasks, np.flatnonzero(host_class == each), int(present[each]))
            starts[tasks], counts[tasks] = _planned(alone, thresholds)
    return Plan(np.argsort(starts, kind="stable").astype(np.int64), counts, present[kind].astype(np.int64))


def _areas(problem: Problem, present: NDArray[np.int64], host_class: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (m, K) fewest host-seconds of each task on each class, infinite where impossible.

    It is the area on hosts of that class alone.
    """
    counts = np.arange(1, len(problem.hosts) + 1)
    areas = problem.seconds[present] * counts
    fewest: NDArray[np.float64] = (
        np.where(counts <= np.bincount(host_class)[:, None, None], areas, np.inf).min(axis=2).T
    )
    return fewest


def _kinds(problem: Problem, host_class: NDArray[np.int64], areas: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the class for each task so that the last class ends soonest."""
    sizes = np.bincount(host_class)
    at_work = np.where(np.eye(len(sizes), dtype=np.bool_), np.bincount(host_class, problem.free), np.inf)
    search = DualPriceSearch(np.concatenate((areas, at_work)) / sizes)
    for _ in range(_ROUNDS):
        search.step()
    kinds: NDArray[np.int64] = search.machine[: len(areas)]
    return kinds


def _alone(problem: Problem, tasks: NDArray[np.int64], hosts: NDArray[np.int64], each: int) -> Problem:
    """Return the problem of some tasks on the hosts of one class."""
    return Problem(
        tasks=tuple(problem.tasks[task] for task in tasks.tolist()),
        hosts=tuple(problem.hosts[host] for host in hosts.tolist()),
        classes=(problem.classes[each],),
        host_class=np.zeros(len(hosts), dtype=np.int64),
        free=problem.free[hosts],
        seconds=problem.seconds[each : each + 1, tasks, : len(hosts)],
        release=np.zeros(len(tasks)),
        deadline=problem.deadline[tasks],
    )


def _planned(problem: Problem, thresholds: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return starts and host counts of the shortest of the heuristics' plans."""
    plans = initial_plans(problem, thresholds)
    orders, counts = np.array([plan.order for plan in plans]), np.array([plan.counts for plan in plans])
    tables = objective_kernel.tabulate(problem, _MAKESPAN, 1.0)
    best = int(objective_kernel.evaluate_population(tables, orders, counts).argmin())
    starts, ends = np.empty((1, len(problem.tasks))), np.empty((1, len(problem.tasks)))
    population_spans(tables, orders[best : best + 1], counts[best : best + 1], starts, ends)
    return starts[0], counts[best]
