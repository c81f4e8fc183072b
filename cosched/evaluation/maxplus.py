"""A segment of steps as a graph that numpy walks level by level, for many processors at once.

A processor's steps fall into runs: receives (and work between them) first, then work and sends. A run is over at a time
that is the latest of a few times, each plus a constant: that of the processor's run before it, and those of the runs
that send to it. So all clocks after a segment follow from those before it by additions and maxima alone (max-plus
algebra, Baccelli et al., Synchronization and Linearity, 1992), and runs that do not depend on one another go together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.evaluation.topology import topology

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.evaluation.steps import Steps

    Floats = NDArray[np.float64]

__all__ = ["Plan", "Timeline"]


class Timeline(NamedTuple):
    """When each step of a plan began and ended, us, shape (steps,) each; it may have waited before `ready`."""

    start: Floats
    ready: Floats
    end: Floats


class Plan:
    """A segment that can be carried out from any state of the clocks.

    Args:
        steps: not empty.
        cost: the processor's own time of each step, us.
        transfer: the network's time of each send, us.
        processors: how many there are.

    Attributes:
        steps: as given.
        cost: as given.
        transfer: as given.
        sends: steps that send and are received, ascending, shape (messages,).
        receives: the step that receives each of them.
        unreceived: messages that nobody receives.

    Raises:
        UnmatchedError: a receive lacks its send, or steps wait for one another.
    """

    def __init__(self, steps: Steps, cost: Floats, transfer: Floats, processors: int) -> None:
        self.steps, self.cost, self.transfer = steps, cost, transfer
        self._topology = found = topology(steps, processors)
        self.sends, self.receives, self.unreceived = found.sends, found.receives, found.unreceived
        total = np.cumsum(cost)
        # From the start of its run to the end of the step.
        self._done = total - (total.take(found.first) - cost.take(found.first)).take(found.run)
        lengths = np.add.reduceat(cost, found.first)
        self._weight = np.zeros(len(found.source))
        self._weight[found.chains] = lengths[found.chained]
        sent, before = (self._done + transfer).take(found.sent), (self._done - cost).take(found.received)
        self._weight[found.messages] = sent - before
        self._tail = lengths[found.last]
        self._candidates = np.empty(len(found.source))
        self._times = np.full(processors + len(found.first) + 1, -np.inf)

    def advance(self, clocks: Floats) -> Floats:
        """Return the clocks after the segment, shape (processors,), us; `clocks` are those before it."""
        found, times, weights = self._topology, self._times, self._weight
        times[: found.processors] = clocks
        for edges, starts, nodes in found.levels:
            candidates = self._candidates[edges]
            # Into a place of its own `take` is quicker where it need not look whether all are in range.
            times.take(found.source[edges], out=candidates, mode="clip")
            candidates += weights[edges]
            own = times[nodes]
            if starts is None:
                np.maximum.reduce(candidates.reshape(-1, len(own)), axis=0, out=own)
            else:
                np.maximum.reduceat(candidates, starts, out=own)
        after = clocks.copy()
        after[found.owners] = times.take(found.final) + self._tail
        return after

    def timeline(self, clocks: Floats) -> Timeline:
        """Return when each step begins and ends if the segment starts with these clocks."""
        self.advance(clocks)
        begun = self._times[self._topology.node]
        arrival = begun[self._topology.run[self.sends]] + self._done[self.sends] + self.transfer[self.sends]
        total = np.cumsum(self.cost)
        earlier = np.concatenate(([0.0], total[:-1]))
        # A step ends at the latest reason to wait so far, and all own time since.
        reason = np.full(len(total), -np.inf)
        reason[self.receives] = arrival - earlier[self.receives]
        owners, firsts = np.unique(self.steps.processor, return_index=True)
        reason[firsts] = np.maximum(reason[firsts], clocks[owners] - earlier[firsts])
        for first, last in zip(firsts, np.append(firsts[1:], len(total)), strict=True):
            np.maximum.accumulate(reason[first:last], out=reason[first:last])
        end = reason + total
        start = np.concatenate(([0.0], end[:-1]))
        start[firsts] = clocks[owners]
        return Timeline(start, np.maximum(reason + earlier, start), end)
