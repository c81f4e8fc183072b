"""Free licences in machine code, bit for bit as `decoding.stairs`.

A licence is an ascending row of times, one for each unit, when it is free for good: "n are free from when on" is the
row's n-th entry. The rows stand one behind the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.decoding.stairs import licence_stairs
from cosched.scheduling.kernels.jit import compiled
from cosched.scheduling.licences import binding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = ["LicenceTables", "licences_free_from", "tabulate_licences", "take_licences"]


class LicenceTables(NamedTuple):
    """Licences as the compiled code reads them.

    Attributes:
        units: (U,) when each unit is free for good; licence l has units[begin[l]] … units[begin[l+1]-1].
        begin: (L+1,) see `units`.
        demand: (m, L) what each task takes; L is 0 where no licence can make a task wait.
    """

    units: NDArray[np.float64]
    begin: NDArray[np.int64]
    demand: NDArray[np.int64]


def tabulate_licences(problem: Problem) -> LicenceTables:
    """Return the licences that can make tasks wait."""
    licences = binding(problem.licences)
    if licences is None:
        none = np.zeros((len(problem.tasks), 0), dtype=np.int64)
        return LicenceTables(np.empty(0), np.zeros(1, dtype=np.int64), none)
    units = list[float]()
    begin = [0]
    for stair in licence_stairs(licences):
        had = 0
        for time, amount in zip(stair.times, stair.amounts, strict=True):
            units += [time] * (amount - had)
            had = amount
        begin.append(len(units))
    demand = np.ascontiguousarray(licences.demand)
    return LicenceTables(np.array(units), np.array(begin, dtype=np.int64), demand)


@compiled
def licences_free_from(
    units: NDArray[np.float64], begin: NDArray[np.int64], demand: NDArray[np.int64], task: int, ready: float
) -> float:
    """Return when a task that could start at `ready` has its licences, too; infinite where there are fewer."""
    for licence in range(demand.shape[1]):
        amount = demand[task, licence]
        if amount > 0:
            column = begin[licence] + amount - 1
            ready = max(ready, float(units[column])) if column < begin[licence + 1] else np.inf
    return ready


@compiled
def take_licences(
    units: NDArray[np.float64], begin: NDArray[np.int64], demand: NDArray[np.int64], task: int, start: float, end: float
) -> None:
    """Take a task's licences, which are free from the start on: of each those that became free last."""
    for licence in range(demand.shape[1]):
        amount, last = demand[task, licence], begin[licence + 1]
        if amount == 0:
            continue
        free = begin[licence] + amount  # so many are free, and perhaps more
        while free < last and units[free] <= start:
            free += 1
        column = free - amount
        while column < last and units[column] < end:
            there = units[column + amount] if column + amount < last else np.inf
            units[column] = end if end < there else there
            column += 1
