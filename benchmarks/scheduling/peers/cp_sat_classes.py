"""The peer on hosts of several classes: OR-Tools' CP-SAT, a cumulative constraint for each class.

A task's interval is as long as the slowest class says that it takes hosts of; how many of its hosts are of which class
is chosen, too. Told beside: the energy, by prices of the classes' time, of what ways to run take above the cheapest of
their task; our bound, the horizon and a hint from the best heuristic; the symmetry of tasks with equal profiles and of
a schedule and its mirror image in time. Loading this module loads OR-Tools.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from benchmarks.scheduling.peers.cp_sat import solved
from cosched.scheduling.bounds import tight_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.heuristics.moldable_tasks import best_heuristic
from cosched.scheduling.kernels.mapping.machine_prices import machine_prices
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.time_grid import units_a_second

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment, Schedule

__all__ = ["cp_sat_classes"]

_WHOLE = 10**6  # parts of a price, in whole numbers


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
    prices = _prices(lengths, sizes)
    offered = math.ceil(_WHOLE * float(prices @ sizes))  # by all hosts in a unit of time
    costs = [_costs(lengths[:, task], sizes, prices) for task in range(len(problem.tasks))]
    least = [min(each.values()) for each in costs]
    spare = offered * horizon - sum(least)
    tasks = []
    for task, (by_way, fewest) in enumerate(zip(costs, least, strict=True)):
        affordable = [way for way, cost in by_way.items() if cost <= fewest + spare]
        tasks.append(_task(model, lengths[:, task], affordable, sizes, horizon))
        model.add(tasks[task].interval.end_expr() <= makespan)
    intervals = [task.interval for task in tasks]
    for each, size in enumerate(sizes.tolist()):
        model.add_cumulative(intervals, [task.hosts[each] for task in tasks], size)
    above = [
        (by_way[way] - fewest) * taken
        for task, by_way, fewest in zip(tasks, costs, least, strict=True)
        for way, taken in task.ways.items()
    ]
    model.add(sum(above) + sum(least) <= offered * makespan)
    places = [(round(each.start * units), round(each.end * units), each) for each in _in_order(problem, schedule)]
    alike: defaultdict[bytes, list[int]] = defaultdict(list)
    for number in range(len(tasks)):
        alike[lengths[:, number].tobytes()].append(number)
    balanced = max(alike.values(), key=lambda group: (len(group) % 2, len(group)))
    # One of a schedule and its mirror image, see `cosched.scheduling.exact.model.drop_mirror_images`.
    model.add(sum(tasks[it].start + tasks[it].interval.end_expr() for it in balanced) <= len(balanced) * makespan)
    if sum(places[it][0] + places[it][1] for it in balanced) > len(balanced) * horizon:
        places = [(horizon - end, horizon - start, each) for start, end, each in places]
    for group in alike.values():
        for earlier, later in pairwise(group):
            model.add(tasks[earlier].start <= tasks[later].start)
        for number, place in zip(group, sorted((places[each] for each in group), key=itemgetter(0)), strict=True):
            _hint(model, problem, tasks[number], place[0], place[2])
    model.minimize(makespan)
    solver, status, _ = solved(model, seconds)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return schedule.makespan, tight_bound(problem)
    return solver.objective_value / units, solver.best_objective_bound / units


def _prices(lengths: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (K,) prices of a host's time of each class, by which the tasks' cheapest ways cost the most.

    See `cosched.scheduling.bounds.tight_bound`; the arguments are those of `_costs`, for all tasks.
    """
    host_time = lengths * np.arange(1, lengths.shape[2] + 1)
    cheapest = np.where(lengths > 0, host_time, np.inf).min(axis=2).T
    return machine_prices(cheapest / sizes)[0] / sizes


def _costs(
    lengths: NDArray[np.int64], sizes: NDArray[np.int64], prices: NDArray[np.float64]
) -> dict[tuple[int, int], int]:
    """Return what each way to run costs at least, in whole parts, by slowest class and host count.

    Args:
        lengths: (K, N) units on so many hosts by the slowest class; 0 where that is impossible.
        sizes: (K,) how many hosts there are of each class.
        prices: (K,) of a host's time of each class.
    """
    costs = {}
    for slowest in range(len(sizes)):
        shortest = math.inf
        for count in range(1, min(int(sizes[: slowest + 1].sum()), lengths.shape[1]) + 1):
            took = int(lengths[slowest, count - 1])
            if 0 < took < shortest:  # more hosts that are no quicker are never needed
                shortest = took
                paid, missing = 0.0, count
                for each in sorted(range(slowest + 1), key=lambda it: prices[it]):
                    taken = min(missing, int(sizes[each]))
                    paid, missing = paid + taken * float(prices[each]), missing - taken
                costs[slowest, count] = math.floor(_WHOLE * paid * took)
    return costs


def _task(
    model: cp_model.CpModel,
    lengths: NDArray[np.int64],
    ways: Sequence[tuple[int, int]],
    sizes: NDArray[np.int64],
    horizon: int,
) -> _Task:
    """Return the variables of a task.

    Args:
        model: what to add to.
        lengths: see `_costs`.
        ways: slowest class and host count of each way to run.
        sizes: see `_costs`.
        horizon: by when it ends.
    """
    start, length, end = (model.new_int_var(0, horizon, name) for name in ("start", "length", "end"))
    hosts = [model.new_int_var(0, size, f"hosts of class {each}") for each, size in enumerate(sizes.tolist())]
    literals = {way: model.new_bool_var("on {1}, slowest {0}".format(*way)) for way in ways}
    model.add_exactly_one(literals.values())
    model.add(length == sum(int(lengths[slowest, count - 1]) * way for (slowest, count), way in literals.items()))
    model.add(sum(hosts) == sum(count * way for (_, count), way in literals.items()))
    for each, size in enumerate(sizes.tolist()):
        allowed = [way for (slowest, _), way in literals.items() if slowest >= each]
        model.add(hosts[each] <= size * sum(allowed))
    return _Task(start, model.new_interval_var(start, length, end, "run"), literals, hosts)


def _in_order(problem: Problem, schedule: Schedule) -> list[Assignment]:
    """Return the place of each task of the problem."""
    places = {each.task: each for each in schedule.assignments}
    return [places[task] for task in problem.tasks]


def _hint(model: cp_model.CpModel, problem: Problem, task: _Task, start: int, place: Assignment) -> None:
    """Propose the hosts that a task has in a schedule, from some time on."""
    classes = [int(problem.host_class[problem.hosts.index(host)]) for host in place.hosts]
    model.add_hint(task.start, start)
    for each, hosts in enumerate(task.hosts):
        model.add_hint(hosts, classes.count(each))
    for way, taken in task.ways.items():
        model.add_hint(taken, way == (max(classes), len(classes)))
