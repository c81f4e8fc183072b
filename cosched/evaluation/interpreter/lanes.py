"""Lanes are evaluated side by side; each is a host count or loop turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cosched.evaluation.budget import LanesDifferError
from cosched.evaluation.clocks.steps import COMPUTE

if TYPE_CHECKING:
    from cosched.evaluation.interpreter.collector import Collector

    Indices = NDArray[np.int64]

__all__ = ["Lanes", "as_lanes"]

Floats = NDArray[np.float64]


class Lanes:
    """The lanes that a statement runs on.

    Attributes:
        size: how many lanes.
        hosts: processors of each lane, shape (size,).
        offset: number of each lane's first processor among all, shape (size,).
        collector: takes their steps.
        slot: slot of each lane in the collector; None where they are the same.
        single: whether it is the only number of hosts of an evaluation, whose steps are added one by one.
    """

    __slots__ = ("_processors", "collector", "hosts", "offset", "single", "size", "slot")

    def __init__(
        self,
        hosts: Indices,
        offset: Indices,
        collector: Collector,
        slot: Indices | None = None,
        *,
        single: bool = False,
    ) -> None:
        self.size = len(hosts)
        self.hosts = hosts
        self.offset = offset
        self.collector = collector
        self.slot = slot
        self.single = single
        self._processors: dict[int, tuple[Floats, Indices]] = {}

    def pick(self, index: Indices, collector: Collector | None = None) -> Lanes:
        """Return some of these lanes, or several copies of each.

        A loop gives them a collector of their own.
        """
        hosts, offset = self.hosts.take(index), self.offset.take(index)
        if collector is not None:
            return Lanes(hosts, offset, collector)
        return Lanes(hosts, offset, self.collector, self.slots(index))

    def slots(self, index: Indices) -> Indices:
        """Return where lanes are in the collector."""
        return index if self.slot is None else self.slot.take(index)

    def processors(self, value: Floats) -> Indices:
        """Return the processors with these numbers, shape (size,); 0 is none.

        The result is kept, as many steps name the same processors.
        """
        known = self._processors.get(id(value))  # it stays that value's: the value is kept beside what was found
        if known is None:
            found = value.astype(np.int64)
            if not value.min() >= 0 or (found > self.hosts).any() or (found != value).any():
                raise LanesDifferError
            known = self._processors[id(value)] = (value, found)
        return known[1]

    def step(
        self, kind: int, chosen: Indices | None, processor: Indices, peer: Indices, amount: Floats | None, place: int
    ) -> None:
        """Add one step of each of the chosen lanes, ascending (None: of all).

        Processors are counted from 1 in each; an amount of None is filled in later,
        see `cosched.evaluation.interpreter.invariance`.
        """
        first = (self.offset if chosen is None else self.offset.take(chosen)) - 1
        lanes = self._own_slots if chosen is None else self.slots(chosen)
        self.collector.add(kind, lanes, first + processor, first + peer, amount, place)

    @property
    def _own_slots(self) -> Indices:
        return np.arange(self.size) if self.slot is None else self.slot

    def everywhere(self, time: Floats | None, place: int) -> None:
        """Add work on every processor of every lane; None defers its time."""
        lane = np.repeat(np.arange(self.size), self.hosts)
        within = np.arange(len(lane)) - np.repeat(np.cumsum(self.hosts) - self.hosts, self.hosts)
        at = self.offset[lane] + within
        self.collector.add(COMPUTE, self.slots(lane), at, at, None if time is None else time[lane], place)


def as_lanes(value: float | Floats, size: int) -> Floats:
    """Return a number for each lane."""
    return value if isinstance(value, np.ndarray) else np.full(size, value)
