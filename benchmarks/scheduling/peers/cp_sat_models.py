"""The peer's models: all that a user of OR-Tools' CP-SAT who knows the problem would tell it.

What a schedule is, is said by `cosched.scheduling.exact.model`, which the search's exact partner uses, too: an optional
interval for each useful host count of each task, and one cumulative constraint. What is sought, and with what help, is
the peer's own:

- the energy: no more host-seconds are used than hosts offer, up to the makespan said of what counts take above the
  least of their task, and counts that leave too little for the others are left out (energetic reasoning over the choice
  of the counts); up to each deadline in one sum, as the other form has found no more there;
- a lower bound of the makespan, or of the deadlines missed, and the horizon and a hint from the best heuristic;
- the symmetry of tasks with equal profiles: exchanging two of them changes nothing, so their order is prescribed; and
  without deadlines one of a schedule and its mirror image in time is left.

Its times are whole numbers, and so are the kernels' run times. Loading this module loads OR-Tools.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ortools.sat.python import cp_model

from cosched.scheduling.bounds import fewest_missed, lower_bound
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.exact.model import (
    above_least,
    add_hint,
    add_task,
    affordable,
    balanced_group,
    drop_mirror_images,
    order_alike,
    share_hosts,
)
from cosched.scheduling.exact.whole_problem import WholeProblem, whole_problem
from cosched.scheduling.heuristics.moldable_tasks import best_heuristic
from cosched.scheduling.objective.weights import ObjectiveName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.scheduling.exact.model import TaskVariables
    from cosched.scheduling.problem import Problem

__all__ = ["Model", "host_time", "makespan_model", "on_time_model", "whole_seconds"]


class _Slot(NamedTuple):
    """A task's place in a plan."""

    start: int
    end: int
    hosts: int


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
    whole = affordable(whole_seconds(problem), horizon)
    assert whole is not None, "the heuristic's plan ends by the horizon"
    tasks = [add_task(model, whole, task, horizon) for task in range(len(problem.tasks))]
    for task in tasks:
        model.add_exactly_one(task.counts.values())
        model.add(task.end <= makespan)
    share_hosts(model, whole, tasks, horizon)
    least, above = above_least(whole, enumerate(tasks))
    model.add(sum(above) + sum(least) <= len(problem.hosts) * makespan)
    order_alike(model, whole, tasks)
    drop_mirror_images(model, whole, tasks, makespan)
    balanced = balanced_group(whole)
    if sum(slots[task].start + slots[task].end for task in balanced) > len(balanced) * horizon:
        slots = [_Slot(horizon - slot.end, horizon - slot.start, slot.hosts) for slot in slots]
    for group in whole.alike():
        for each, place in zip(group, sorted(slots[each] for each in group), strict=True):
            add_hint(model, tasks[each], (place.start, place.hosts))
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
    whole = whole_seconds(problem)
    tasks = [add_task(model, whole, task, due[task]) for task in range(len(problem.tasks))]
    met = [model.new_bool_var(f"{task} in time") for task in range(len(tasks))]
    for task, in_time, deadline in zip(tasks, met, due, strict=True):
        model.add(sum(task.counts.values()) == in_time)
        model.add(task.end <= deadline)
    share_hosts(model, whole, tasks, max(due))
    for deadline in sorted(set(due)):
        early = [(task, tasks[task]) for task in range(len(tasks)) if due[task] <= deadline]
        model.add(sum(host_time(whole, early)) <= len(problem.hosts) * deadline)
    model.add(sum(met) <= len(tasks) - fewest_missed(problem))
    slots = _heuristic_slots(problem, ObjectiveName.DEADLINES_FIRST)
    for group in whole.alike():
        by_deadline = sorted(group, key=lambda task: due[task])
        for earlier, later in pairwise(by_deadline):
            model.add_implication(met[earlier], met[later])
            model.add(tasks[earlier].end <= tasks[later].end).only_enforce_if(met[earlier])
        kept = sorted((slots[each] for each in group if slots[each].end <= due[each]), key=lambda slot: slot.end)
        places = [*[None] * (len(group) - len(kept)), *kept]
        for each, place in zip(by_deadline, places, strict=True):
            add_hint(model, tasks[each], None if place is None else (place.start, place.hosts))
            model.add_hint(met[each], place is not None)
    model.maximize(sum(met))
    starts = [task.start if task.counts else None for task in tasks]
    return Model(model, starts, [task.counts for task in tasks])


def host_time(whole: WholeProblem, tasks: Iterable[tuple[int, TaskVariables]]) -> list[cp_model.LinearExpr]:
    """Return the host-time that tasks use, in terms."""
    return [
        count * length * variables.counts[count]
        for task, variables in tasks
        for count, length in whole.choices[task]
        if count in variables.counts
    ]


def whole_seconds(problem: Problem) -> WholeProblem:
    """Return the problem in whole seconds.

    Raises:
        ValueError: its run times are no whole seconds, or all of them have a divisor.
    """
    whole = whole_problem(problem, 1.0)  # of any makespan: all times are on the coarsest grid
    if whole.units_a_second != 1:
        raise ValueError("the peer takes run times in whole seconds without a common divisor")
    return whole


def _heuristic_slots(problem: Problem, objective: ObjectiveName) -> list[_Slot]:
    """Return where the best heuristic's plan has each task."""
    plan, _ = best_heuristic(problem, objective.weights, lambda: True)
    starts, ends = spans(problem, plan)
    return [
        _Slot(int(start), int(end), int(count)) for start, end, count in zip(starts, ends, plan.counts, strict=True)
    ]
