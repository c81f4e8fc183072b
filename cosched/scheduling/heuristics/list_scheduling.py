"""List scheduling after Graham, and the event loop that it shares with backfilling.

`starting_order` starts tasks as hosts become free; a `ReadyQueue` says which of the ready tasks start.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cosched.scheduling.problem import Problem

__all__ = ["Completion", "ReadyQueue", "list_order", "starting_order"]


Completion = tuple[float, int, int]
"""A time in seconds, how many hosts come back then, and the task that ends then, -1 for none."""


class ReadyQueue(Protocol):
    """Tasks that could start but for the hosts."""

    def join(self, task: int) -> None:
        """Add a task that is released and has no unfinished predecessor."""

    def leave(self, now: float, idle: int, working: Sequence[Completion]) -> Iterable[int]:
        """Remove and return the tasks that start now on `idle` hosts.

        `working` is a heap of the running tasks' completions.
        """


def starting_order(problem: Problem, counts: Sequence[int], seconds: Sequence[float], queue: ReadyQueue) -> list[int]:
    """Return all tasks in the order in which they start; decoded, they start no later.

    Args:
        problem: for hosts, releases and dependencies.
        counts: hosts of each task, by task.
        seconds: run time of each task on them, by task.
        queue: empty.
    """
    working: list[Completion] = [(free, 1, -1) for free in problem.free.tolist()]
    working += [(release, 0, -1) for release in set(problem.release.tolist())]  # no host becomes free, but a task joins
    heapify(working)
    arrivals = _Arrivals(problem)
    order: list[int] = []
    idle = 0
    while len(order) < len(counts):
        now = working[0][0]
        while working and working[0][0] <= now:
            _, hosts, ended = heappop(working)
            idle += hosts
            arrivals.end(ended)
        for task in arrivals.until(now):
            queue.join(task)
        for task in queue.leave(now, idle, working):
            order.append(task)
            idle -= counts[task]
            heappush(working, (now + seconds[task], counts[task], task))
    return order


class _Arrivals:
    """Tasks that have not been released yet, or wait for others."""

    def __init__(self, problem: Problem) -> None:
        self._release = problem.release.tolist()
        self._missing = {task: set(before) for task, before in enumerate(problem.depends_on) if before}
        self._after: defaultdict[int, list[int]] = defaultdict(list)
        for task, before in self._missing.items():
            for other in before:
                self._after[other].append(task)
        self._coming = [(release, task) for task, release in enumerate(self._release) if task not in self._missing]
        heapify(self._coming)

    def end(self, task: int) -> None:
        """Record the end of a task (-1: none), and queue the successors it has freed."""
        for other in self._after.get(task, ()):
            self._missing[other].discard(task)
            if not self._missing[other]:
                heappush(self._coming, (self._release[other], other))

    def until(self, now: float) -> Iterator[int]:
        """Yield who can join by now, by release, then by position in the problem."""
        while self._coming and self._coming[0][0] <= now:
            yield heappop(self._coming)[1]


def list_order(problem: Problem, priority: Sequence[int], counts: Sequence[int], seconds: Sequence[float]) -> list[int]:
    """Return the tasks in the order in which list scheduling starts them.

    Decoded in this order, they start no later.

    Whenever hosts are free, the first task of the list that is ready and fits starts: unlike the decoder's order, a
    wide task does not hold up a narrow one behind it.

    Args:
        problem: for hosts, releases and dependencies.
        priority: the list, a permutation of the task indices.
        counts: hosts of each task, by task.
        seconds: run time of each task on them, by task.
    """
    return starting_order(problem, counts, seconds, _ByRank(priority, counts))


class _ByRank:
    """Ready tasks in a heap for each host count, by their rank in a list."""

    def __init__(self, priority: Sequence[int], counts: Sequence[int]) -> None:
        self._counts = counts
        self._rank = {task: rank for rank, task in enumerate(priority)}
        self._ready: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)

    def join(self, task: int) -> None:
        heappush(self._ready[self._counts[task]], (self._rank[task], task))

    def leave(self, _now: float, idle: int, _working: Sequence[Completion]) -> Iterator[int]:
        """Let go the first of the list that fits, as long as one does."""
        while fitting := [heap[0] for count, heap in self._ready.items() if count <= idle and heap]:
            _, task = min(fitting)
            heappop(self._ready[self._counts[task]])
            idle -= self._counts[task]
            yield task
