"""Give a plan an order that reckons with licences.

The heuristics know hosts alone. Decoded in their order, a task that waits for a licence keeps its hosts idle until
then, as no hole is filled: who needs none must be planned first.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.decoding.stairs import free_licences
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = ["licensed_plans", "with_licences"]


def licensed_plans(problem: Problem, plans: Sequence[Plan]) -> list[Plan]:
    """Return the plans, and each also in an order that reckons with licences; as they are where none is scarce."""
    if free_licences(problem) is None:
        return list(plans)
    return [*plans, *[with_licences(problem, plan) for plan in plans]]


def with_licences(problem: Problem, plan: Plan) -> Plan:
    """Return the plan in an order in which each task stands where its licences are free.

    Licences are given out in the order in which the plan without them would have its tasks start. Work is the clock
    that says how far the hosts are when the others ahead are done.
    """
    licences = free_licences(problem)
    assert licences is not None, "some are scarce"
    starts, ends = spans(replace(problem, licences=None), plan)
    lasts = np.array(ends) - np.array(starts)
    by_start = plan.order[np.argsort(np.array(starts)[plan.order], kind="stable")].tolist()
    asking, others = list[tuple[float, int]](), deque[int]()
    for task in by_start:
        if not licences.asked_by(task):
            others.append(task)
            continue
        start = licences.ready(task, starts[task])
        licences.take(task, start, start + float(lasts[task]))
        asking.append((start, task))
    work, order = (_part(problem, plan) * lasts).tolist(), list[int]()
    clock = float(problem.free[np.isfinite(problem.free)].mean())
    for start, task in sorted(asking):
        while others and clock < start:
            order.append(others.popleft())
            clock += work[order[-1]]
        order.append(task)
        clock = max(clock, start) + work[task]
    return Plan(np.array([*order, *others], dtype=np.int64), plan.counts, plan.classes)


def _part(problem: Problem, plan: Plan) -> NDArray[np.float64]:
    """Return (m,): which part of all hosts each task takes."""
    packing = problem.packing
    if packing is None:
        return plan.counts / len(problem.hosts)
    part: NDArray[np.float64] = (packing.area[plan.counts] / np.maximum(packing.capacity.sum(axis=0), 1)).max(axis=1)
    return part
