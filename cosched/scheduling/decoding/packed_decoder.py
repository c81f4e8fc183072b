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
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.rooms import rooms_of
from cosched.scheduling.decoding.stairs import free_licences
from cosched.scheduling.packing import scaled
from cosched.scheduling.schedule import Assignment, Schedule

if TYPE_CHECKING:
    from cosched.scheduling.decoding.rooms import Rooms
    from cosched.scheduling.decoding.stairs import FreeLicences
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["PackedDecoder"]

_INF = math.inf


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
        best, ready = (_INF, _INF, -1, list[int]()), float(self._problem.release[task])
        ready = ready if licences is None else max(ready, licences.free_from(task))
        for shape in range(int(packing.first[task]), int(packing.first[task + 1])):
            start, end, chosen = rooms.first_to_end(
                packing.seconds[shape].tolist(), packing.demand[shape].tolist(), int(packing.hosts[shape]), ready
            )
            if end < best[1]:
                best = (start, end, shape, chosen)
        start, end, shape, chosen = best
        return None if shape < 0 else self._assigned(task, shape, [rooms.all[room].host for room in chosen], start, end)

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
        rooms: Rooms,
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
            start, end, chosen = rooms.first_to_end(seconds[task], demand[task], counts[task], ready)
            if not chosen:
                raise ValueError(f"task {problem.tasks[task]} cannot run in its shape {shape}: no hosts have room")
            rooms.take(chosen, demand[task], start, end)
            if licences is not None:
                licences.take(task, start, end)
            starts[task], ends[task], hosts[task] = start, end, [rooms.all[room].host for room in chosen]
            latest = start if in_order else latest
        return starts, ends, hosts
