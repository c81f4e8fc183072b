"""Workers that fail soon after their start, or do not begin, are followed by others ever more rarely.

Start at `Setbacks.note`. A worker that fails after it has worked for a while is replaced at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.elastic.values import SetbackRecord
from cosched.coscheduler.elastic.workers import what_became_of

if TYPE_CHECKING:
    from collections.abc import Container

    from cosched.coscheduler.attempts.attempt import Attempt

__all__ = ["Setbacks"]

_SHORTEST = 1.0  # second that a worker must have worked at least: else no pause would come of a `settle` of 0
_LONGEST_PAUSE = 600.0  # seconds before another worker is tried
_MOST_DOUBLINGS = 20  # of the pause, which is the longest long before


class Setbacks:
    """Keeps the setbacks of each elastic task that runs.

    Attributes:
        records: by the name of the task; none where its last worker that failed had worked for a while.
    """

    def __init__(self) -> None:
        self.records: dict[str, SetbackRecord] = {}

    def note(self, worker: Attempt, settle: float, time: float) -> None:
        """Take a worker that has failed unasked.

        Args:
            worker: of a task whose lead runs.
            settle: seconds that a worker must have worked for its end to be no setback, a second at least; the first
                pause is twice that.
            time: now, epoch seconds.
        """
        lived, settle = time - (worker.started or time), max(settle, _SHORTEST)
        if lived >= settle:
            self.records.pop(worker.task, None)
            return
        before = self.records.get(worker.task)
        count = 1 if before is None else before.count + 1
        pause = min(settle * 2.0 ** min(count, _MOST_DOUBLINGS), _LONGEST_PAUSE)
        until = max(time + pause, 0.0 if before is None else before.until)
        self.records[worker.task] = SetbackRecord(count, until, what_became_of(worker))

    def pauses(self, task: str, time: float) -> bool:
        """Return whether no other worker of a task is to be tried yet."""
        record = self.records.get(task)
        return record is not None and time < record.until

    def keep(self, tasks: Container[str]) -> None:
        """Forget all tasks but these."""
        self.records = {name: record for name, record in self.records.items() if name in tasks}
