"""Progress of a Dask computation, and the number of hosts that it can use, from its scheduler's records.

Start at `Figures.of`. Workers tell the scheduler how long each task has computed; what is left is what Dask knows of,
by the mean time of tasks of its kind.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Scheduler

__all__ = ["Figures", "SteadyWish"]

_UNKNOWN = 0.5  # seconds of a task of a kind of which none has ended, where no other kind has, either; as Dask assumes
_COMING = ("waiting", "queued", "processing", "no-worker")  # states of tasks that are still to be computed
_READY = ("queued", "processing", "no-worker")  # of those that could be computed now


@dataclass(frozen=True, slots=True)
class Figures:
    """Progress of a computation, and its tasks that are ready.

    Attributes:
        done: seconds that all its workers have computed.
        left: seconds that they will still compute, for what is known.
        ready: tasks that could be computed now, those under way among them.
    """

    done: float
    left: float
    ready: int

    @classmethod
    def of(cls, scheduler: Scheduler) -> Figures:
        """Return the figures of a scheduler's computation as it is now."""
        prefixes = scheduler.task_prefixes.values()
        done = sum(each.all_durations["compute"] for each in prefixes)
        known = [each.duration_average for each in prefixes if each.duration_average >= 0]
        typical = sum(known) / len(known) if known else _UNKNOWN
        left, ready = 0.0, 0
        for group in scheduler.task_groups.values():
            mean = group.prefix.duration_average if group.prefix.duration_average >= 0 else typical
            left += mean * sum(group.states[state] for state in _COMING)
            ready += sum(group.states[state] for state in _READY)
        return cls(done, left, ready)

    def useful_hosts(self, threads: int) -> int:
        """Return the number of hosts, of so many threads each, that the ready tasks can keep busy."""
        return max(math.ceil(self.ready / threads), 1)


class SteadyWish:
    """A wish for hosts that grows at once and falls only after a while: between two stages there is little to do."""

    def __init__(self, seconds: float) -> None:
        """Set up.

        Args:
            seconds: for which the largest number is still wished for.
        """
        self._seconds = seconds
        self._past: deque[tuple[float, int]] = deque()

    def now(self, hosts: int, time: float) -> int:
        """Return the wish where there is a use for so many hosts now.

        Args:
            hosts: from 1.
            time: seconds on a clock that never runs backwards.
        """
        self._past.append((time, hosts))
        while self._past[0][0] < time - self._seconds:
            self._past.popleft()
        return max(each for _, each in self._past)
