"""Graham's list scheduling of tasks whose widths are settled: start whatever is first in the list and fits now."""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.problem import Problem

__all__ = ["list_order"]


def list_order(problem: Problem, priority: Sequence[int], counts: Sequence[int], seconds: Sequence[float]) -> list[int]:
    """Return the tasks in the order in which list scheduling starts them; decoded, they start no later.

    Whenever hosts are free, the first task of the list that is ready and fits starts: unlike the decoder's order, a
    wide task does not hold up a narrow one behind it.

    Args:
        problem: for hosts, releases and dependencies.
        priority: the list, a permutation of the task indices.
        counts: hosts of each task, by task.
        seconds: run time of each task on them, by task.
    """
    waiting = _Waiting(problem, priority, counts)
    # (time, hosts that come back, task that ends); releases are events with nothing to give back.
    events = [(free, 1, -1) for free in problem.free.tolist()]
    events += [(release, 0, -1) for release in set(problem.release.tolist())]
    heapify(events)
    order: list[int] = []
    idle = 0
    while len(order) < len(priority):
        now = events[0][0]
        while events and events[0][0] <= now:
            _, hosts, ended = heappop(events)
            idle += hosts
            waiting.end(ended)
        waiting.release(now)
        while (task := waiting.pop(idle)) is not None:
            order.append(task)
            idle -= counts[task]
            heappush(events, (now + seconds[task], counts[task], task))
    return order


class _Waiting:
    """Tasks that have not started: those ready in a heap for each width, by rank; the others aside."""

    def __init__(self, problem: Problem, priority: Sequence[int], counts: Sequence[int]) -> None:
        self._counts = counts
        self._rank = {task: rank for rank, task in enumerate(priority)}
        self._ready: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._release = problem.release.tolist()
        self._missing = {task: set(before) for task, before in enumerate(problem.depends_on)}
        self._after: defaultdict[int, list[int]] = defaultdict(list)
        for task, before in self._missing.items():
            for other in before:
                self._after[other].append(task)
        self._unreleased = [(self._release[task], task) for task in priority if not self._missing.get(task)]
        heapify(self._unreleased)

    def end(self, task: int) -> None:
        """Take note that a task has ended (-1: none): its successors may have become ready."""
        for other in self._after.get(task, ()):
            self._missing[other].discard(task)
            if not self._missing[other]:
                heappush(self._unreleased, (self._release[other], other))

    def release(self, now: float) -> None:
        """Make ready what is released by `now`."""
        while self._unreleased and self._unreleased[0][0] <= now:
            _, task = heappop(self._unreleased)
            heappush(self._ready[self._counts[task]], (self._rank[task], task))

    def pop(self, idle: int) -> int | None:
        """Take the first ready task of the list that fits on `idle` hosts, or None."""
        fitting = [heap[0] for width, heap in self._ready.items() if width <= idle and heap]
        if not fitting:
            return None
        _, task = min(fitting)
        heappop(self._ready[self._counts[task]])
        return task
