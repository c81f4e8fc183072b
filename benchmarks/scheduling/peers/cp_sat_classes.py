"""The peer on hosts of several classes: OR-Tools' CP-SAT, a cumulative constraint for each class.

A task has an optional interval for each class and number of its hosts, and one that is as long as the slowest class
says where it takes hosts of several; how many are of which is chosen, too. Told beside: the time that each class has,
and the energy, by prices of the classes' time, of what ways to run take above the cheapest of their task; our bound,
the horizon and a hint from the best heuristic; the symmetry of tasks with equal profiles and of a schedule and its
mirror image in time. Loading this module loads OR-Tools.
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
        end: when it ends.
        alone: a literal for each class and number of its hosts.
        beside: a literal for each slowest class and number of hosts of several classes; one of all literals holds.
        hosts: how many it takes of each class, where it takes some of several.
    """

    start: cp_model.IntVar
    end: cp_model.LinearExpr
    alone: dict[tuple[int, int], cp_model.IntVar]
    beside: dict[tuple[int, int], cp_model.IntVar]
    hosts: list[cp_model.IntVar]


class _Known(NamedTuple):
    """A problem in whole units.

    Attributes:
        lengths: (K, m, N) units on so many hosts by the slowest class; 0 where that is impossible.
        sizes: (K,) how many hosts there are of each class.
        horizon: by when all tasks end.
    """

    lengths: NDArray[np.int64]
    sizes: NDArray[np.int64]
    horizon: int


def cp_sat_classes(problem: Problem, seconds: float) -> tuple[float, float]:
    """Return the makespan of the best plan and the bound after so many seconds of two cores.

    Args:
        problem: run times on a grid; hosts of several classes, the first the quickest for all tasks; all there at the
            origin; no releases, no dependencies.
        seconds: budget.

    Raises:
        ValueError: run times are on no grid.
    """
    units = units_a_second(problem.seconds[np.isfinite(problem.seconds)])
    if units is None:
        raise ValueError("the peer takes run times on a grid")
    plan, _ = best_heuristic(problem, ObjectiveName.MAKESPAN.weights, lambda: True)
    schedule = decode(problem, plan)
    known = _Known(
        np.rint(np.where(np.isfinite(problem.seconds), problem.seconds, 0.0) * units).astype(np.int64),
        np.bincount(problem.host_class),
        round(schedule.makespan * units),
    )
    model = cp_model.CpModel()
    bound = tight_bound(problem)
    makespan = model.new_int_var(math.ceil(bound * units - 1e-6), known.horizon, "makespan")
    prices = _prices(known)
    offered = math.ceil(_WHOLE * float(prices @ known.sizes))  # by all hosts in a unit of time
    costs = [_costs(known, prices, task) for task in range(len(problem.tasks))]
    least = [min(each.values()) for each in costs]
    spare = offered * known.horizon - sum(least)
    tasks = [
        _task(model, known, task, [way for way, cost in by_way.items() if cost <= fewest + spare])
        for task, (by_way, fewest) in enumerate(zip(costs, least, strict=True))
    ]
    for task in tasks:
        model.add(task.end <= makespan)
    _share_hosts(model, known, tasks, makespan)
    above = [
        (by_way[False, way] - fewest) * taken
        for task, by_way, fewest in zip(tasks, costs, least, strict=True)
        for way, taken in task.alone.items()
    ] + [
        (by_way[True, way] - fewest) * taken
        for task, by_way, fewest in zip(tasks, costs, least, strict=True)
        for way, taken in task.beside.items()
    ]
    model.add(sum(above) + sum(least) <= offered * makespan)
    places = [(round(each.start * units), round(each.end * units), each) for each in _in_order(problem, schedule)]
    alike: defaultdict[bytes, list[int]] = defaultdict(list)
    for number in range(len(tasks)):
        alike[known.lengths[:, number].tobytes()].append(number)
    balanced = max(alike.values(), key=lambda group: (len(group) % 2, len(group)))
    # One of a schedule and its mirror image, see `cosched.scheduling.exact.model.drop_mirror_images`.
    model.add(sum(tasks[it].start + tasks[it].end for it in balanced) <= len(balanced) * makespan)
    if sum(places[it][0] + places[it][1] for it in balanced) > len(balanced) * known.horizon:
        places = [(known.horizon - end, known.horizon - start, each) for start, end, each in places]
    for group in alike.values():
        for earlier, later in pairwise(group):
            model.add(tasks[earlier].start <= tasks[later].start)
        for number, place in zip(group, sorted((places[each] for each in group), key=itemgetter(0)), strict=True):
            _hint(model, problem, tasks[number], place[0], place[2])
    model.minimize(makespan)
    solver, status, _ = solved(model, seconds)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return schedule.makespan, bound
    return solver.objective_value / units, solver.best_objective_bound / units


def _prices(known: _Known) -> NDArray[np.float64]:
    """Return (K,) prices of a host's time of each class, by which the tasks' cheapest ways cost the most.

    See `cosched.scheduling.bounds.tight_bound`.
    """
    host_time = known.lengths * np.arange(1, known.lengths.shape[2] + 1)
    cheapest = np.where(known.lengths > 0, host_time, np.inf).min(axis=2).T
    return machine_prices(cheapest / known.sizes)[0] / known.sizes


def _costs(known: _Known, prices: NDArray[np.float64], task: int) -> dict[tuple[bool, tuple[int, int]], int]:
    """Return what each way to run costs at least, in whole parts.

    Returns:
        By whether hosts are of several classes, and slowest class and number of hosts.
    """
    costs, sizes = {}, known.sizes.tolist()
    for slowest in range(len(sizes)):
        shortest = math.inf
        for count in range(1, min(sum(sizes[: slowest + 1]), known.lengths.shape[2]) + 1):
            took = int(known.lengths[slowest, task, count - 1])
            if 0 < took < shortest:  # more hosts that are no quicker are never needed
                shortest = took
                if count <= sizes[slowest]:
                    costs[False, (slowest, count)] = math.floor(_WHOLE * count * float(prices[slowest]) * took)
                if slowest > 0 and count > 1:
                    paid, missing = float(prices[slowest]), count - 1  # one of the slowest at least
                    room = [*sizes[:slowest], sizes[slowest] - 1]
                    for each in sorted(range(slowest + 1), key=lambda it: prices[it]):
                        taken = min(missing, room[each])
                        paid, missing = paid + taken * float(prices[each]), missing - taken
                    costs[True, (slowest, count)] = math.floor(_WHOLE * paid * took)
    return costs


def _task(model: cp_model.CpModel, known: _Known, task: int, ways: Sequence[tuple[bool, tuple[int, int]]]) -> _Task:
    """Return the variables of a task that takes one of the ways."""
    start = model.new_int_var(0, known.horizon, "start")
    literals = {way: model.new_bool_var(f"on {way}") for way in ways}
    model.add_exactly_one(literals.values())
    length = sum(
        int(known.lengths[slowest, task, count - 1]) * taken for (_, (slowest, count)), taken in literals.items()
    )
    alone = {way: taken for (several, way), taken in literals.items() if not several}
    beside = {way: taken for (several, way), taken in literals.items() if several}
    hosts = [model.new_int_var(0, size, f"hosts of class {each}") for each, size in enumerate(known.sizes.tolist())]
    model.add(sum(hosts) == sum(count * taken for (_, count), taken in beside.items()))
    for each, size in enumerate(known.sizes.tolist()):
        model.add(hosts[each] <= size * sum(taken for (slowest, _), taken in beside.items() if slowest >= each))
    return _Task(start, start + length, alone, beside, hosts)


def _share_hosts(model: cp_model.CpModel, known: _Known, tasks: Sequence[_Task], makespan: cp_model.IntVar) -> None:
    """Let tasks overlap on no more hosts of each class than there are."""
    several = []
    for number, task in enumerate(tasks):
        if task.beside:
            taken = model.new_bool_var("on several classes")
            model.add(sum(task.beside.values()) == taken)
            lengths = {way: int(known.lengths[way[0], number, way[1] - 1]) for way in task.beside}
            length = model.new_int_var_from_domain(cp_model.Domain.from_values([0, *lengths.values()]), "length")
            model.add(length == sum(lengths[way] * each for way, each in task.beside.items()))
            end = model.new_int_var(0, known.horizon, "end")
            several.append((model.new_optional_interval_var(task.start, length, end, taken, "several"), task.hosts))
    for klass, size in enumerate(known.sizes.tolist()):
        intervals = [interval for interval, _ in several]
        demands: list[cp_model.IntVar | int] = [hosts[klass] for _, hosts in several]
        used = []
        for number, task in enumerate(tasks):
            for (each, count), taken in task.alone.items():
                if each == klass:
                    length = int(known.lengths[each, number, count - 1])
                    intervals.append(model.new_optional_fixed_size_interval_var(task.start, length, taken, "alone"))
                    demands.append(count)
                    used.append(count * length * taken)
        model.add_cumulative(intervals, demands, size)
        model.add(sum(used) <= size * makespan)


def _in_order(problem: Problem, schedule: Schedule) -> list[Assignment]:
    """Return the place of each task of the problem."""
    places = {each.task: each for each in schedule.assignments}
    return [places[task] for task in problem.tasks]


def _hint(model: cp_model.CpModel, problem: Problem, task: _Task, start: int, place: Assignment) -> None:
    """Propose the hosts that a task has in a schedule, from some time on."""
    classes = [int(problem.host_class[problem.hosts.index(host)]) for host in place.hosts]
    chosen, several = (max(classes), len(classes)), len(set(classes)) > 1
    model.add_hint(task.start, start)
    for each, hosts in enumerate(task.hosts):
        model.add_hint(hosts, classes.count(each) if several else 0)
    for way, taken in task.alone.items():
        model.add_hint(taken, way == chosen and not several)
    for way, taken in task.beside.items():
        model.add_hint(taken, way == chosen and several)
