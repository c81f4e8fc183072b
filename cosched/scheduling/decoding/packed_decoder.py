"""Decode a plan on hosts that tasks share, in plain Python.

Tasks are placed in the plan's order. Each starts as soon as enough hosts have room for it until it ends; of these it
takes those on which it leaves the least: the sum, over resources, of the share of the host that is free beside it. So
a task without need of a GPU leaves hosts with free GPUs to others, and a full host stays full.

What a host has left never falls with time, as no hole is filled. None needs to be: ordering the tasks of any feasible
schedule by their starts, each finds on its hosts what it needs when it starts there.

Where hosts come and go, each time in which one is there is a room of its own; those that end soonest are taken first.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.stairs import Stair, first_stair, free_licences
from cosched.scheduling.packing import scaled
from cosched.scheduling.schedule import Assignment, Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.decoding.stairs import FreeLicences
    from cosched.scheduling.packing import Packing
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["PackedDecoder", "Room", "first_to_end", "rooms_of"]

_INF = math.inf


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

    def free_from(self, demand: Sequence[int]) -> float:
        """Return when what a task takes is free for good; infinite where the host has less."""
        latest = -_INF
        for stair, amount in zip(self._stairs, demand, strict=True):  # most of a decoder's time goes by here
            if amount:
                place = bisect_left(stair.amounts, amount)
                if place == len(stair.amounts):
                    return _INF
                latest = max(latest, stair.times[place])
        return latest

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


def rooms_of(problem: Problem, packing: Packing) -> list[Room]:
    """Return a problem's rooms, ascending by their ends, then by host. Amounts are `packing.scaled`."""
    begins, capacity = problem.free.tolist(), packing.capacity.tolist()
    held: dict[int, list[tuple[float, tuple[int, ...]]]] = {}
    for host, until, taken in packing.held:
        held.setdefault(host, []).append((until, taken))

    def room(host: int, end: float) -> Room:
        stairs = [
            first_stair(begins[host], had, [(until, taken[number]) for until, taken in held.get(host, ())])
            for number, had in enumerate(capacity[host])
        ]
        share = [1 / had if had else 0.0 for had in capacity[host]]
        return Room(host, int(problem.host_class[host]), end, stairs, share)

    rooms = []
    for period in problem.unavailability:  # ascending
        rooms.append(room(period.host, period.begin))
        begins[period.host] = period.end
    rooms += [room(host, _INF) for host, begin in enumerate(begins) if begin < _INF]
    return sorted(rooms, key=lambda room: (room.until, room.host))


class PackedDecoder:
    """Decodes plans of a problem with `packing`."""

    def __init__(self, problem: Problem) -> None:
        assert problem.packing is not None, "hosts are shared"
        self._problem = problem
        self._packing = scaled(problem.packing)

    def decode(self, order: list[int], plan: Plan, *, in_order: bool = False) -> Schedule:
        """Return the schedule of a plan."""
        rooms, licences = rooms_of(self._problem, self._packing), free_licences(self._problem)
        starts, ends, hosts = self._place(order, plan, rooms, licences, in_order=in_order)
        return Schedule(tuple([self._named(task, plan, hosts[task], starts[task], ends[task]) for task in order]))

    def spans(self, order: list[int], plan: Plan, *, in_order: bool = False) -> tuple[list[float], list[float]]:
        """Return starts and ends by task index."""
        rooms, licences = rooms_of(self._problem, self._packing), free_licences(self._problem)
        return self._place(order, plan, rooms, licences, in_order=in_order)[:2]

    def soonest(self, order: list[int], plan: Plan, task: int) -> Assignment | None:
        """Return where one more task ends first behind the others; of equal ends its first shape."""
        packing, rooms = self._packing, rooms_of(self._problem, self._packing)
        licences = free_licences(self._problem)
        self._place(order, plan, rooms, licences)
        best, ready = (_INF, _INF, -1, [rooms[0]][:0]), float(self._problem.release[task])
        ready = ready if licences is None else max(ready, licences.free_from(task))
        for shape in range(int(packing.first[task]), int(packing.first[task + 1])):
            start, end, chosen = first_to_end(
                rooms, packing.seconds[shape].tolist(), packing.demand[shape].tolist(), int(packing.hosts[shape]), ready
            )
            if end < best[1]:
                best = (start, end, shape, chosen)
        start, end, shape, chosen = best
        return None if shape < 0 else self._assigned(task, shape, [room.host for room in chosen], start, end)

    def _named(self, task: int, plan: Plan, hosts: list[int], start: float, end: float) -> Assignment:
        return self._assigned(task, int(plan.counts[task]), hosts, start, end)

    def _assigned(self, task: int, shape: int, hosts: list[int], start: float, end: float) -> Assignment:
        problem = self._problem
        assert problem.packing is not None, "hosts are shared"
        names = tuple([problem.hosts[host] for host in sorted(hosts)])
        return Assignment(problem.tasks[task], names, start, end, tuple(problem.packing.demand[shape].tolist()))

    def _place(
        self,
        order: list[int],
        plan: Plan,
        rooms: list[Room],
        licences: FreeLicences | None,
        *,
        in_order: bool = False,
    ) -> tuple[list[float], list[float], list[list[int]]]:
        """Return `spans`, and the hosts of each task."""
        problem, packing = self._problem, self._packing
        shapes, release = plan.counts.tolist(), problem.release.tolist()
        rows = np.clip(plan.counts, 0, max(len(packing.hosts) - 1, 0))
        seconds, demand, counts = (each[rows].tolist() for each in (packing.seconds, packing.demand, packing.hosts))
        before = problem.depends_on or ((),) * len(problem.tasks)
        starts = [float("nan")] * len(problem.tasks)
        ends = list(starts)
        hosts: list[list[int]] = [[] for _ in starts]
        latest = 0.0
        for task in order:
            shape = shapes[task]
            if not packing.first[task] <= shape < packing.first[task + 1]:
                raise ValueError(f"task {problem.tasks[task]} has no shape {shape}")
            ready = max([release[task], latest, *[ends[other] for other in before[task]]])
            ready = ready if licences is None else licences.ready(task, ready)
            start, end, chosen = first_to_end(rooms, seconds[task], demand[task], counts[task], ready)
            if not chosen:
                raise ValueError(f"task {problem.tasks[task]} cannot run in its shape {shape}: no hosts have room")
            for room in chosen:
                room.take(demand[task], start, end)
            if licences is not None:
                licences.take(task, start, end)
            starts[task], ends[task], hosts[task] = start, end, [room.host for room in chosen]
            latest = start if in_order else latest
        return starts, ends, hosts


def first_to_end(
    rooms: list[Room], seconds: Sequence[float], demand: Sequence[int], count: int, ready: float
) -> tuple[float, float, list[Room]]:
    """Return start, end and rooms of the earliest end; no rooms where there is none.

    Each class is tried as the slowest one; of equal ends the quicker class's is taken.
    """
    when = [(max(room.free_from(demand), ready), room) for room in rooms]
    best: tuple[float, float, list[Room]] = (_INF, _INF, [])
    for threshold in sorted({value for value in seconds if value < _INF}):
        able = [(time, room) for time, room in when if seconds[room.host_class] <= threshold]
        start = _first_start(able, threshold, count)
        if start + threshold < best[1]:
            there = [room for time, room in able if time <= start and start + threshold <= room.until]
            there.sort(key=lambda room: (room.until, room.rest(demand, start)))
            best = (start, start + threshold, there[:count])
    return best


def _first_start(able: list[tuple[float, Room]], seconds: float, count: int) -> float:
    """Return the earliest time at which `count` rooms are free for `seconds`."""
    for start in sorted(time for time, room in able if time + seconds <= room.until)[count - 1 :]:
        if sum(time <= start and start + seconds <= room.until for time, room in able) >= count:
            return start
    return _INF
