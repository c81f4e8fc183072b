"""Rows of the chart where tasks share hosts: each core, or as many as all tasks take a multiple of, has a row."""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.scheduling.packing import Packing
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule

__all__ = ["lanes"]


def lanes(problem: Problem, packing: Packing, schedule: Schedule) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """Return the rows' names, `n1 1`, `n1 2` …, and which of them each task has.

    Which cores a task has is the manager's choice; here it takes the lowest that are free.
    """
    cores = packing.capacity[:, 0].tolist()
    unit = math.gcd(*cores, *packing.demand[:, 0].tolist())
    free = {host: list(range(1, had // unit + 1)) for host, had in zip(problem.hosts, cores, strict=True)}
    names = [f"{host} {lane}" for host in problem.hosts for lane in free[host]]
    busy: dict[str, list[tuple[float, list[int]]]] = {host: [] for host in problem.hosts}
    held: dict[str, tuple[str, ...]] = {}
    for item in sorted(schedule.assignments, key=lambda item: item.start):
        found: list[str] = []
        for host in item.hosts:
            while busy[host] and busy[host][0][0] <= item.start:
                for lane in heappop(busy[host])[1]:
                    heappush(free[host], lane)
            taken = [heappop(free[host]) for _ in range(item.taken[0] // unit)]
            heappush(busy[host], (item.end, taken))
            found += [f"{host} {lane}" for lane in taken]
        held[item.task] = tuple(found)
    return names, held
