"""Lend hosts where tasks gain most, and take them back where they lose least.

A task's gain from v hosts to w is (1/t(w) − 1/t(v)) ÷ left: how much sooner it ends, and the more the sooner it ends
anyway. A change must save `payback` times what it costs, within the time that the hosts are likely to stay.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.scheduling.elastic.policy import Draft
    from cosched.scheduling.elastic.tasks import ElasticProgress

__all__ = ["lend_hosts", "spare_hosts", "take_back"]

_STRICTLY = 1 + 1e-9  # rounding moves no hosts to and fro


def spare_hosts(draft: Draft, kept: Callable[[ElasticProgress], int]) -> int:
    """Return the number of hosts that tasks have beyond those that they keep."""
    return sum(draft.held(each) - _least_held(draft, each, kept(each)) for each in draft.having)


def take_back(
    draft: Draft,
    hosts: int,
    kept: Callable[[ElasticProgress], int],
    wholly: Callable[[ElasticProgress], bool] = lambda _progress: False,
) -> None:
    """Take hosts back, a useful step at a time, until enough are idle.

    The next step is taken where it delays least for each host.

    Args:
        draft: the allocation in the making; it has as many that are idle or spare.
        hosts: how many are wanted.
        kept: hosts that a task keeps.
        wholly: whether a task gives all others at once.
    """
    while draft.idle < hosts:
        steps = [step for each in draft.having if (step := _step_down(draft, each, kept(each))) is not None]
        if not steps:
            return
        lender = min(steps, key=lambda step: (step.delay, step.progress.task.id))
        each, less = lender.progress, draft.held(lender.progress) - lender.hosts
        draft.set(each, _least_held(draft, each, kept(each)) if wholly(each) else less)


def lend_hosts(
    draft: Draft,
    payback: float,
    kept: Callable[[ElasticProgress], int],
    allowed: Callable[[ElasticProgress, int], bool] = lambda _progress, _hosts: True,
    horizon: float | None = None,
) -> None:
    """Give hosts to the tasks with the largest gain where that pays.

    Idle ones are given first; then they move from smaller gains to larger ones.

    Args:
        draft: the allocation in the making.
        payback: how many times its cost a change must save.
        kept: hosts that nobody may borrow of a task.
        allowed: whether a task may grow to so many hosts.
        horizon: seconds that hosts stay; None: until the first task ends, if others wait.
    """
    if horizon is None:
        horizon = min((draft.remaining(each) for each in draft.having), default=0.0) if draft.waiting else math.inf
    while True:
        steps = (_step_up(draft, each, payback, horizon, allowed) for each in draft.having)
        growths = [step for step in steps if step is not None]
        if not growths:
            return
        best = max(growths, key=lambda step: (step.gain, step.progress.task.id))
        lenders = _lenders(draft, best, kept)
        if lenders is None or not _pays(draft, best, payback, horizon, lenders):
            smaller = [step for step in growths if step.hosts <= draft.idle]
            if not smaller:
                return
            best, lenders = max(smaller, key=lambda step: (step.gain, step.progress.task.id)), ()
        for lender in lenders:
            draft.set(lender.progress, draft.held(lender.progress) - lender.hosts)
        draft.set(best.progress, draft.held(best.progress) + best.hosts)


class _Step(NamedTuple):
    """A change of a task's hosts.

    Attributes:
        progress: the task.
        hosts: how many hosts come or go.
        gain: change of 1/(remaining seconds) for each host, positive.
        total_gain: change of 1/(remaining seconds), positive.
        delay: change of the remaining seconds for each host, positive.
    """

    progress: ElasticProgress
    hosts: int
    gain: float
    total_gain: float
    delay: float


def _step(progress: ElasticProgress, fewer: int, more: int) -> _Step:
    slow, quick, hosts, left = progress.task.on(fewer), progress.task.on(more), more - fewer, progress.left
    faster = 1 / quick - 1 / slow
    return _Step(progress, hosts, faster / hosts / left, faster / left, (slow - quick) / hosts * left)


def _least_held(draft: Draft, progress: ElasticProgress, kept: int) -> int:
    """Return the fewest hosts that a task can be left with."""
    return min(draft.held(progress), max(kept, progress.task.least))


def _step_down(draft: Draft, progress: ElasticProgress, kept: int) -> _Step | None:
    held, least = draft.held(progress), _least_held(draft, progress, kept)
    return _step(progress, max(progress.task.narrower(held) or least, least), held) if held > least else None


def _step_up(
    draft: Draft,
    progress: ElasticProgress,
    payback: float,
    horizon: float,
    allowed: Callable[[ElasticProgress, int], bool],
) -> _Step | None:
    """Return the next useful step of a task, or the first one that pays on idle hosts, of those that are allowed."""
    held = draft.held(progress)
    wider = progress.task.wider(held)
    if wider is None:
        return None
    step = _step(progress, held, wider)
    while not (_pays(draft, step, payback, horizon) and allowed(progress, wider)):
        wider = progress.task.wider(wider)
        if wider is None or wider - held > draft.idle:
            return None
        step = _step(progress, held, wider)
    return step


def _pays(draft: Draft, step: _Step, payback: float, horizon: float, lenders: tuple[_Step, ...] = ()) -> bool:
    """Return whether what a growth saves is worth the seconds that all its changes cost."""
    before = step.progress.hosts
    task, wider = step.progress.task, draft.held(step.progress) + step.hosts
    cost = sum(each.progress.task.shrink_cost for each in lenders if draft.held(each.progress) == each.progress.hosts)
    if not before and not cost:
        return True  # it starts now
    if before:
        cost += task.grow_cost + task.shrink_cost
    within = min(horizon, draft.remaining(step.progress))
    return within * (1 - task.on(wider) / task.on(before or wider - step.hosts)) >= payback * cost


def _lenders(draft: Draft, growth: _Step, kept: Callable[[ElasticProgress], int]) -> tuple[_Step, ...] | None:
    """Return the steps that give hosts for a growth; None where they lose more than it gains."""
    missing = growth.hosts - draft.idle
    if missing <= 0:
        return ()
    steps = [
        step
        for each in draft.having
        if each is not growth.progress and (step := _step_down(draft, each, kept(each))) is not None
    ]
    found: list[_Step] = []
    for step in sorted(steps, key=lambda step: (step.gain, step.progress.task.id)):
        if missing <= 0:
            break
        found.append(step)
        missing -= step.hosts
    loss = sum(step.total_gain for step in found)
    return tuple(found) if missing <= 0 and growth.total_gain > loss * _STRICTLY else None
