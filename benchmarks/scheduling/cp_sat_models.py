"""The peer's models: all that a user of OR-Tools' CP-SAT who knows the problem would tell it.

An optional interval for each useful host count of each task and one cumulative constraint: hosts are alike, and
intervals that overlap on no more than N hosts can always be given hosts. Beside it

- the energy: no more host-seconds are used than hosts offer, which bounds the choice of the counts;
- a lower bound of the makespan, or of the deadlines missed, and the horizon and a hint from the best heuristic;
- the symmetry of tasks with equal profiles: exchanging two of them changes nothing, so their order is prescribed.

Its times are whole numbers, and so are the kernels' run times. Loading this module loads OR-Tools.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from cosched.scheduling.bounds import fewest_missed, lower_bound
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.heuristics.moldable_tasks import best_heuristic
from cosched.scheduling.host_counts import useful_counts
from cosched.scheduling.objective.weights import ObjectiveName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.scheduling.problem import Problem

__all__ = ["Model", "makespan_model", "on_time_model"]


class _Slot(NamedTuple):
    """A task's place in a plan."""

    start: int
    end: int
    hosts: int


class _Variables(NamedTuple):
    """Of one task."""

    start: cp_model.IntVar
    end: cp_model.LinearExpr
    counts: dict[int, cp_model.IntVar]


class Model(NamedTuple):
    """A model and what a plan is read from.

    Attributes:
        model: the model itself.
        starts: each task's start; None where a task is left out.
        counts: for each task the literal of each host count; at most one holds, none for a task that is left out.
    """

    model: cp_model.CpModel
    starts: list[cp_model.IntVar | None]
    counts: list[dict[int, cp_model.IntVar]]


def makespan_model(problem: Problem) -> Model:
    """Return the model with the shortest makespan.

    Args:
        problem: whole run times on identical hosts, all there at the origin; no releases, no dependencies.
    """
    model = cp_model.CpModel()
    slots = _heuristic_slots(problem, ObjectiveName.MAKESPAN)
    horizon = max(slot.end for slot in slots)
    makespan = model.new_int_var(math.ceil(lower_bound(problem) - 1e-9), horizon, "makespan")
    model.add_hint(makespan, horizon)
    tasks = [_variables(model, problem, task, horizon) for task in range(len(problem.tasks))]
    for task in tasks:
        model.add_exactly_one(task.counts.values())
        model.add(task.end <= makespan)
    _share_hosts(model, problem, tasks)
    model.add(sum(_energy(problem, enumerate(tasks))) <= len(problem.hosts) * makespan)
    for group in _alike(problem):
        for earlier, later in pairwise(group):
            model.add(tasks[earlier].start <= tasks[later].start)
        for each, place in zip(group, sorted(slots[each] for each in group), strict=True):
            _hint(model, tasks[each], place)
    model.minimize(makespan)
    return Model(model, [task.start for task in tasks], [task.counts for task in tasks])


def on_time_model(problem: Problem) -> Model:
    """Return the model with the most deadlines met; tasks that miss theirs are left out, and can follow all others.

    Of tasks with equal profiles that are not all in time those due last are: what is in time for one of them is in
    time for any that is due later. And of two in time the one due first ends first.

    Args:
        problem: see `makespan_model`; every task has a deadline.
    """
    model = cp_model.CpModel()
    due = [math.floor(deadline) for deadline in problem.deadline.tolist()]
    tasks = [_variables(model, problem, task, due[task]) for task in range(len(problem.tasks))]
    met = [model.new_bool_var(f"{task} in time") for task in range(len(tasks))]
    for task, in_time, deadline in zip(tasks, met, due, strict=True):
        model.add(sum(task.counts.values()) == in_time)
        model.add(task.end <= deadline)
    _share_hosts(model, problem, tasks)
    for deadline in sorted(set(due)):
        early = [(task, tasks[task]) for task in range(len(tasks)) if due[task] <= deadline]
        model.add(sum(_energy(problem, early)) <= len(problem.hosts) * deadline)
    model.add(sum(met) <= len(tasks) - fewest_missed(problem))
    slots = _heuristic_slots(problem, ObjectiveName.DEADLINES_FIRST)
    for group in _alike(problem):
        by_deadline = sorted(group, key=lambda task: due[task])
        for earlier, later in pairwise(by_deadline):
            model.add_implication(met[earlier], met[later])
            model.add(tasks[earlier].end <= tasks[later].end).only_enforce_if(met[earlier])
        kept = sorted((slots[each] for each in group if slots[each].end <= due[each]), key=lambda slot: slot.end)
        places = [*[None] * (len(group) - len(kept)), *kept]
        for each, place in zip(by_deadline, places, strict=True):
            _hint(model, tasks[each], place)
            model.add_hint(met[each], place is not None)
    model.maximize(sum(met))
    starts = [task.start if task.counts else None for task in tasks]
    return Model(model, starts, [task.counts for task in tasks])


def _variables(model: cp_model.CpModel, problem: Problem, task: int, limit: int) -> _Variables:
    """Return the variables of a task that shall end by `limit`, with the counts on which it can."""
    seconds = problem.seconds[problem.host_class[0], task]
    columns = [column for column in np.flatnonzero(useful_counts(problem)[task]).tolist() if seconds[column] <= limit]
    start = model.new_int_var(0, max(limit - int(min(seconds[columns], default=0)), 0), f"start {task}")
    counts = {column + 1: model.new_bool_var(f"{task} on {column + 1}") for column in columns}
    return _Variables(start, start + sum(int(seconds[count - 1]) * taken for count, taken in counts.items()), counts)


def _share_hosts(model: cp_model.CpModel, problem: Problem, tasks: list[_Variables]) -> None:
    intervals, demands = [], []
    for task, variables in enumerate(tasks):
        for count, taken in variables.counts.items():
            size = int(problem.seconds[problem.host_class[0], task, count - 1])
            name = f"{task} runs on {count}"
            intervals.append(model.new_optional_fixed_size_interval_var(variables.start, size, taken, name))
            demands.append(count)
    model.add_cumulative(intervals, demands, len(problem.hosts))


def _energy(problem: Problem, tasks: Iterable[tuple[int, _Variables]]) -> list[cp_model.LinearExpr]:
    """Return the host-seconds that tasks use, in terms."""
    seconds = problem.seconds[problem.host_class[0]]
    return [
        count * int(seconds[task, count - 1]) * taken
        for task, variables in tasks
        for count, taken in variables.counts.items()
    ]


def _alike(problem: Problem) -> list[list[int]]:
    """Return the tasks with equal profiles, group by group."""
    groups: defaultdict[bytes, list[int]] = defaultdict(list)
    for task, row in enumerate(problem.seconds[problem.host_class[0]]):
        groups[row.tobytes()].append(task)
    return list(groups.values())


def _heuristic_slots(problem: Problem, objective: ObjectiveName) -> list[_Slot]:
    """Return where the best heuristic's plan has each task."""
    plan, _ = best_heuristic(problem, objective.weights, lambda: True)
    starts, ends = spans(problem, plan)
    return [
        _Slot(int(start), int(end), int(count)) for start, end, count in zip(starts, ends, plan.counts, strict=True)
    ]


def _hint(model: cp_model.CpModel, task: _Variables, slot: _Slot | None) -> None:
    if slot is not None:
        model.add_hint(task.start, slot.start)
    for count, taken in task.counts.items():
        model.add_hint(taken, slot is not None and count == slot.hosts)
