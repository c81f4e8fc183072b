"""Moldable tasks under the heuristic for tunable ones: every useful host count is a chain of one stage."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoder import dependency_order
from cosched.scheduling.holes import Holes
from cosched.scheduling.problem import Plan
from cosched.scheduling.tunable import Chain, Stage, TunableTask, admit
from cosched.scheduling.widths import best_seconds, useful

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.tunable import Placement

__all__ = ["tunable_moldable"]


def tunable_moldable(problem: Problem) -> Plan:
    """Return the plan in which each task, in order of arrival, takes the count and the hole in which it ends first.

    A task that can no longer meet its deadline is not refused here, where every task is to have its place: it is placed
    as if it had none. On several classes the decoder places in earnest, as after backfilling.
    """
    seconds, usable = best_seconds(problem), useful(problem)
    holes = Holes(problem.free.tolist())
    ends: dict[int, float] = {}
    starts: dict[int, float] = {}
    counts = np.zeros(len(problem.tasks), dtype=np.int64)
    order = dependency_order(problem, np.argsort(problem.release, kind="stable").tolist())
    for index in order:
        ready = problem.ready(index, ends)
        slack = float(problem.deadline[index]) - ready
        chains = tuple(
            Chain((Stage(int(place) + 1, float(seconds[index, place]), slack),))
            for place in np.flatnonzero(usable[index])
        )
        placement = _placed(holes, TunableTask(problem.tasks[index], ready, chains))
        counts[index] = placement.stages[0].hosts
        starts[index], ends[index] = placement.starts[0], placement.end
    order.sort(key=starts.__getitem__)
    return Plan(np.array(order, dtype=np.int64), counts)


def _placed(holes: Holes, task: TunableTask) -> Placement:
    placement = admit(holes, task)
    if placement is None:
        free = tuple(Chain(tuple(replace(stage, deadline=math.inf) for stage in chain.stages)) for chain in task.chains)
        placement = admit(holes, replace(task, chains=free))
    assert placement is not None  # with no deadline every count that exists has a place behind all others
    return placement
