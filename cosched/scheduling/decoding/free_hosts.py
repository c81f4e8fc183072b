"""Take the hosts that become free first: identical hosts, hosts by class, hosts by name.

Taking the first n free hosts is written here, once for each representation; `decoder` picks one from the problem.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

from cosched.scheduling.host_counts import single_class

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.scheduling.problem import Problem

__all__ = ["ClassCounts", "ClassPlacement", "FreeHostsByClass", "IdenticalFreeHosts", "NamedFreeHosts"]


class IdenticalFreeHosts:
    """The times at which N hosts become free, ascending, whichever host each belongs to."""

    __slots__ = ("_ascending",)

    def __init__(self, free: Iterable[float]) -> None:
        self._ascending = sorted(free)

    @property
    def ascending(self) -> tuple[float, ...]:
        """The times."""
        return tuple(self._ascending)

    def earliest(self, count: int) -> float:
        """Return when `count` hosts are free together for the first time."""
        return self._ascending[count - 1]

    def take(self, count: int, end: float) -> None:
        """Occupy the `count` hosts that are free first until `end`."""
        ascending = self._ascending
        del ascending[:count]
        place = bisect_right(ascending, end)
        ascending[place:place] = [end] * count


_INF = float("inf")

ClassCounts = tuple[tuple[int, int], ...]
"""Classes, ascending, each with how many of its hosts, those that become free first."""


class ClassPlacement(NamedTuple):
    """Place of a task: an infinite end, on no hosts, where it cannot run.

    Attributes:
        start: in seconds.
        end: likewise.
        parts: its hosts.
    """

    start: float
    end: float
    parts: ClassCounts


_NOWHERE = ClassPlacement(_INF, _INF, ())


class FreeHostsByClass:
    """The times at which hosts become free, whichever host of its class each belongs to.

    Attributes:
        rows: by class, ascending.
    """

    __slots__ = ("_limits", "rows")

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows
        self._limits: dict[tuple[float, ...], list[tuple[float, list[int]]]] = {}  # many tasks of a queue are alike

    @classmethod
    def of(cls, problem: Problem) -> FreeHostsByClass:
        """Return the times of a problem whose hosts stay; one class where all hosts are alike."""
        if single_class(problem) is not None:
            return cls([sorted(problem.free.tolist())])
        return cls([sorted(problem.free[problem.host_class == kind].tolist()) for kind in range(len(problem.classes))])

    def first_to_end(self, seconds: tuple[float, ...], count: int, earliest: float) -> ClassPlacement:
        """Return the placement in which a task ends first; of equal ends, the fastest hosts.

        It takes the hosts that become free first.

        Of hosts that become free together, those of an earlier class come first.

        Args:
            seconds: run time on `count` hosts by the slowest class among them; infinite where that class must not be
                used.
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
                    best = ClassPlacement(start, start + slowest, self._parts(kinds, count, free[count - 1]))
        return best

    def take(self, parts: ClassCounts, end: float) -> None:
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

    def _parts(self, kinds: list[int], count: int, last: float) -> ClassCounts:
        """Return how many hosts of each class become free first, given the last one's time."""
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


_LAST = float("inf")


class NamedFreeHosts:
    """The hosts of a problem whose hosts stay, each with its free time."""

    __slots__ = ("_rows",)

    def __init__(self, problem: Problem, *, alike: bool) -> None:
        """Begin with all hosts; where they are `alike`, all are of class 0."""
        classes = [0] * len(problem.hosts) if alike else problem.host_class.tolist()
        self._rows: list[list[tuple[float, int]]] = [[] for _ in range(max(classes) + 1)]
        for kind, *entry in sorted(zip(classes, problem.free.tolist(), range(len(classes)), strict=True)):
            self._rows[kind].append((entry[0], entry[1]))

    def take(self, parts: ClassCounts, end: float) -> list[int]:
        """Occupy the hosts that become free first until an end; return their indices, ascending.

        Of hosts that become free together, those with smaller indices are taken.
        """
        taken: list[int] = []
        for kind, count in parts:
            row = self._rows[kind]
            hosts = sorted([host for _, host in row[:count]])
            del row[:count]
            place = bisect_left(row, (end, -1))
            tied = bisect_left(row, (end, _LAST), place)
            row[place:tied] = sorted(row[place:tied] + [(end, host) for host in hosts])
            taken += hosts
        return sorted(taken)
