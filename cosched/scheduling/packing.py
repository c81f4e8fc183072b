"""Tasks share hosts: what each takes of them, as arrays.

A task runs in one of its shapes: on so many hosts, with so much of each host's cores, memory, GPUs. A host is shared
by as many tasks as it has room for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Held", "Packing", "scaled"]


class Held(NamedTuple):
    """What a running task still takes of a host.

    Attributes:
        host: its index in the problem.
        until: when it is given back, in seconds after the origin.
        taken: amount of each resource.
    """

    host: int
    until: float
    taken: tuple[int, ...]


@dataclass(frozen=True)
class Packing:
    """What hosts have and tasks ask of them. Amounts are whole numbers: cores, MiB, devices.

    Attributes:
        resources: names of the R resources, the first is `cores`.
        capacity: (N, R) int64, what each host has.
        first: (m+1,) int64, task j can run in the shapes first[j] … first[j+1]-1, at least one.
        hosts: (S,) int64, number of hosts of each shape.
        demand: (S, R) int64, what a shape takes of each of its hosts; at least one resource above 0.
        seconds: (S, K) float64, its run time when k is the slowest class among its hosts; infinite where that class
            cannot run it.
        held: what running tasks take, for some time from the origin on. A host's other resources are free from
            `Problem.free` on.
    """

    resources: tuple[str, ...]
    capacity: NDArray[np.int64]
    first: NDArray[np.int64]
    hosts: NDArray[np.int64]
    demand: NDArray[np.int64]
    seconds: NDArray[np.float64]
    held: tuple[Held, ...] = ()

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """Return (S,): the task of each shape."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    @cached_property
    def area(self) -> NDArray[np.float64]:
        """Return (S, R): what a shape takes of all its hosts together."""
        return (self.hosts[:, np.newaxis] * self.demand).astype(np.float64)

    @cached_property
    def part(self) -> NDArray[np.float64]:
        """Return (S,): what a shape takes of each host, as the part of the largest host's dominant resource."""
        most = np.maximum(self.capacity.max(axis=0), 1)
        part: NDArray[np.float64] = (self.demand / most).max(axis=1)
        return part

    @cached_property
    def varied(self) -> NDArray[np.bool_]:
        """Return (m,): which tasks take more cores of a host in one of their shapes than in another."""
        if not len(self.hosts):
            return np.zeros(len(self.first) - 1, dtype=np.bool_)
        cores, begins = self.demand[:, 0], self.first[:-1]
        varied: NDArray[np.bool_] = np.maximum.reduceat(cores, begins) > np.minimum.reduceat(cores, begins)
        return varied

    def of_cores(self, counts: NDArray[np.int64], cores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (m,): the shape of each task on so many hosts with so many cores of each; -1 where it has none."""
        found = np.full(len(counts), -1, dtype=np.int64)
        rows = np.flatnonzero((self.hosts == counts[self.owner]) & (self.demand[:, 0] == cores[self.owner]))
        found[self.owner[rows]] = rows
        return found

    def on_hosts(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (m,): the shape of each task on so many hosts; its first where none is on so many."""
        rows = np.repeat(
            self.first[:-1, np.newaxis], max(int(self.hosts.max(initial=0)), int(counts.max(initial=0))) + 1, axis=1
        )
        rows[self.owner, self.hosts] = np.arange(len(self.hosts))
        found: NDArray[np.int64] = rows[np.arange(len(rows)), counts]
        return found

    def seconds_by_count(self, classes: int) -> NDArray[np.float64]:
        """Return (K, m, W) run times of the quickest shape on 1 … W hosts, as `Problem.seconds` has them."""
        table = np.full((classes, len(self.first) - 1, int(self.hosts.max())), np.inf)
        for each, seconds in enumerate(self.seconds.T):
            np.minimum.at(table[each], (self.owner, self.hosts - 1), seconds)
        return table


def scaled(packing: Packing) -> Packing:
    """Return the same in the largest units that divide all amounts of a resource: decoders count in these."""
    amounts = [packing.capacity, packing.demand, np.array([item.taken for item in packing.held], dtype=np.int64)]
    amounts[2] = amounts[2].reshape(-1, len(packing.resources))
    unit = np.maximum(np.gcd.reduce(np.concatenate(amounts), axis=0), 1)
    held = tuple([Held(item.host, item.until, tuple((item.taken // unit).tolist())) for item in packing.held])
    return replace(packing, capacity=packing.capacity // unit, demand=packing.demand // unit, held=held)
