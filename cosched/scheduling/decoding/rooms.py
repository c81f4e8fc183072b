"""Rooms of hosts that tasks share: what is left of each, and where a task ends first.

Start at `Rooms`. A task looks at all hosts and takes of one or two: so the look goes over arrays, the taking over the
stairs of the rooms that are taken of.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.stairs import Stair, first_stairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.packing import Packing
    from cosched.scheduling.problem import Problem

__all__ = ["Room", "Rooms", "rooms_of"]

_INF = math.inf
_MORE = np.iinfo(np.int64).max  # more than anybody asks for
_SPARE = 8  # columns of a table that are empty at first: a stair grows with each task that is placed


class Room:
    """A time in which a host is there, and what is left of it.

    Attributes:
        host: index of the host.
        until: when the host goes, infinite where it stays.
    """

    __slots__ = ("_share", "_stairs", "host", "host_class", "until")

    def __init__(self, host: int, host_class: int, until: float, stairs: list[Stair], share: list[float]) -> None:
        self.host, self.host_class, self.until = host, host_class, until
        self._stairs, self._share = stairs, share

    def rest(self, demand: Sequence[int], start: float) -> float:
        """Return what a task would leave of the host when it starts."""
        rest = 0.0
        for stair, amount, share in zip(self._stairs, demand, self._share, strict=True):
            rest += (stair.at(start) - amount) * share
        return rest

    def take(self, demand: Sequence[int], start: float, end: float) -> None:
        """Take what is free from the start on."""
        for stair, amount in zip(self._stairs, demand, strict=True):
            stair.take(amount, start, end)

    def at(self, time: float) -> list[int]:
        """Return what is free for good from a time on, of each resource."""
        return [stair.at(time) for stair in self._stairs]

    def times(self) -> list[float]:
        """Return the times at which more of some resource becomes free for good."""
        return [time for stair in self._stairs for time in stair.times]

    def steps(self, resource: int) -> tuple[list[float], list[int]]:
        """Return times and amounts of one resource, both ascending."""
        return self._stairs[resource].times, self._stairs[resource].amounts


class Rooms:
    """All rooms of a problem, ascending by their ends, then by host.

    Attributes:
        all: the rooms; whoever takes of one tells `take`.
        until: (rooms,) when each host goes.
    """

    def __init__(self, rooms: list[Room], resources: int) -> None:
        self.all = rooms
        self.until = np.array([room.until for room in rooms], dtype=np.float64)
        self._stay = bool((self.until == _INF).all())
        self._host_class = np.array([room.host_class for room in rooms], dtype=np.int64)
        self._tables = [_StairTable([room.steps(resource) for room in rooms]) for resource in range(resources)]

    def free_from(self, demand: Sequence[int]) -> NDArray[np.float64]:
        """Return (rooms,): when what a task takes is free for good; infinite where the host has less."""
        latest = np.full(len(self.all), -_INF)
        for table, amount in zip(self._tables, demand, strict=True):
            if amount:
                np.maximum(latest, table.free_from(amount), out=latest)
        return latest

    def first_to_end(
        self, seconds: Sequence[float], demand: Sequence[int], count: int, ready: float
    ) -> tuple[float, float, list[int]]:
        """Return start, end and indices of the rooms of the earliest end; no rooms where there is none.

        Each class is tried as the slowest one; of equal ends the quicker class's is taken.
        """
        when = np.maximum(self.free_from(demand), ready)
        best: tuple[float, float, list[int]] = (_INF, _INF, [])
        thresholds = sorted({value for value in seconds if value < _INF})
        for threshold in thresholds:
            able = when
            if len(seconds) > 1:
                able = np.where(np.array(seconds)[self._host_class] <= threshold, when, _INF)
            start = self._first_start(able, threshold, count)
            if start + threshold < best[1]:
                there = self._free(able, start, threshold)
                best = (start, start + threshold, self._tightest(there, demand, start, count))
        return best

    def take(self, chosen: Iterable[int], demand: Sequence[int], start: float, end: float) -> None:
        """Take of some rooms what is free from the start on."""
        for room in chosen:
            self.all[room].take(demand, start, end)
            for resource, amount in enumerate(demand):
                if amount:
                    self._tables[resource].put(room, *self.all[room].steps(resource))

    def _first_start(self, able: NDArray[np.float64], seconds: float, count: int) -> float:
        """Return the earliest time at which `count` rooms are free for `seconds`."""
        if count > len(able):
            return _INF
        if self._stay:
            return float(np.partition(able, count - 1)[count - 1])
        for start in sorted(able[able + seconds <= self.until].tolist())[count - 1 :]:
            if len(self._free(able, start, seconds)) >= count:
                return float(start)
        return _INF

    def _free(self, able: NDArray[np.float64], start: float, seconds: float) -> list[int]:
        """Return the rooms that are free from a time on for `seconds`."""
        free = able <= start
        if not self._stay:
            free &= start + seconds <= self.until
        found: list[int] = np.flatnonzero(free).tolist()
        return found

    def _tightest(self, there: list[int], demand: Sequence[int], start: float, count: int) -> list[int]:
        """Return `count` of these rooms: those that go soonest, of these those on which least is left."""
        if len(there) == count:
            return there
        rooms = self.all
        there.sort(key=lambda room: (rooms[room].until, rooms[room].rest(demand, start)))
        return there[:count]


class _StairTable:
    """The stairs of one resource in all rooms, side by side."""

    def __init__(self, stairs: list[tuple[list[float], list[int]]]) -> None:
        columns = max((len(times) for times, _ in stairs), default=0) + _SPARE
        self._amounts = np.full((len(stairs), columns), _MORE, dtype=np.int64)
        self._times = np.full((len(stairs), columns), _INF)
        self._begin = columns * np.arange(len(stairs))
        steps = np.array([len(times) for times, _ in stairs], dtype=np.int64)
        there = np.arange(columns) < steps[:, np.newaxis]
        self._amounts[there] = [amount for _, amounts in stairs for amount in amounts]
        self._times[there] = [time for times, _ in stairs for time in times]

    def free_from(self, amount: int) -> NDArray[np.float64]:
        """Return (rooms,): when so much is free for good; infinite where there is less."""
        found: NDArray[np.float64] = self._times.take(self._begin + (self._amounts >= amount).argmax(axis=1))
        return found

    def put(self, room: int, times: list[float], amounts: list[int]) -> None:
        """Take over a room's stair."""
        steps = len(times)
        if steps >= self._amounts.shape[1]:
            more = (len(self._amounts), steps)
            self._amounts = np.concatenate((self._amounts, np.full(more, _MORE)), axis=1)
            self._times = np.concatenate((self._times, np.full(more, _INF)), axis=1)
            self._begin = self._amounts.shape[1] * np.arange(len(self._amounts))
        self._amounts[room, :steps], self._amounts[room, steps:] = amounts, _MORE
        self._times[room, :steps], self._times[room, steps:] = times, _INF


def rooms_of(problem: Problem, packing: Packing) -> Rooms:
    """Return a problem's rooms. Amounts are `packing.scaled`."""
    begins, capacity, classes = problem.free.tolist(), packing.capacity.tolist(), problem.host_class.tolist()
    held: dict[int, list[tuple[float, tuple[int, ...]]]] = {}
    for host, until, taken in packing.held:
        held.setdefault(host, []).append((until, taken))
    for each in held.values():
        each.sort()

    def room(host: int, end: float) -> Room:
        had = capacity[host]
        share = [1 / amount if amount else 0.0 for amount in had]
        return Room(host, classes[host], end, first_stairs(begins[host], had, held.get(host, ())), share)

    rooms = []
    for period in problem.unavailability:  # ascending
        rooms.append(room(period.host, period.begin))
        begins[period.host] = period.end
    rooms += [room(host, _INF) for host, begin in enumerate(begins) if begin < _INF]
    return Rooms(sorted(rooms, key=lambda room: (room.until, room.host)), len(packing.resources))
