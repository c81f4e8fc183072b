"""Ends that are guaranteed to stages of chains, and what a plan makes of them.

Start at `broken_guarantees`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.stages.ways import in_way
from cosched.scheduling.decoding.decoder import spans

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.state import CoreState
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["EQUAL", "broken_guarantees", "guaranteed_ends", "places_behind_guarantees"]

_NOT_LED: Mapping[str, int] = {}

EQUAL = 1e-6
"""Sums of times that are equal on paper differ in their last digits. Seconds."""


def guaranteed_ends(
    problem: Problem, state: CoreState, time: float, led: Mapping[str, int] = _NOT_LED
) -> dict[int, float]:
    """Return the rows of guaranteed stages in a problem, with their latest ends in seconds from `time`.

    Args:
        problem: its tasks are looked at.
        state: the live tasks.
        time: epoch seconds.
        led: chains that are to have another way, with that way.
    """
    if not state.guaranteed:
        return {}
    tasks = {row: state.tasks[name] for row, name in enumerate(problem.tasks) if name in state.guaranteed}
    for row, task in tasks.items() if led else ():
        if task.stage is not None and (way := led.get(task.stage.chain)) is not None:
            tasks[row] = in_way(task, way)
    return {row: task.spec.deadline - time for row, task in tasks.items() if task.spec.deadline is not None}


def broken_guarantees(
    problem: Problem, plan: Plan, state: CoreState, time: float, led: Mapping[str, int] = _NOT_LED
) -> set[str]:
    """Return the guaranteed stages that a plan makes late.

    Args:
        problem: in seconds from `time`.
        plan: of the problem.
        state: the live tasks.
        time: epoch seconds.
        led: chains that have another way in the plan, with that way.
    """
    promised = guaranteed_ends(problem, state, time, led)
    if not promised:
        return set()
    ends = spans(problem, plan)[1]
    return {problem.tasks[row] for row, latest in promised.items() if ends[row] > latest + EQUAL}


def places_behind_guarantees(problem: Problem, plan: Plan, state: CoreState) -> int:
    """Return the first place of a plan behind all of its guaranteed stages."""
    guaranteed = [problem.tasks[row] in state.guaranteed for row in plan.order.tolist()]
    return int(np.flatnonzero(guaranteed)[-1]) + 1 if any(guaranteed) else 0
