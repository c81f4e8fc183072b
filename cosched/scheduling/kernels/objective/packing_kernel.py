"""Objectives of whole populations of plans on shared hosts: the same values as `objective.objective`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.rooms import rooms_of
from cosched.scheduling.kernels.decoding.licence_kernel import tabulate_licences
from cosched.scheduling.kernels.decoding.packed_decode_kernel import population_spans
from cosched.scheduling.kernels.decoding.packing_tables import PackingTables
from cosched.scheduling.kernels.jit import compiled
from cosched.scheduling.kernels.objective.objective_terms import counted_slowdowns, mean_slowdown, term_weights
from cosched.scheduling.objective.objective import packed_offer
from cosched.scheduling.packing import scaled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.decoding.rooms import Room
    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.problem import Problem

__all__ = ["compare_children", "evaluate_population", "plan_figures", "tabulate"]

_LANES = 8  # numbers in a vector of the largest processors
_MOST_UNITS = 256  # of a resource on a host, up to which a row is quicker than a stair


def tabulate(problem: Problem, weights: Weights, bound: float) -> PackingTables:
    """Lay a problem with `packing` out for the compiled code; `bound` as in `objective.objective`."""
    assert problem.packing is not None, "hosts are shared"
    packing = scaled(problem.packing)
    rooms = rooms_of(problem, packing).all
    most = packing.capacity.max(axis=0)
    rows, stairs = np.flatnonzero(most <= _MOST_UNITS), np.flatnonzero(most > _MOST_UNITS)
    rank = np.concatenate((rows, stairs))
    begin = np.cumsum([0, *most[rows].tolist()], dtype=np.int64)
    steps, step_count = _stairs(rooms, stairs.tolist(), 2 * len(problem.tasks) + len(packing.held) + 2)
    units = _rows(rooms, rows.tolist(), begin)
    column, first_level, levels = _levels(packing.demand[:, rows], begin)
    times = units[:, column].T
    times[0] = 0.0
    padding = -len(rooms) % _LANES
    capacity = packing.capacity[[room.host for room in rooms]][:, rank].T.astype(np.float64)
    share = np.divide(1.0, capacity, out=np.zeros(capacity.shape), where=capacity > 0)
    idle = np.array([room.at(0.0) for room in rooms], dtype=np.float64)[:, rank].T
    before = problem.depends_on or ((),) * len(problem.tasks)
    area, offered = packed_offer(problem, problem.packing)
    slowdowns = counted_slowdowns(problem, weights)
    return PackingTables(
        units=units,
        begin=begin,
        column=column,
        first_level=first_level,
        levels=levels,
        times=_padded(times, padding, np.inf),
        idle=_padded(idle, padding, -1.0),
        steps=steps,
        step_count=step_count,
        share=_padded(share, padding, 0.0),
        rank=np.argsort(rank),
        until=np.array([room.until for room in rooms]),
        room_class=problem.host_class[[room.host for room in rooms]],
        demand=np.ascontiguousarray(packing.demand[:, rank]),
        hosts=packing.hosts,
        seconds=np.ascontiguousarray(packing.seconds),
        area=area,
        offered=offered,
        release=np.ascontiguousarray(problem.release, dtype=np.float64),
        deadline=np.ascontiguousarray(problem.deadline, dtype=np.float64),
        before=np.array([other for others in before for other in others], dtype=np.int64),
        first=np.cumsum([0, *[len(others) for others in before]], dtype=np.int64),
        weight=np.ones(len(problem.tasks)) if problem.weight is None else np.ascontiguousarray(problem.weight),
        waits=any(problem.depends_on) or bool(problem.release.any()),
        weights=term_weights(problem, weights, bound, 1.0, slowdowns.least),
        waited=np.ascontiguousarray(slowdowns.waited),
        rate=slowdowns.rate,
        licences=tabulate_licences(problem),
    )


def _rows(rooms: list[Room], resources: list[int], begin: NDArray[np.int64]) -> NDArray[np.float64]:
    units = np.full((len(rooms), int(begin[-1]) + 1), np.inf)
    for number, room in enumerate(rooms):
        for place, resource in enumerate(resources):
            had = 0
            for time, amount in zip(*room.steps(resource), strict=True):
                units[number, begin[place] + had : begin[place] + amount] = time
                had = amount
    return units


def _levels(
    demand: NDArray[np.int64], begin: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return columns and first levels of rows, and the level of each demand; see `PackingTables`."""
    column, first, levels = [0], [1], np.zeros((len(demand), max(len(begin) - 1, 1)), dtype=np.int64)
    for row, amounts in enumerate(demand.T):
        found = np.unique(amounts[amounts > 0])
        last = begin[row] + found - 1
        column += np.where(last < begin[row + 1], last, begin[-1]).tolist()
        levels[amounts > 0, row] = first[-1] + np.searchsorted(found, amounts[amounts > 0])
        first.append(first[-1] + len(found))
    return np.array(column, dtype=np.int64), np.array(first, dtype=np.int64), levels


def _padded(table: NDArray[np.float64], padding: int, value: float) -> NDArray[np.float64]:
    return np.ascontiguousarray(np.pad(table, ((0, 0), (0, padding)), constant_values=value))


def _stairs(rooms: list[Room], resources: list[int], room_for: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    steps = np.zeros((len(rooms), len(resources), 2, room_for if resources else 0))
    step_count = np.zeros((len(rooms), len(resources)), dtype=np.int64)
    for number, room in enumerate(rooms):
        for place, resource in enumerate(resources):
            times, amounts = room.steps(resource)
            step_count[number, place] = len(times)
            steps[number, place, 0, : len(times)] = times
            steps[number, place, 1, : len(times)] = amounts
    return steps, step_count


def evaluate_population(
    problem: PackingTables, orders: NDArray[np.int64], shapes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the objective of each plan of a population; parameters as of `population_spans`."""
    return compare_children(problem, orders, shapes, np.empty(0))


@compiled
def compare_children(
    problem: PackingTables,
    orders: NDArray[np.int64],
    shapes: NDArray[np.int64],
    limits: NDArray[np.float64],  # noqa: ARG001  # as of other hosts
) -> NDArray[np.float64]:
    """Return the objective of each plan, however much it may cost; parameters as of `population_spans`."""
    starts, ends = np.empty(orders.shape), np.empty(orders.shape)
    population_spans(problem, orders, shapes, starts, ends)
    weights, costs = problem.weights, np.empty(orders.shape[0])
    for plan in range(orders.shape[0]):
        makespan, missed, late = _makespan_and_delay(problem, ends[plan])
        idle = _front_idle(problem, shapes[plan], starts[plan], ends[plan], makespan) if weights[1] > 0.0 else 0.0
        costs[plan] = weights[3] * missed + (weights[0] * makespan + weights[1] * idle + weights[2] * late)
        if weights[4] > 0.0:
            costs[plan] += weights[4] * mean_slowdown(problem.waited, problem.rate, ends[plan])
    return costs


def plan_figures(
    problem: PackingTables, order: NDArray[np.int64], shapes: NDArray[np.int64]
) -> tuple[float, float, float, float, float]:
    """Return makespan, missed deadlines, lateness, front-weighted idle share and mean slowdown of one plan."""
    starts, ends = np.empty((1, order.shape[0])), np.empty((1, order.shape[0]))
    population_spans(problem, order.reshape(1, -1), shapes.reshape(1, -1), starts, ends)
    makespan, over = float(ends.max()), ends[0] - problem.deadline
    idle = _front_idle(problem, shapes, starts[0], ends[0], makespan)
    slowdown = mean_slowdown(problem.waited, problem.rate, ends[0])
    return makespan, float((over > 0).sum()), float(np.maximum(over, 0.0).sum()), idle, slowdown


@compiled
def _makespan_and_delay(problem: PackingTables, ends: NDArray[np.float64]) -> tuple[float, float, float]:
    makespan, missed, late = 0.0, 0.0, 0.0
    for task in range(ends.shape[0]):
        makespan = max(makespan, ends[task])
        if ends[task] > problem.deadline[task]:
            missed += problem.weight[task]
            late += problem.weight[task] * (ends[task] - problem.deadline[task])
    return makespan, missed, late


@compiled
def _front_idle(
    problem: PackingTables,
    shapes: NDArray[np.int64],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    makespan: float,
) -> float:
    """Return Titan's φ of cores; `objective.objective` explains it."""
    used, available = 0.0, 0.0
    for task in range(shapes.shape[0]):
        used += problem.area[shapes[task]] * ((makespan - starts[task]) ** 2 - (makespan - ends[task]) ** 2)
    for change in range(problem.offered.shape[0]):
        left = makespan - min(float(problem.offered[change, 0]), makespan)
        available += problem.offered[change, 1] * (left * left)
    return max(0.0, available - used) / (makespan * makespan)
