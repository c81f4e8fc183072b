"""Insert new tasks into the plan by their deadlines until the search improves it."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import compress
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

__all__ = ["DeadlineOrder"]

_Task = TypeVar("_Task")


class DeadlineOrder(Generic[_Task]):
    """Waiting tasks as planned; a new one goes behind all that are due no later.

    Thousands may come or go together: neither an insertion nor a removal looks at every task.
    """

    def __init__(self, deadlines: Mapping[_Task, float]) -> None:
        """Take the tasks in planned order, each with its deadline, infinite for none."""
        self._deadlines = dict(deadlines)
        self._order = list(deadlines)
        self._removed: set[_Task] = set()  # tasks that are still in the order
        # For each place a time before which nothing is due from there on. These times never fall, so that a place is
        # found by bisection. A removal leaves some of them too early: `_place` corrects those that it meets.
        dues = np.fromiter(reversed(self._deadlines.values()), np.float64, len(self._order))
        self._earliest: list[float] = np.minimum.accumulate(dues)[::-1].tolist()

    def tasks(self) -> tuple[_Task, ...]:
        """Return the tasks in planned order."""
        self._drop_removed()
        return tuple(self._order)

    def reordered(self, tasks: Iterable[_Task]) -> DeadlineOrder[_Task]:
        """Return the same tasks in another order."""
        return DeadlineOrder({task: self._deadlines[task] for task in tasks})

    def extended(self, deadlines: Mapping[_Task, float]) -> DeadlineOrder[_Task]:
        """Return these tasks with more behind them, each with its deadline."""
        return DeadlineOrder({task: self._deadlines[task] for task in self.tasks()} | dict(deadlines))

    def overtaken_by(self, deadline: float, after: Collection[_Task] = ()) -> int:
        """Return how many tasks a new one with this deadline and these predecessors would overtake."""
        self._drop_removed()
        return len(self._order) - self._place(deadline, after)

    def insert(self, task: _Task, deadline: float, after: Collection[_Task] = ()) -> None:
        """Insert a new task behind all that are due no later, and behind its predecessors."""
        if task in self._removed:
            self._drop_removed()
        place = self._place(deadline, after)
        self._deadlines[task] = deadline
        self._order.insert(place, task)
        self._earliest.insert(place, deadline)
        while place and self._earliest[place - 1] > deadline:
            place -= 1
            self._earliest[place] = deadline

    def insert_first(self, task: _Task, deadline: float) -> None:
        """Put a new task before all others."""
        if task in self._removed:
            self._drop_removed()
        self._deadlines[task] = deadline
        self._order.insert(0, task)
        self._earliest.insert(0, min([deadline, *self._earliest[:1]]))

    def remove(self, task: _Task) -> None:
        """Take a task out."""
        del self._deadlines[task]
        self._removed.add(task)

    def _drop_removed(self) -> None:
        if self._removed:
            kept = [task not in self._removed for task in self._order]
            self._order = list(compress(self._order, kept))
            self._earliest = list(compress(self._earliest, kept))
            self._removed = set()

    def _place(self, deadline: float, after: Collection[_Task]) -> int:
        place = bisect_right(self._earliest, deadline)
        while place and self._due(place - 1) > deadline:
            self._correct(place - 1)
            place = bisect_right(self._earliest, deadline, hi=place - 1)
        if after:
            ahead = self._deadlines.keys() & after
            last = range(len(self._order) - 1, place - 1, -1) if ahead else ()
            return next((other + 1 for other in last if self._order[other] in ahead), place)
        return place

    def _correct(self, place: int) -> None:
        """Correct the earliest deadlines from a place backwards, as far as they change."""
        earliest = min(self._earliest[place + 1 : place + 2], default=math.inf)
        while place >= 0:
            earliest = min(earliest, self._due(place))
            if earliest == self._earliest[place]:
                break
            self._earliest[place] = earliest
            place -= 1

    def _due(self, place: int) -> float:
        return self._deadlines.get(self._order[place], math.inf)
