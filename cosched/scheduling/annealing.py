"""Simulated annealing of one plan by `triage`, for fewer missed deadlines; loading this module loads numba."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.jit import compiled
from cosched.scheduling.operators import draw
from cosched.scheduling.triage import reread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.triage import Claims, Reading

__all__ = ["anneal"]

_RECALLED = 0.25  # share of the steps that draw one who was given up ahead, if there is any
_MOVED, _SWAPPED = 0.5, 0.7  # of the others, shares (the latter with the former) of two kinds; the rest ask anew
_NEAR = 4  # places that half of the moves do not go beyond
_CHEAPEST = 0.5  # of those who ask for some host count, the share that turns to the cheapest in time
_ANY = 0.3  # of the others, the share that takes any useful count, not the next smaller or larger


@compiled
def anneal(
    state: NDArray[np.uint64],
    problem: Claims,
    mercy: float,
    temperature: float,
    steps: int,
    plan: Reading,
    trial: Reading,
    best: Reading,
) -> int:
    """Change a plan in random steps; one for the worse is kept with probability exp(-difference / temperature).

    Args:
        state: of the random numbers.
        problem: see `triage.claims`.
        mercy: see `triage`.
        temperature: where a missed deadline costs 1.
        steps: how many.
        plan: changed.
        trial: any reading of this problem; of no use afterwards.
        best: its order and counts become those of the plan on the way that misses the fewest deadlines.

    Returns:
        How many that one misses.
    """
    kept, cost = reread(problem, mercy, np.inf, 0, plan)
    fewest, window = _stakes(problem, plan, kept)
    _note(plan, best)
    for _ in range(steps):
        if fewest == 0:
            break
        _copy(plan, trial)
        begin = _change(state, problem, kept, window, trial)
        trial.free[begin] = plan.free[begin]
        trial.costs[begin] = plan.costs[begin]
        limit = cost - temperature * math.log(1.0 - draw(state))
        tried, tried_cost = reread(problem, mercy, limit, begin, trial)
        if tried < 0:
            continue
        _adopt(trial, begin, tried, plan)
        kept, cost = tried, tried_cost
        missed, window = _stakes(problem, plan, kept)
        if missed < fewest:
            fewest = missed
            _note(plan, best)
    return fewest


@compiled
def _stakes(problem: Claims, plan: Reading, kept: int) -> tuple[int, int]:
    """Return how many deadlines a plan misses, and how many tasks it places before the last of these.

    Only a change among those, or ahead of one of them, can help to miss fewer.
    """
    missed, last = plan.order.shape[0] - kept, 0.0
    for place in range(plan.order.shape[0]):
        task = plan.order[place]
        due = problem.deadline[task]
        if place >= kept:
            last = max(last, due)
        elif plan.ends[task] > due:
            missed += 1
            last = max(last, due)
    window = kept
    while window > 1 and plan.free[window - 1, 0] >= last:
        window -= 1
    return missed, window


@compiled
def _note(plan: Reading, best: Reading) -> None:
    best.order[:] = plan.order
    best.counts[:] = plan.counts


@compiled
def _copy(plan: Reading, trial: Reading) -> None:
    """Copy what the plan asks for; element by element, of which the compiler makes more than of slices."""
    order, asked, trial_order, trial_asked = plan.order, plan.asked, trial.order, trial.asked
    for index in range(order.shape[0]):
        trial_order[index] = order[index]
        trial_asked[index] = asked[index]


@compiled
def _adopt(trial: Reading, begin: int, kept: int, plan: Reading) -> None:
    """Make the plan the same as the trial, which differs from some place on."""
    order, asked, counts, ends, free, costs, _ = plan
    trial_order, trial_asked, trial_counts, trial_ends, trial_free, trial_costs, _ = trial
    for place in range(begin, order.shape[0]):
        task = trial_order[place]
        order[place], asked[task] = task, trial_asked[task]
        counts[task], ends[task] = trial_counts[task], trial_ends[task]
    for place in range(begin + 1, kept + 1):
        costs[place] = trial_costs[place]
        for host in range(free.shape[1] // 2):
            free[place, host] = trial_free[place, host]


@compiled
def _change(state: NDArray[np.uint64], problem: Claims, kept: int, window: int, plan: Reading) -> int:
    """Change an order or what a task asks for, in one random way; return the first place that differs."""
    tasks = plan.order.shape[0]
    if kept < tasks and (kept == 0 or draw(state) < _RECALLED):
        origin = kept + int(draw(state) * (tasks - kept))
        return _move(plan.order, origin, int(draw(state) * (window + 1)))
    kind, place = draw(state), int(draw(state) * window)
    if kind < _MOVED:
        other = int(draw(state) * kept)
        if draw(state) < 0.5:
            other = min(max(place - _NEAR + int(draw(state) * (2 * _NEAR + 1)), 0), kept - 1)
        return _move(plan.order, place, other) if draw(state) < 0.5 else _move(plan.order, other, place)
    if kind < _SWAPPED:
        other = int(draw(state) * tasks)
        plan.order[place], plan.order[other] = plan.order[other], plan.order[place]
        return min(place, other)
    _ask(state, problem, plan.asked, plan.order[place])
    return place


@compiled
def _move(order: NDArray[np.int64], origin: int, target: int) -> int:
    task = order[origin]
    step = 1 if target > origin else -1
    for place in range(origin, target, step):
        order[place] = order[place + step]
    order[target] = task
    return min(origin, target)


@compiled
def _ask(state: NDArray[np.uint64], problem: Claims, asked: NDArray[np.int64], task: int) -> None:
    """Let a task ask for the cheapest count that is in time, for the next cheaper or dearer one, or for any."""
    counts, least, above = problem.counts, problem.first[task], problem.first[task + 1]
    wish = asked[task]
    if wish > 0 and draw(state) < _CHEAPEST:
        asked[task] = 0
        return
    index = least + int(draw(state) * (above - least))
    if wish > 0 and draw(state) >= _ANY:
        index = least
        while counts[index] != wish:
            index += 1
        index += 1 if draw(state) < 0.5 else -1
    asked[task] = counts[min(max(index, least), above - 1)]
