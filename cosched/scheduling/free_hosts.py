"""When hosts become free and which, those of each class apart: all that placing a task on named hosts needs to know."""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from cosched.scheduling.widths import single_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.problem import Problem

__all__ = ["FreeHosts", "Place"]

_INF = float("inf")

_Entry = tuple[float, int, int]  # when a host becomes free, its class, its index
_Way = tuple[float, list[list[_Entry]]]  # a run time, and the hosts of each class that is no slower


class Place(NamedTuple):
    """Where a task would run: start and end in seconds, and the entries of its hosts, those that are free first ahead.

    Where it can run nowhere, it never ends, on no host.
    """

    start: float
    end: float
    entries: Sequence[_Entry]


_NOWHERE = Place(_INF, _INF, ())


class FreeHosts:
    """The hosts of a problem without absences, each with the time at which it becomes free.

    Hosts that are alike in all but the name of their class count as of one class, 0.
    """

    __slots__ = ("_rows", "_ways")

    def __init__(self, problem: Problem) -> None:
        alike = single_class(problem) is not None
        classes = [0] * len(problem.hosts) if alike else problem.host_class.tolist()
        self._rows: list[list[_Entry]] = [[] for _ in range(max(classes) + 1)]
        for entry in sorted(zip(problem.free.tolist(), classes, range(len(classes)), strict=True)):
            self._rows[entry[1]].append(entry)
        self._ways: dict[tuple[float, ...], list[_Way]] = {}  # many tasks of a queue are alike

    def first_to_end(self, seconds: tuple[float, ...], count: int, earliest: float) -> Place:
        """Return where a task ends first (ties: on faster hosts), on the hosts that become free first.

        Args:
            seconds: run time on `count` hosts by the slowest class among them, infinite where that is not to be.
            count: number of hosts.
            earliest: time that it may not start before.
        """
        best = _NOWHERE
        for slowest, rows in self._ways.get(seconds) or self._sorted(seconds):
            entries = rows[0][:count]
            if len(rows) > 1:
                entries = sorted(chain(entries, *[row[:count] for row in rows[1:]]))[:count]
            if 0 < count == len(entries):
                start = entries[-1][0]
                if start < earliest:
                    start = earliest
                if start + slowest < best[1]:
                    best = Place(start, start + slowest, entries)
        return best

    def _sorted(self, seconds: tuple[float, ...]) -> list[_Way]:
        """Return a task's run times, the fastest first, each with the hosts that are no slower."""
        each = list(zip(seconds, self._rows, strict=False))
        ways = [(slowest, [row for time, row in each if time <= slowest])
                for slowest in sorted({time for time, row in each if row and time < _INF})]  # fmt: skip
        self._ways[seconds] = ways
        return ways

    def take(self, place: Place) -> list[int]:
        """Occupy the hosts of a place until its end; return them, ascending."""
        end = place.end
        taken: dict[int, list[_Entry]] = {}
        for _, kind, host in place.entries:
            taken.setdefault(kind, []).append((end, kind, host))
        for kind, entries in taken.items():
            row = self._rows[kind]
            del row[: len(entries)]  # of each class they are those that are free first
            begin = bisect_left(row, (end,))
            tied = bisect_left(row, (end, kind + 1), begin)
            row[begin:tied] = sorted(row[begin:tied] + entries)
        return sorted([host for _, _, host in place.entries])
