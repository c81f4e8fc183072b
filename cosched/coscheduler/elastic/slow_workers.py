"""Workers that compute much slower than the others of their program, as its lead measures them.

A host's load is no matter here: a slow disk, a bad link or a processor that others use show alike in what a program
gets done. After Wrzesinska, Maassen and Bal, "Self-adaptive applications on the Grid", section 3.3, in which workers
with the largest badness leave, 1/speed for hosts of one cluster. Start at `SlowWorkers.report`.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from cosched.coscheduler.elastic.bad_places import BadPlaces

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SlowWorkers"]

_SLOW = 0.5  # of the usual speed: what computes less is slow
_FEWEST = 3  # workers of which one can be usual


class SlowWorkers(BadPlaces):
    """Keeps the hosts on which workers are slow: which part of the usual speed each has."""

    def report(self, task: str, speeds: Mapping[str, float], time: float) -> None:
        """Take the speeds of a task's workers.

        Args:
            task: its name.
            speeds: that of the worker on each host, the lead's own among them, above 0; only ratios count.
            time: now, epoch seconds.
        """
        usual = median(speeds.values()) if len(speeds) >= _FEWEST else 0.0
        self.note(task, {host: speed / usual for host, speed in speeds.items() if speed < _SLOW * usual}, time)
