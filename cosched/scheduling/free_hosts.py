"""Which hosts become free first, those of each class apart: names for a schedule whose times are known."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.scheduling.free_by_class import Parts
    from cosched.scheduling.problem import Problem

__all__ = ["FreeHosts"]

_INF = float("inf")


class FreeHosts:
    """The hosts of a problem without absences, each with the time at which it becomes free."""

    __slots__ = ("_rows",)

    def __init__(self, problem: Problem, *, alike: bool) -> None:
        """Begin with all hosts; where they are `alike`, all are of class 0."""
        classes = [0] * len(problem.hosts) if alike else problem.host_class.tolist()
        self._rows: list[list[tuple[float, int]]] = [[] for _ in range(max(classes) + 1)]
        for kind, *entry in sorted(zip(classes, problem.free.tolist(), range(len(classes)), strict=True)):
            self._rows[kind].append((entry[0], entry[1]))

    def take(self, parts: Parts, end: float) -> list[int]:
        """Occupy the hosts that become free first (ties: by index) until an end; return their indices, ascending."""
        taken: list[int] = []
        for kind, count in parts:
            row = self._rows[kind]
            hosts = sorted([host for _, host in row[:count]])
            del row[:count]
            place = bisect_left(row, (end, -1))
            tied = bisect_left(row, (end, _INF), place)
            row[place:tied] = sorted(row[place:tied] + [(end, host) for host in hosts])
            taken += hosts
        return sorted(taken)
