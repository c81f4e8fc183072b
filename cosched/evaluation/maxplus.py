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
    Indices = NDArray[np.int64]

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
        own: the processor's own time of each use, us.
        network: the network's time of each use that sends, us.
        processors: how many there are.

    Attributes:
        steps: as given.
        cost: the processor's own time of each step, us.
        sends: steps that send and are received, ascending, shape (messages,).
        receives: the step that receives each of them.
        transfer: the network's time of each of these messages, us.
        unreceived: messages that nobody receives.

    Raises:
        UnmatchedError: a receive lacks its send, or steps wait for one another.
    """

    def __init__(self, steps: Steps, own: Floats, network: Floats, processors: int) -> None:
        self.steps, use = steps, steps.shape.use
        self._topology = found = topology(steps, processors)
        self.sends, self.receives, self.unreceived = found.sends, found.receives, found.unreceived
        self.cost, self.transfer = own.take(use), network.take(use.take(found.sends))
        self._total = np.zeros(len(steps) + 1)
        np.cumsum(self.cost, out=self._total[1:])
        self._begun = self._total.take(found.first)
        lengths = np.diff(self._begun)
        self._tail = lengths.take(found.last)
        weight = np.zeros(found.edges)
        weight[found.chains] = lengths.take(found.chained)
        weight[found.messages] = self._sent() - self._within(found.receives, found.into)
        self._times = np.full(found.nodes, -np.inf)
        widest = np.empty(max((level.source.size for level in found.levels), default=0))
        # Of each level the weights of its edges, a place for what comes of each, and the times of its runs.
        self._levels = [
            (
                source,
                weight[edges].reshape(source.shape),
                widest[: source.size].reshape(source.shape),
                starts,
                self._times[nodes],
            )
            for edges, source, starts, nodes in found.levels
        ]

    def _within(self, steps: Indices, runs: Indices) -> Floats:
        """Return the own time from the start of a step's run to the step."""
        return self._total.take(steps) - self._begun.take(runs)

    def _sent(self) -> Floats:
        """Return the time from the start of the sender's run to the arrival of each message."""
        return self._within(self.sends + 1, self._topology.out) + self.transfer

    def advance(self, clocks: Floats) -> Floats:
        """Return the clocks after the segment, shape (processors,), us; `clocks` are those before it."""
        found, times = self._topology, self._times
        times[: found.processors] = clocks
        for source, weights, candidates, starts, own in self._levels:
            # Into a place of its own `take` is quicker where it need not look whether all are in range.
            times.take(source, out=candidates, mode="clip")
            np.add(candidates, weights, out=candidates)
            if starts is None:
                np.maximum.reduce(candidates, axis=0, out=own)
            else:
                np.maximum.reduceat(candidates, starts, out=own)
        last = times.take(found.final) + self._tail
        if len(last) == len(clocks):
            return last
        after = clocks.copy()
        after[found.owners] = last
        return after

    def timeline(self, clocks: Floats) -> Timeline:
        """Return when each step begins and ends if the segment starts with these clocks."""
        self.advance(clocks)
        begun = self._times[self._topology.node]
        arrival = begun[self._topology.out] + self._sent()
        earlier, total = self._total[:-1], self._total[1:]
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
