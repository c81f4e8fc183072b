"""Places that are bad for a program by what its lead measures, hosts or clusters; it leaves them and keeps away.

Start at `BadPlaces.note`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.elastic.values import BadPlacesRecord

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

__all__ = ["BadPlaces"]

_PROVED = 5.0  # seconds for which a place is bad in each report before it counts, at least
_AVOIDED = 600.0  # seconds for which a program keeps away from a place that it left, the first time
_MOST_DOUBLINGS = 10  # of these


class BadPlaces:
    """Keeps which places are bad for each running elastic task, and which ones it keeps away from.

    Attributes:
        records: by the name of the task.
    """

    def __init__(self) -> None:
        self.records: dict[str, BadPlacesRecord] = {}

    def note(self, task: str, parts: Mapping[str, float], time: float) -> None:
        """Take which places a report shows to be bad, and how bad; all others are good.

        Args:
            task: its name.
            parts: by place.
            time: now, epoch seconds.
        """
        record = self.records.get(task, BadPlacesRecord())
        since = {place: record.since.get(place, time) for place in parts}
        self.records[task] = replace(record, time=time, parts=dict(parts), since=since)

    def proved(self, task: str, settle: float) -> dict[str, float]:
        """Return how bad each place is that has been bad in each report for a while.

        Args:
            task: its name.
            settle: seconds for which it must have been, five at least.
        """
        if (record := self.records.get(task)) is None:
            return {}
        proved = record.time - max(settle, _PROVED)
        return {place: part for place, part in record.parts.items() if record.since[place] <= proved}

    def now(self, task: str) -> Mapping[str, float]:
        """Return how bad each place is by the last report."""
        record = self.records.get(task)
        return {} if record is None else record.parts

    def leave(self, task: str, place: str, time: float) -> None:
        """Have a task keep away from a bad place: ten minutes, and twice as long each time after."""
        record = self.records[task]
        times = {**record.times, place: record.times.get(place, 0) + 1}
        seconds = _AVOIDED * 2.0 ** min(times[place] - 1, _MOST_DOUBLINGS)
        self.records[task] = replace(record, times=times, avoided={**record.avoided, place: time + seconds})

    def avoided(self, task: str, time: float) -> dict[str, float]:
        """Return for how many seconds more a task keeps away from which places."""
        record = self.records.get(task)
        return {} if record is None else {each: until - time for each, until in record.avoided.items() if time < until}

    def keep(self, tasks: Container[str]) -> None:
        """Forget all tasks but these."""
        self.records = {name: record for name, record in self.records.items() if name in tasks}
