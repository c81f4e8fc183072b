"""Workers that compute much slower than the others of their program, as its lead measures them.

A host's load is no matter here: a slow disk, a bad link or a processor that others use show alike in what a program
gets done. After Wrzesinska, Maassen and Bal, "Self-adaptive applications on the Grid", section 3.3, in which workers
with the largest badness leave, 1/speed for hosts of one cluster. Start at `SlowWorkers.report`.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from cosched.coscheduler.elastic.values import SpeedRecord

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

__all__ = ["SlowWorkers"]

_SLOW = 0.5  # of the usual speed: what computes less is slow
_FEWEST = 3  # workers of which one can be usual
_PROVED = 5.0  # seconds for which a worker is slow in each report before it counts, at least
_AVOIDED = 600.0  # seconds for which a program keeps away from a host that it left, the first time
_MOST_DOUBLINGS = 10  # of these


class SlowWorkers:
    """Keeps which workers of each running elastic task are slow, and which hosts it keeps away from.

    Attributes:
        records: by the name of the task.
    """

    def __init__(self) -> None:
        self.records: dict[str, SpeedRecord] = {}

    def report(self, task: str, speeds: Mapping[str, float], time: float) -> None:
        """Take the speeds of a task's workers.

        Args:
            task: its name.
            speeds: that of the worker on each host, the lead's own among them, above 0; only ratios count.
            time: now, epoch seconds.
        """
        record = self.records.get(task, SpeedRecord())
        usual = median(speeds.values()) if len(speeds) >= _FEWEST else 0.0
        parts = {host: speed / usual for host, speed in speeds.items() if speed < _SLOW * usual}
        since = {host: record.since.get(host, time) for host in parts}
        self.records[task] = replace(record, time=time, parts=parts, since=since)

    def slow(self, task: str, settle: float) -> dict[str, float]:
        """Return which part of the usual speed each slow worker of a task has, by its host.

        Args:
            task: its name.
            settle: seconds for which a worker must have been slow in each report.
        """
        if (record := self.records.get(task)) is None:
            return {}
        proved = record.time - max(settle, _PROVED)
        return {host: part for host, part in record.parts.items() if record.since[host] <= proved}

    def leave(self, task: str, host: str, time: float) -> None:
        """Have a task keep away from the host of a slow worker: ten minutes, and twice as long each time after."""
        record = self.records[task]
        times = {**record.times, host: record.times.get(host, 0) + 1}
        seconds = _AVOIDED * 2.0 ** min(times[host] - 1, _MOST_DOUBLINGS)
        self.records[task] = replace(record, times=times, avoided={**record.avoided, host: time + seconds})

    def avoided(self, task: str, time: float) -> set[str]:
        """Return the hosts that a task keeps away from."""
        record = self.records.get(task)
        return set() if record is None else {host for host, until in record.avoided.items() if time < until}

    def keep(self, tasks: Container[str]) -> None:
        """Forget all tasks but these."""
        self.records = {name: record for name, record in self.records.items() if name in tasks}
