"""Lend hosts that are idle now, each until the plan needs it, where that pays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cosched.scheduling.elastic.tasks import ElasticProgress

__all__ = ["lend_idle_hosts"]


class _Growth(NamedTuple):
    """A task's next step, by what it gains for each host."""

    gain: float
    task: str
    hosts: int


def lend_idle_hosts(
    running: Sequence[ElasticProgress],
    idle: Mapping[str, float],
    payback: float | Mapping[str, float],
    avoided: Mapping[str, Collection[str]] | None = None,
    ranks: Mapping[str, Mapping[str, int]] | None = None,
) -> dict[str, tuple[str, ...]]:
    """Choose who is lent which hosts.

    Again and again the task that gains most for each host takes a useful step, on the hosts that stay idle longest. A
    step must save `payback` times the seconds of its beginning and its end, within the time that its hosts stay.

    Args:
        running: the tasks that may grow, with the hosts that they have.
        idle: for how many seconds each idle host will not be needed; infinite for one that nobody waits for.
        payback: how many times what it costs a step must save; or that for each task, by its name.
        avoided: hosts that tasks are not lent, by their names.
        ranks: rank of each idle host for tasks, by their names: a low one is lent before others that stay idle as long.

    Returns:
        The hosts that each task is lent; tasks that are lent none are left out.
    """
    left = list(idle)
    held = {each.task.id: each for each in running}
    times = dict.fromkeys(held, payback) if isinstance(payback, float | int) else payback
    kept, order, lent = avoided or {}, ranks or {}, dict[str, tuple[str, ...]]()
    while left:
        there = {name: _usable(left, idle, kept.get(name, ()), order.get(name, {})) for name in held}
        found = (_step(each, there[name], idle, times[name]) for name, each in held.items())
        steps = [step for step in found if step is not None]
        if not steps:
            break
        best = max(steps, key=lambda step: (step.gain, step.task))
        chosen = there[best.task][: best.hosts]
        left = [host for host in left if host not in chosen]
        lent[best.task] = (*lent.get(best.task, ()), *chosen)
        held[best.task] = replace(held[best.task], hosts=held[best.task].hosts + best.hosts)
    return lent


def _usable(
    left: Sequence[str], idle: Mapping[str, float], avoided: Collection[str], ranks: Mapping[str, int]
) -> list[str]:
    """Return the hosts that a task may be lent, in the order in which it is."""
    return sorted(set(left).difference(avoided), key=lambda host: (-idle[host], ranks.get(host, 0), host))


def _step(progress: ElasticProgress, left: Sequence[str], idle: Mapping[str, float], payback: float) -> _Growth | None:
    """Return the first useful step of a task that pays; None where there is none."""
    task, cost = progress.task, progress.task.grow_cost + progress.task.shrink_cost
    wider = task.wider(progress.hosts)
    while wider is not None and wider - progress.hosts <= len(left):
        count = wider - progress.hosts
        slow, quick = progress.remaining_on(progress.hosts), progress.remaining_on(wider)
        within = min(idle[left[count - 1]], slow)
        if within * (1 - quick / slow) >= payback * cost:
            return _Growth((1 / quick - 1 / slow) / count, task.id, count)
        wider = task.wider(wider)
    return None
