"""Many evaluations side by side: a lane is one number of hosts, or one turn of a loop on it.

A variable is a number where all lanes agree, else an array with an entry for each lane. Whatever does not fit into that
raises `UnbatchableError`, and the statement-by-statement evaluator, whose errors name lines, takes over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosched.evaluation.budget import UnbatchableError
from cosched.evaluation.clocks.steps import COMPUTE

if TYPE_CHECKING:
    from cosched.evaluation.interpreter.collector import Collector

    Indices = NDArray[np.int64]

__all__ = ["LaneValue", "Lanes", "as_lanes"]

Floats = NDArray[np.float64]
LaneValue = float | str | Floats | None
"""None: no value that every lane can have read."""


class Lanes:
    """The lanes that a statement runs on, and their variables.

    Attributes:
        size: how many lanes.
        hosts: processors of each lane, shape (size,).
        offset: number of each lane's first processor among all, shape (size,).
        collector: takes their steps.
        slot: of each lane in the collector; None where they are the same.
    """

    def __init__(self, hosts: Indices, offset: Indices, collector: Collector) -> None:
        self.size = len(hosts)
        self.hosts = hosts
        self.offset = offset
        self.collector = collector
        self.slot: Indices | None = None
        self.values: dict[str, LaneValue] = {}
        self._processors: dict[int, tuple[Floats, Indices]] = {}
        self._above: Lanes | None = None
        self._index: Indices = np.arange(0)

    def pick(self, index: Indices, collector: Collector | None = None) -> Lanes:
        """Return some of these lanes, or several of each; with a collector of their own for a loop."""
        picked = Lanes(self.hosts[index], self.offset[index], collector or self.collector)
        picked._above, picked._index = self, index
        if collector is None:
            picked.slot = self.slots(index)
        return picked

    def slots(self, index: Indices) -> Indices:
        """Return where lanes are in the collector."""
        return index if self.slot is None else self.slot[index]

    def get(self, name: str) -> float | str | Floats:
        """Return a variable; one that has no value here is left to the other evaluator."""
        value = self.look(name)
        if value is None:
            raise UnbatchableError
        return value

    def look(self, name: str) -> LaneValue:
        """Return a variable, None where it has no value that all lanes can have read."""
        if name not in self.values:
            above = None if self._above is None else self._above.look(name)
            self.values[name] = above.take(self._index) if isinstance(above, np.ndarray) else above
        return self.values[name]

    def processors(self, value: Floats) -> Indices:
        """Return the processors with these numbers, shape (size,); 0 is none. Many steps name the same ones."""
        known = self._processors.get(id(value))  # it stays that value's: the value is kept beside what was found
        if known is None:
            found = value.astype(np.int64)
            if value.min() < 0 or (found > self.hosts).any() or (found != value).any():
                raise UnbatchableError
            known = self._processors[id(value)] = (value, found)
        return known[1]

    def step(
        self, kind: int, chosen: Indices | None, processor: Indices, peer: Indices, amount: Floats | None, place: int
    ) -> None:
        """Add one step of each of the chosen lanes, ascending (None: of all).

        Processors are counted from 1 in each; without an amount that is free,
        see `cosched.evaluation.interpreter.invariance`.
        """
        first = (self.offset if chosen is None else self.offset[chosen]) - 1
        lanes = self._own_slots if chosen is None else self.slots(chosen)
        self.collector.add(kind, lanes, first + processor, first + peer, amount, place)

    @property
    def _own_slots(self) -> Indices:
        return np.arange(self.size) if self.slot is None else self.slot

    def everywhere(self, time: Floats | None, place: int) -> None:
        """Add work on every processor of every lane; without a time that is free."""
        lane = np.repeat(np.arange(self.size), self.hosts)
        within = np.arange(len(lane)) - np.repeat(np.cumsum(self.hosts) - self.hosts, self.hosts)
        at = self.offset[lane] + within
        self.collector.add(COMPUTE, self.slots(lane), at, at, None if time is None else time[lane], place)


def as_lanes(value: float | Floats, size: int) -> Floats:
    """Return a number for each lane."""
    return value if isinstance(value, np.ndarray) else np.full(size, value)
