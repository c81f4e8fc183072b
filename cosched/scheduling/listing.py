"""Graham's list scheduling of tasks whose widths are settled: start whatever is first in the list and fits now."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from cosched.scheduling.starting import starting_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosched.scheduling.problem import Problem
    from cosched.scheduling.starting import Working

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
    return starting_order(problem, counts, seconds, _ByRank(priority, counts))


class _ByRank:
    """Tasks that are ready, in a heap for each width, by their rank in a list."""

    def __init__(self, priority: Sequence[int], counts: Sequence[int]) -> None:
        self._counts = counts
        self._rank = {task: rank for rank, task in enumerate(priority)}
        self._ready: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)

    def join(self, task: int) -> None:
        heappush(self._ready[self._counts[task]], (self._rank[task], task))

    def leave(self, _now: float, idle: int, _working: Sequence[Working]) -> Iterator[int]:
        """Let go the first of the list that fits, as long as one does."""
        while fitting := [heap[0] for width, heap in self._ready.items() if width <= idle and heap]:
            _, task = min(fitting)
            heappop(self._ready[self._counts[task]])
            idle -= self._counts[task]
            yield task
