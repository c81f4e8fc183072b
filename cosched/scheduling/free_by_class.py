"""When hosts of several classes become free, a sorted list for each class, and on which of them a task ends first."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

from cosched.scheduling.widths import single_class

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

__all__ = ["FreeByClass", "Parts", "Place"]

_INF = float("inf")

Parts = tuple[tuple[int, int], ...]
"""Classes, ascending, each with how many of its hosts, those that become free first."""


class Place(NamedTuple):
    """Where a task runs; an infinite end, on no hosts, where it cannot.

    Attributes:
        start: in seconds.
        end: likewise.
        parts: its hosts.
    """

    start: float
    end: float
    parts: Parts


_NOWHERE = Place(_INF, _INF, ())


class FreeByClass:
    """The times at which hosts become free, whichever host of its class each belongs to.

    Attributes:
        rows: by class, ascending.
    """

    __slots__ = ("_limits", "rows")

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows
        self._limits: dict[tuple[float, ...], list[tuple[float, list[int]]]] = {}  # many tasks of a queue are alike

    @classmethod
    def of(cls, problem: Problem) -> FreeByClass:
        """Return the times of a problem without absences; one class where all hosts are alike."""
        if single_class(problem) is not None:
            return cls([sorted(problem.free.tolist())])
        return cls([sorted(problem.free[problem.host_class == kind].tolist()) for kind in range(len(problem.classes))])

    def first_to_end(self, seconds: tuple[float, ...], count: int, earliest: float) -> Place:
        """Return where a task ends first (ties: on faster hosts), on the hosts that become free first.

        Of hosts that become free together, those of an earlier class come first.

        Args:
            seconds: run time on `count` hosts by the slowest class among them, infinite where that is not to be.
            count: number of hosts.
            earliest: time that it may not start before.
        """
        if count < 1:
            return _NOWHERE
        rows, best = self.rows, _NOWHERE
        soonest = max(earliest, min([row[0] for row in rows if row]))
        for slowest, kinds in self._limits.get(seconds) or self._limited(seconds):
            if soonest + slowest >= best.end:
                break
            free = rows[kinds[0]][:count]
            if len(kinds) > 1:
                for kind in kinds[1:]:
                    free += rows[kind][:count]
                free.sort()
            if len(free) >= count:
                start = max(free[count - 1], earliest)
                if start + slowest < best.end:
                    best = Place(start, start + slowest, self._parts(kinds, count, free[count - 1]))
        return best

    def take(self, parts: Parts, end: float) -> None:
        """Occupy hosts until an end."""
        for kind, count in parts:
            row = self.rows[kind]
            del row[:count]
            place = bisect_right(row, end)
            row[place:place] = (end,) * count

    def _limited(self, seconds: tuple[float, ...]) -> list[tuple[float, list[int]]]:
        """Return a task's run times, ascending, each with the classes that are no slower."""
        kinds = [kind for kind, row in enumerate(self.rows) if row]
        found = [
            (limit, [kind for kind in kinds if seconds[kind] <= limit])
            for limit in sorted({seconds[kind] for kind in kinds} - {_INF})
        ]
        self._limits[seconds] = found
        return found

    def _parts(self, kinds: list[int], count: int, last: float) -> Parts:
        """Return how many hosts of which classes become free first, the last of them at a known time."""
        if len(kinds) == 1:
            return ((kinds[0], count),)
        sooner = [bisect_left(self.rows[kind], last) for kind in kinds]
        left, parts = count - sum(sooner), []
        for kind, of_class in zip(kinds, sooner, strict=True):
            tied = min(left, bisect_right(self.rows[kind], last, of_class) - of_class) if left else 0
            left -= tied
            if of_class + tied:
                parts.append((kind, of_class + tied))
        return tuple(parts)
