"""Lend hosts that are idle now, each until the plan needs it, where that pays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched.scheduling.elastic.tasks import ElasticProgress

__all__ = ["IdleHosts", "WholeHosts", "lend_idle_hosts"]


class IdleHosts(Protocol):
    """Hosts that are idle, or have room for more workers."""

    def of(self, task: str, most: int) -> Sequence[tuple[str, float]]:
        """Return up to `most` hosts for workers of a task, each with the seconds until it is needed; longest first.

        Where hosts are shared, one that has room for several workers is there several times.
        """
        ...

    def take(self, task: str, hosts: Iterable[str]) -> None:
        """Lend hosts to a task."""
        ...


class WholeHosts:
    """Hosts that are lent whole."""

    def __init__(self, idle: Mapping[str, float], allowed: Mapping[str, Sequence[str]] | None = None) -> None:
        """Begin with what is idle.

        Args:
            idle: for how many seconds each idle host will not be needed; infinite for one that nobody waits for.
            allowed: the hosts that may be lent to each task, by its name; of those that stay idle as long the first are
                lent first. None: any to all, by their names.
        """
        self._idle = dict(sorted(idle.items()))
        self._allowed = allowed or {}

    def of(self, task: str, most: int) -> list[tuple[str, float]]:
        """Return up to `most` hosts that may be lent to a task and their seconds; the longest first."""
        there = [host for host in self._allowed.get(task, self._idle) if host in self._idle]
        return sorted([(host, self._idle[host]) for host in there], key=lambda place: -place[1])[:most]

    def take(self, _task: str, hosts: Iterable[str]) -> None:
        """Lend hosts to a task."""
        for host in hosts:
            del self._idle[host]


class _Growth(NamedTuple):
    """A task's next step, by what it gains for each host."""

    gain: float
    task: str
    hosts: tuple[str, ...]


def lend_idle_hosts(
    running: Sequence[ElasticProgress], idle: IdleHosts, payback: float | Mapping[str, float]
) -> dict[str, tuple[str, ...]]:
    """Choose who is lent which hosts.

    Again and again the task that gains most for each host takes a useful step, on the hosts that stay idle longest. A
    step must save `payback` times the seconds of its beginning and its end, within the time that its hosts stay.

    Args:
        running: the tasks that may grow, with the hosts that they have.
        idle: what is idle; changed.
        payback: how many times what it costs a step must save; or that for each task, by its name.

    Returns:
        The hosts that each task is lent; tasks that are lent none are left out.
    """
    held = {each.task.id: each for each in running}
    times = dict.fromkeys(held, payback) if isinstance(payback, float | int) else payback
    lent = dict[str, tuple[str, ...]]()
    while True:
        found = (_step(each, idle.of(name, each.task.most - each.hosts), times[name]) for name, each in held.items())
        steps = [step for step in found if step is not None]
        if not steps:
            return lent
        best = max(steps, key=lambda step: (step.gain, step.task))
        idle.take(best.task, best.hosts)
        lent[best.task] = (*lent.get(best.task, ()), *best.hosts)
        held[best.task] = replace(held[best.task], hosts=held[best.task].hosts + len(best.hosts))


def _step(progress: ElasticProgress, left: Sequence[tuple[str, float]], payback: float) -> _Growth | None:
    """Return the first useful step of a task that pays; None where there is none."""
    task, cost = progress.task, progress.task.grow_cost + progress.task.shrink_cost
    wider = task.wider(progress.hosts)
    while wider is not None and wider - progress.hosts <= len(left):
        count = wider - progress.hosts
        slow, quick = progress.remaining_on(progress.hosts), progress.remaining_on(wider)
        within = min(left[count - 1][1], slow)
        if within * (1 - quick / slow) >= payback * cost:
            return _Growth((1 / quick - 1 / slow) / count, task.id, tuple([host for host, _ in left[:count]]))
        wider = task.wider(wider)
    return None
