"""The peer on hosts of several classes: OR-Tools' CP-SAT, a cumulative constraint for each class.

A task's interval is as long as the slowest class says that it takes hosts of; how many of its hosts are of which class
is chosen, too. Told beside: the energy, our bound, the horizon and a hint from the best heuristic, and the symmetry of
tasks with equal profiles. Loading this module loads OR-Tools.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from benchmarks.scheduling.peers.cp_sat import solved
from cosched.scheduling.bounds import tight_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.heuristics.moldable_tasks import best_heuristic
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.time_grid import units_a_second

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment

__all__ = ["cp_sat_classes"]


class _Task(NamedTuple):
    """Variables of one task.

    Attributes:
        start: when it starts.
        interval: when it runs.
        ways: a literal for each slowest class and host count; one of them holds.
        hosts: how many it takes of each class.
    """

    start: cp_model.IntVar
    interval: cp_model.IntervalVar
    ways: dict[tuple[int, int], cp_model.IntVar]
    hosts: list[cp_model.IntVar]


def cp_sat_classes(problem: Problem, seconds: float) -> tuple[float, float]:
    """Return the makespan of the best plan and the bound after so many seconds of two cores.

    Args:
        problem: run times on a grid; hosts of several classes, the first the quickest for all tasks; all there at the
            origin; no releases, no dependencies.
        seconds: budget.

    Raises:
        ValueError: run times are on no grid.
    """
    sizes = np.bincount(problem.host_class)
    units = units_a_second(problem.seconds[np.isfinite(problem.seconds)])
    if units is None:
        raise ValueError("the peer takes run times on a grid")
    lengths = np.rint(np.where(np.isfinite(problem.seconds), problem.seconds, 0.0) * units).astype(np.int64)
    plan, _ = best_heuristic(problem, ObjectiveName.MAKESPAN.weights, lambda: True)
    schedule = decode(problem, plan)
    horizon = round(schedule.makespan * units)
    model = cp_model.CpModel()
    makespan = model.new_int_var(math.ceil(tight_bound(problem) * units - 1e-6), horizon, "makespan")
    tasks = [_task(model, lengths[:, task], sizes, horizon) for task in range(len(problem.tasks))]
    for task in tasks:
        model.add(task.interval.end_expr() <= makespan)
    intervals = [task.interval for task in tasks]
    for each, size in enumerate(sizes.tolist()):
        model.add_cumulative(intervals, [task.hosts[each] for task in tasks], size)
    energy = [
        int(lengths[slowest, number, count - 1]) * count * way
        for number, task in enumerate(tasks)
        for (slowest, count), way in task.ways.items()
    ]
    model.add(sum(energy) <= int(sizes.sum()) * makespan)
    places = {problem.tasks.index(each.task): each for each in schedule.assignments}
    alike: defaultdict[bytes, list[int]] = defaultdict(list)
    for number in range(len(tasks)):
        alike[lengths[:, number].tobytes()].append(number)
    for group in alike.values():
        for earlier, later in pairwise(group):
            model.add(tasks[earlier].start <= tasks[later].start)
        for number, place in zip(group, sorted((places[each] for each in group), key=lambda it: it.start), strict=True):
            _hint(model, problem, tasks[number], place, units)
    model.minimize(makespan)
    solver, status, _ = solved(model, seconds)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return schedule.makespan, tight_bound(problem)
    return solver.objective_value / units, solver.best_objective_bound / units


def _task(model: cp_model.CpModel, lengths: NDArray[np.int64], sizes: NDArray[np.int64], horizon: int) -> _Task:
    """Return the variables of a task.

    Args:
        model: what to add to.
        lengths: (K, N) units on so many hosts by the slowest class; 0 where that is impossible.
        sizes: (K,) how many hosts there are of each class.
        horizon: by when it ends.
    """
    start, length, end = (model.new_int_var(0, horizon, name) for name in ("start", "length", "end"))
    hosts = [model.new_int_var(0, size, f"hosts of class {each}") for each, size in enumerate(sizes.tolist())]
    ways: dict[tuple[int, int], cp_model.IntVar] = {}
    for slowest in range(len(sizes)):
        shortest = horizon + 1
        for count in range(1, int(sizes[: slowest + 1].sum()) + 1):
            took = int(lengths[slowest, count - 1]) if count <= lengths.shape[1] else 0
            if 0 < took < shortest:  # more hosts that are no quicker are never needed
                shortest = took
                ways[slowest, count] = model.new_bool_var(f"on {count}, slowest {slowest}")
    model.add_exactly_one(ways.values())
    model.add(length == sum(int(lengths[slowest, count - 1]) * way for (slowest, count), way in ways.items()))
    model.add(sum(hosts) == sum(count * way for (_, count), way in ways.items()))
    for each, size in enumerate(sizes.tolist()):
        allowed = [way for (slowest, _), way in ways.items() if slowest >= each]
        model.add(hosts[each] <= size * sum(allowed))
    return _Task(start, model.new_interval_var(start, length, end, "run"), ways, hosts)


def _hint(model: cp_model.CpModel, problem: Problem, task: _Task, place: Assignment, units: float) -> None:
    """Propose the place that a task has in a schedule."""
    classes = [int(problem.host_class[problem.hosts.index(host)]) for host in place.hosts]
    model.add_hint(task.start, round(place.start * units))
    for each, hosts in enumerate(task.hosts):
        model.add_hint(hosts, classes.count(each))
    for way, taken in task.ways.items():
        model.add_hint(taken, way == (max(classes), len(classes)))
