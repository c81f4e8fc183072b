"""CP-SAT's model of a whole problem: an optional interval for each useful host count, and one cumulative constraint.

Hosts are alike, and intervals that overlap on no more than N hosts can always be given hosts. Loading this module
loads OR-Tools.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cosched.scheduling.exact.whole_problem import WholeProblem

__all__ = [
    "TaskVariables",
    "above_least",
    "add_hint",
    "add_task",
    "affordable",
    "balanced_group",
    "chosen_plan",
    "drop_mirror_images",
    "model_within",
    "order_alike",
    "share_hosts",
]


class TaskVariables(NamedTuple):
    """Variables of one task.

    Attributes:
        start: when it starts.
        end: when it ends.
        counts: a literal for each host count on which it can be in time; at most one holds.
    """

    start: cp_model.IntVar
    end: cp_model.LinearExpr
    counts: dict[int, cp_model.IntVar]


def model_within(whole: WholeProblem, latest: int) -> tuple[cp_model.CpModel, list[TaskVariables]] | None:
    """Return the model of all schedules that end by `latest`; None where there are none, as plain sums tell.

    Beside what a schedule is, it says that no more host-time is used than there is, and prescribes the order of tasks
    that could take each other's place. Of a schedule and its mirror image in time it has one.
    """
    fitting = affordable(whole, latest)
    if fitting is None:
        return None
    model = cp_model.CpModel()
    tasks = [add_task(model, fitting, task, latest) for task in range(len(fitting.choices))]
    for variables, before in zip(tasks, fitting.depends_on, strict=True):
        model.add_exactly_one(variables.counts.values())
        for other in before:
            model.add(variables.start >= tasks[other].end)
    share_hosts(model, fitting, tasks, latest)
    least, above = above_least(fitting, enumerate(tasks))
    model.add(sum(above) <= _offered(whole, latest) - sum(least))
    order_alike(model, fitting, tasks)
    if not (any(whole.release) or any(whole.depends_on) or whole.away):
        drop_mirror_images(model, fitting, tasks, latest)
    return model, tasks


def affordable(whole: WholeProblem, latest: int) -> WholeProblem | None:
    """Leave out choices for which hosts lack the time even if all other tasks take their least.

    Returns:
        The problem with the choices left; None where a task cannot end by `latest`, or hosts lack the time for all.
    """
    in_time = [
        [(count, length) for count, length in choices if release + length <= latest]
        for choices, release in zip(whole.choices, whole.release, strict=True)
    ]
    if not all(in_time):
        return None
    fewest = [min(count * length for count, length in choices) for choices in in_time]
    spare = _offered(whole, latest) - sum(fewest)
    if spare < 0:
        return None
    left = [
        tuple((count, length) for count, length in choices if count * length <= least + spare)
        for choices, least in zip(in_time, fewest, strict=True)
    ]
    return replace(whole, choices=tuple(left))


def above_least(
    whole: WholeProblem, tasks: Iterable[tuple[int, TaskVariables]]
) -> tuple[list[int], list[cp_model.LinearExpr]]:
    """Return the least host-time of each task, and what counts take above it, in terms.

    Told whole host-times, the solver would not see before a count is chosen that some host-time is needed.
    """
    fewest, above = [], []
    for task, variables in tasks:
        taken = {count: count * length for count, length in whole.choices[task] if count in variables.counts}
        least = min(taken.values(), default=0)
        fewest.append(least)
        above += [(used - least) * variables.counts[count] for count, used in taken.items() if used > least]
    return fewest, above


def order_alike(model: cp_model.CpModel, whole: WholeProblem, tasks: Sequence[TaskVariables]) -> None:
    """Prescribe the order in which tasks start that could take each other's place."""
    for group in whole.alike():
        for earlier, later in pairwise(group):
            model.add(tasks[earlier].start <= tasks[later].start)


def drop_mirror_images(
    model: cp_model.CpModel, whole: WholeProblem, tasks: Sequence[TaskVariables], latest: cp_model.IntVar | int
) -> None:
    """Leave one of a schedule and its mirror image in time, where tasks wait for nothing and hosts are always there.

    The tasks of one group that are alike run before the middle on average, or do so in the mirror image.
    """
    group = balanced_group(whole)
    model.add(sum(tasks[task].start + tasks[task].end for task in group) <= len(group) * latest)


def balanced_group(whole: WholeProblem) -> list[int]:
    """Return the tasks by which `drop_mirror_images` tells a schedule from its mirror image.

    An odd number of them: fewer schedules have them balanced, and are in the model with their images.
    """
    return max(whole.alike(), key=lambda tasks: (len(tasks) % 2, len(tasks)))


def add_task(model: cp_model.CpModel, whole: WholeProblem, task: int, latest: int) -> TaskVariables:
    """Return the variables of a task that shall end by `latest`, with the counts on which it can."""
    release = whole.release[task]
    lengths = {count: length for count, length in whole.choices[task] if release + length <= latest}
    shortest = min(lengths.values(), default=0)
    start = model.new_int_var(release, max(latest - shortest, release), f"start {task}")
    counts = {count: model.new_bool_var(f"{task} on {count}") for count in lengths}
    for count, taken in counts.items():
        if lengths[count] > shortest:
            model.add(start <= latest - lengths[count]).only_enforce_if(taken)
    return TaskVariables(start, start + sum(lengths[count] * taken for count, taken in counts.items()), counts)


def share_hosts(model: cp_model.CpModel, whole: WholeProblem, tasks: Iterable[TaskVariables], latest: int) -> None:
    """Let tasks overlap on no more hosts than there are, up to `latest`."""
    intervals, demands = [], []
    for task, variables in enumerate(tasks):
        lengths = dict(whole.choices[task])
        for count, taken in variables.counts.items():
            name = f"{task} runs on {count}"
            intervals.append(model.new_optional_fixed_size_interval_var(variables.start, lengths[count], taken, name))
            demands.append(count)
    for begin, length, hosts in _away(whole, latest):
        intervals.append(model.new_fixed_size_interval_var(begin, length, f"away from {begin}"))
        demands.append(hosts)
    model.add_cumulative(intervals, demands, whole.hosts)


def _offered(whole: WholeProblem, latest: int) -> int:
    """Return the host-time that there is up to `latest`."""
    return whole.hosts * latest - sum(length * hosts for _, length, hosts in _away(whole, latest))


def add_hint(model: cp_model.CpModel, task: TaskVariables, place: tuple[int, int] | None) -> None:
    """Propose a start and a host count for a task; None proposes to leave it out."""
    if place is not None:
        model.add_hint(task.start, place[0])
    for count, taken in task.counts.items():
        model.add_hint(taken, place is not None and count == place[1])


def chosen_plan(solver: cp_model.CpSolver, tasks: list[TaskVariables]) -> Plan:
    """Return the plan of a solution: by starts, on the counts chosen."""
    starts = np.array([solver.value(task.start) for task in tasks])
    counts = [next(count for count, taken in task.counts.items() if solver.boolean_value(taken)) for task in tasks]
    return Plan(np.argsort(starts, kind="stable").astype(np.int64), np.array(counts, dtype=np.int64))


def _away(whole: WholeProblem, latest: int) -> list[tuple[int, int, int]]:
    """Return when hosts are away before `latest`: begin, length, hosts."""
    before = [(begin, min(end, latest), hosts) for begin, end, hosts in whole.away if begin < latest]
    return [(begin, math.floor(end) - begin, hosts) for begin, end, hosts in before if begin < end]
