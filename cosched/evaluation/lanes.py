"""Many evaluations side by side: a lane is one number of hosts, or one turn of a loop on it.

A variable is a number where all lanes agree, else an array with an entry for each lane. Whatever does not fit into that
raises `UnbatchableError`, and the statement-by-statement evaluator, whose errors name lines, takes over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosched.evaluation.maxplus import Columns, Plan, UnmatchedError
from cosched.evaluation.steps import COMPUTE

if TYPE_CHECKING:
    Indices = NDArray[np.int64]

Floats = NDArray[np.float64]
Value = float | str | Floats | None
"""None: no value that every lane can have read."""

__all__ = ["Collector", "Lanes", "TooManyStepsError", "UnbatchableError", "Value", "spread"]

_WIDEST_KEY = 2**62


class UnbatchableError(Exception):
    """This model, or these parameters, are not for evaluation side by side."""


class TooManyStepsError(UnbatchableError):
    """More steps than may be held at a time: fewer lanes may do."""


class _Steps(NamedTuple):
    """Steps of one statement, shape (steps,) each; `key` orders them among the steps of their lane."""

    kind: int
    lane: Indices
    key: Indices
    processor: Indices
    peer: Indices
    cost: Floats
    transfer: Floats


class Collector:
    """Steps of the lanes of one loop, or of a whole object, by statement.

    Args:
        most: steps it may hold.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._statements: list[list[_Steps]] = []
        self._span = 1
        self._count = 0

    def add(self, kind: int, lane: Indices, processor: Indices, peer: Indices, cost: Floats, transfer: Floats) -> None:
        """Add one step of each of some lanes."""
        self._grow(len(lane))
        key = np.zeros(len(lane), np.int64)
        self._statements.append([_Steps(kind, lane, key, processor, peer, cost, transfer)])

    def nest(self, inner: Collector, turn: Indices, turns: int, slot: Indices) -> None:
        """Add the steps of a loop.

        Args:
            inner: its steps; its lanes are the turns.
            turn: of each inner lane, from 0, counted within the lane that loops.
            turns: the most that any lane has.
            slot: the lane here of each inner lane.
        """
        width = len(inner._statements) * inner._span
        if width * turns >= _WIDEST_KEY:
            raise UnbatchableError
        self._span = max(self._span, width * turns)
        self._grow(inner._count)
        nested = [steps._replace(lane=slot[steps.lane], key=turn[steps.lane] * width + place * inner._span + steps.key)
                  for place, statement in enumerate(inner._statements) for steps in statement]  # fmt: skip
        self._statements.append(nested)

    def plan(self, processors: int) -> Plan | None:
        """Return the steps as a plan for all processors of all numbers of hosts, None where there are none."""
        width = max(1, len(self._statements) * self._span)
        if width * processors >= _WIDEST_KEY:
            raise UnbatchableError
        all_steps = [(place, steps) for place, statement in enumerate(self._statements) for steps in statement]
        if not sum(len(steps.lane) for _, steps in all_steps):
            return None
        key = np.concatenate([s.processor * width + place * self._span + s.key for place, s in all_steps])
        order = np.argsort(key, kind="stable")
        kind = np.repeat(np.array([s.kind for _, s in all_steps], np.int8), [len(s.lane) for _, s in all_steps])
        rest = (np.concatenate([getattr(s, name) for _, s in all_steps])[order] for name in Columns._fields[1:])
        columns = Columns(kind[order], *rest)
        try:
            return Plan(columns, processors)
        except UnmatchedError:
            raise UnbatchableError from None

    def _grow(self, steps: int) -> None:
        self._count += steps
        if self._count > self.most:
            raise TooManyStepsError


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
        self.values: dict[str, Value] = {}
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

    def look(self, name: str) -> Value:
        """Return a variable, None where it has no value that all lanes can have read."""
        if name not in self.values:
            above = None if self._above is None else self._above.look(name)
            self.values[name] = above[self._index] if isinstance(above, np.ndarray) else above
        return self.values[name]

    def step(self, kind: int, chosen: Indices, processor: Floats, peer: Floats, cost: Floats, transfer: Floats) -> None:
        """Add one step of each of the chosen lanes; processors are counted from 1 in each lane."""
        first = self.offset[chosen] - 1
        at, other = first + processor.astype(np.int64), first + peer.astype(np.int64)
        self.collector.add(kind, self.slots(chosen), at, other, cost, transfer)

    def everywhere(self, cost: Floats) -> None:
        """Add work on every processor of every lane."""
        lane = np.repeat(np.arange(self.size), self.hosts)
        within = np.arange(len(lane)) - np.repeat(np.cumsum(self.hosts) - self.hosts, self.hosts)
        at = self.offset[lane] + within
        self.collector.add(COMPUTE, self.slots(lane), at, at, cost[lane], np.zeros(len(lane)))


def spread(value: float | Floats, size: int) -> Floats:
    """Return a number for each lane."""
    return value if isinstance(value, np.ndarray) else np.full(size, value)
