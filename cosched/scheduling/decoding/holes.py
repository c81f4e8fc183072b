"""Idle hosts over time as maximal holes (t_b, t_e, m).

During one, m hosts are idle from t_b until t_e.

The bookkeeping of the greedy heuristic for tunable tasks (Chang, Karamcheti, Kedem: "Exploiting Application Tunability
for Efficient, Predictable Parallel Resource Management", section 5.2). Holes overlap: each is a rectangle under the
staircase of idle hosts. Which hosts a task takes is settled when it starts; that there are enough is all that counts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Hole", "Holes"]

_INF = float("inf")


class Hole(NamedTuple):
    """`hosts` hosts are idle from `begin` until `end` (seconds, infinite for ever)."""

    begin: float
    end: float
    hosts: int


class Holes:
    """The maximal holes of a number of identical hosts."""

    def __init__(self, free: Sequence[float]) -> None:
        """Build the holes of hosts that are idle from given times on.

        Args:
            free: when each host becomes free, seconds; at least one.
        """
        ascending = sorted(free)
        self._when = sorted(set(free))
        self._idle = [bisect_right(ascending, when) for when in self._when]
        self._maximal: list[Hole] | None = None  # found when they are asked for: a chain takes many places at once

    @property
    def maximal(self) -> list[Hole]:
        """The holes, by beginning, then by end."""
        if self._maximal is None:
            self._maximal = _maximal(self._when, self._idle)
        return self._maximal

    def earliest(self, hosts: int, seconds: float, ready: float) -> float:
        """Return the earliest time from `ready` when enough hosts are idle for `seconds`.

        Returns:
            Seconds; infinite where there never are that many.
        """
        best = _INF
        for begin, end, idle in self.maximal:
            if begin >= best:
                break  # no later hole lets it start earlier
            start = begin if begin > ready else ready
            if idle >= hosts and start < best and start + seconds <= end:
                best = start
        return best

    def take(self, hosts: int, begin: float, end: float) -> None:
        """Occupy hosts from `begin` until `end`, which must be later.

        So many hosts must be idle throughout.
        """
        first, last = self._split(begin), self._split(end)
        for step in range(first, last):
            self._idle[step] -= hosts
        self._join(first, last)
        self._maximal = None

    def forget(self, before: float) -> None:
        """Cut off what lies before a time: nothing will be asked of it any more."""
        step = bisect_right(self._when, before) - 1
        if step < 0:
            return
        del self._when[:step]
        del self._idle[:step]
        self._when[0] = before
        self._maximal = None

    def _split(self, when: float) -> int:
        """Return the index of the step that begins at `when`, inserting one where needed."""
        step = bisect_left(self._when, when)
        if step == len(self._when) or self._when[step] != when:
            self._when.insert(step, when)
            self._idle.insert(step, self._idle[step - 1])
        return step

    def _join(self, first: int, last: int) -> None:
        """Take steps out that do not change the number of idle hosts."""
        for step in (last, first):
            if step > 0 and self._idle[step] == self._idle[step - 1]:
                del self._when[step]
                del self._idle[step]


def _maximal(when: Sequence[float], idle: Sequence[int]) -> list[Hole]:
    """Return the maximal rectangles under a staircase of idle hosts."""
    found: list[Hole] = []
    rising: list[tuple[float, int]] = []  # holes that are still open: beginning and hosts, both ascending
    for time, hosts in zip(when, idle, strict=True):
        begin = time
        while rising and rising[-1][1] > hosts:
            begin, wider = rising.pop()
            found.append(Hole(begin, time, wider))
        if hosts and (not rising or rising[-1][1] < hosts):
            rising.append((begin, hosts))
    found += [Hole(begin, _INF, hosts) for begin, hosts in rising]
    found.sort()
    return found
