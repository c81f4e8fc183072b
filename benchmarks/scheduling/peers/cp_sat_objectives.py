"""The peer for other objectives than the makespan alone: OR-Tools' CP-SAT on slowdown, tardiness and time limits kept.

What a schedule is, is said by `cosched.scheduling.exact.model`. Told beside: the best heuristic's plan as a hint and,
where one task could take another's place, their order. Times are whole seconds. Loading this module loads OR-Tools.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from benchmarks.scheduling.peers.cp_sat import solved
from benchmarks.scheduling.peers.cp_sat_models import host_time, whole_seconds
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.exact.model import TaskVariables, add_hint, add_task, chosen_plan, share_hosts
from cosched.scheduling.heuristics.moldable_tasks import best_heuristic
from cosched.scheduling.objective.objective import measure_plan
from cosched.scheduling.objective.slowdown import Slowdowns
from cosched.scheduling.objective.weights import ObjectiveName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.exact.whole_problem import WholeProblem
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["Found", "least_slowdown", "least_tardiness", "shortest_with_as_many_on_time"]

_PARTS = 10**6  # of a slowdown of 1, as whole numbers have it
_MILLI = 1000  # of a second of a deadline


class Found(NamedTuple):
    """What the solver found and proved.

    Attributes:
        value: of its best plan, as our own code measures it; infinite where it found none.
        bound: no plan has a lower value.
    """

    value: float
    bound: float


def least_slowdown(problem: Problem, seconds: float) -> Found:
    """Return the least mean bounded slowdown found in so many seconds of two cores.

    Args:
        problem: whole run times on identical hosts, all there at the origin; it says how long tasks have waited.
        seconds: budget.
    """
    slowdowns, number = Slowdowns.of(problem), len(problem.tasks)
    model, whole, tasks = _all_schedules(problem)
    terms = []
    for task, waited, rate in zip(tasks, slowdowns.waited.tolist(), slowdowns.rate.tolist(), strict=True):
        term = model.new_int_var(_PARTS, cp_model.INT32_MAX, "slowdown")  # rounded down: the bound holds
        model.add(term >= math.floor(_PARTS * rate) * task.end + math.floor(_PARTS * rate * waited))
        terms.append(term)
    for group in whole.alike() if not slowdowns.waited.any() else []:
        for earlier, later in pairwise(group):
            model.add(tasks[earlier].start <= tasks[later].start)
    _propose(problem, model, whole, tasks, ObjectiveName.SLOWDOWN)
    model.minimize(sum(terms))
    plan, bound = _answer(model, tasks, seconds)
    value = math.inf if plan is None else measure_plan(problem, plan).slowdown
    assert value is not None, "the problem says how long tasks have waited"
    return Found(value, max(bound / _PARTS / number, slowdowns.least))


def least_tardiness(problem: Problem, seconds: float) -> Found:
    """Return the least weighted lateness in seconds, the sum over the tasks, found in so many seconds of two cores.

    Args:
        problem: see `least_slowdown`; every task has a deadline; weights are whole numbers.
        seconds: budget.
    """
    model, whole, tasks = _all_schedules(problem)
    weights = np.ones(len(tasks)) if problem.weight is None else problem.weight
    terms = []
    for task, due, weight in zip(tasks, problem.deadline.tolist(), weights.tolist(), strict=True):
        late = model.new_int_var(0, cp_model.INT32_MAX, "late")
        model.add(late >= _MILLI * task.end - math.ceil(_MILLI * due))
        terms.append(round(weight) * late)
    _propose(problem, model, whole, tasks, ObjectiveName.TARDINESS)
    model.minimize(sum(terms))
    plan, bound = _answer(model, tasks, seconds)
    if plan is None:
        return Found(math.inf, bound / _MILLI)
    measured = measure_plan(problem, plan)
    late = measured.lateness if measured.weighted_lateness is None else measured.weighted_lateness
    return Found(late, bound / _MILLI)


def shortest_with_as_many_on_time(problem: Problem, plan: Plan, seconds: float) -> Found:
    """Return the shortest makespan found of plans with as many tasks on time as a given one, or more.

    Args:
        problem: see `least_slowdown`; every task has a deadline.
        plan: the given plan, which the solver begins with.
        seconds: budget, of two cores.
    """
    starts, ends = spans(problem, plan)
    horizon, due = round(max(ends)), [math.floor(each) for each in problem.deadline.tolist()]
    model, whole = cp_model.CpModel(), whole_seconds(problem)
    makespan = model.new_int_var(math.ceil(lower_bound(problem) - 1e-9), horizon, "makespan")
    tasks, met = [], []
    for task, deadline in enumerate(due):
        variables = add_task(model, whole, task, horizon)
        model.add_exactly_one(variables.counts.values())
        model.add(variables.end <= makespan)
        in_time = model.new_bool_var(f"{task} in time")
        model.add(variables.end <= deadline).only_enforce_if(in_time)
        tasks.append(variables)
        met.append(in_time)
    share_hosts(model, whole, tasks, horizon)
    model.add(sum(host_time(whole, enumerate(tasks))) <= len(problem.hosts) * makespan)
    model.add(sum(met) >= sum(end <= deadline for end, deadline in zip(ends, due, strict=True)))
    for group in whole.alike():
        by_deadline = sorted(group, key=lambda task: due[task])
        for earlier, later in pairwise(by_deadline):  # as in `on_time_model`
            model.add_implication(met[earlier], met[later])
            model.add(tasks[earlier].end <= tasks[later].end).only_enforce_if(met[earlier])
        kept = [each for each in group if ends[each] <= due[each]]
        places = [each for each in group if each not in kept] + sorted(kept, key=lambda each: ends[each])
        for each, place in zip(by_deadline, places, strict=True):
            add_hint(model, tasks[each], (int(starts[place]), int(plan.counts[place])))
            model.add_hint(met[each], place in kept)
    model.minimize(makespan)
    found, bound = _answer(model, tasks, seconds)
    return Found(math.inf if found is None else measure_plan(problem, found).makespan, bound)


def _all_schedules(problem: Problem) -> tuple[cp_model.CpModel, WholeProblem, list[TaskVariables]]:
    """Return the model of all schedules that are no longer than one task after another."""
    model, whole = cp_model.CpModel(), whole_seconds(problem)
    horizon = sum(max(length for _, length in choices) for choices in whole.choices)
    tasks = [add_task(model, whole, task, horizon) for task in range(len(problem.tasks))]
    for task in tasks:
        model.add_exactly_one(task.counts.values())
    share_hosts(model, whole, tasks, horizon)
    return model, whole, tasks


def _propose(
    problem: Problem,
    model: cp_model.CpModel,
    whole: WholeProblem,
    tasks: Sequence[TaskVariables],
    objective: ObjectiveName,
) -> None:
    """Propose the best heuristic's plan, tasks that are alike by their starts where no deadline tells them apart."""
    plan, _ = best_heuristic(problem, objective.weights, lambda: True)
    starts, _ = spans(problem, plan)
    places = [(int(start), int(count)) for start, count in zip(starts, plan.counts, strict=True)]
    for group in whole.alike() if objective is ObjectiveName.SLOWDOWN else [[task] for task in range(len(tasks))]:
        for each, place in zip(group, sorted(places[task] for task in group), strict=True):
            add_hint(model, tasks[each], place)


def _answer(model: cp_model.CpModel, tasks: list[TaskVariables], seconds: float) -> tuple[Plan | None, float]:
    """Return the best plan found and the objective's bound after so many seconds of two cores."""
    solver, status, _ = solved(model, seconds)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return chosen_plan(solver, tasks) if found else None, math.ceil(solver.best_objective_bound - 1e-6)
