"""A segment of steps as a graph that numpy walks level by level, for many processors at once.

A processor's steps fall into runs: receives (and work between them) first, then work and sends. A run is over at a time
that is the latest of a few times, each plus a constant: that of the processor's run before it, and those of the runs
that send to it. So all clocks after a segment follow from those before it by additions and maxima alone (max-plus
algebra, Baccelli et al., Synchronization and Linearity, 1992), and runs that do not depend on one another go together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.evaluation.sorting import stable
from cosched.evaluation.steps import RECEIVE, SEND

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.evaluation.steps import Steps

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

__all__ = ["Plan", "Timeline", "UnmatchedError"]


class UnmatchedError(Exception):
    """A receive lacks its send, or steps wait for one another; it carries the steps."""

    def __init__(self, steps: Steps) -> None:
        super().__init__("steps that cannot be carried out")
        self.steps = steps


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
        sends: steps that send and are received, shape (messages,).
        receives: the step that receives each of them.
        unreceived: messages that nobody receives.

    Raises:
        UnmatchedError: a receive lacks its send, or steps wait for one another.
    """

    def __init__(self, steps: Steps, cost: Floats, transfer: Floats, processors: int) -> None:
        self.steps, self.cost, self.transfer = steps, cost, transfer
        self.sends, self.receives, self.unreceived = _matched(steps, processors)
        self._processors = processors
        self._run, self._first = _runs(steps)
        total = np.cumsum(cost)
        # From the start of its run to the end of the step.
        self._done = total - (total - cost)[self._first][self._run]
        self._lengths = np.add.reduceat(cost, self._first)
        before, after, weight = self._edges()
        level, levels = _levels(before - processors, after, len(self._first))
        if not levels:
            raise UnmatchedError(steps)
        self._number(before, after, weight, level, levels)

    def advance(self, clocks: Floats) -> Floats:
        """Return the clocks after the segment, shape (processors,), us; `clocks` are those before it."""
        times = self._times
        times[: self._processors] = clocks
        for source, weight, starts, first, last in self._levels:
            candidates = times.take(source)
            candidates += weight
            if len(source) > last - first:
                np.maximum.reduceat(candidates, starts, out=times[first:last])
            else:
                times[first:last] = candidates
        after = clocks.copy()
        after[self._owner] = times[self._last] + self._tail
        return after

    def timeline(self, clocks: Floats) -> Timeline:
        """Return when each step begins and ends if the segment starts with these clocks."""
        self.advance(clocks)
        begun = self._times[self._numbers[self._processors :]]
        arrival = begun[self._run[self.sends]] + self._done[self.sends] + self.transfer[self.sends]
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

    def _edges(self) -> tuple[Indices, Indices, Floats]:
        """Return node before, run after and weight of each edge. A node is a processor's start or, above, a run."""
        sends, receives, first, processors = self.sends, self.receives, self._first, self._processors
        weight = self._done[sends] + self.transfer[sends] - (self._done[receives] - self.cost[receives])
        owner = self.steps.processor[first]
        follows = np.append(False, owner[1:] == owner[:-1])
        runs = np.arange(len(first))
        chain = np.where(follows, runs - 1 + processors, owner)
        chain_weight = np.zeros(len(first))
        chain_weight[1:] = self._lengths[:-1]
        chain_weight[~follows] = 0.0
        return (np.concatenate((chain, self._run[sends] + processors)), np.concatenate((runs, self._run[receives])),
                np.concatenate((chain_weight, weight)))  # fmt: skip

    def _number(self, before: Indices, after: Indices, weight: Floats, level: Indices, levels: int) -> None:
        """Renumber runs so that a level is a slice; clocks before the segment come first."""
        processors, runs = self._processors, len(self._first)
        order = stable(level, levels)
        number = self._numbers = np.empty(runs + processors, np.int64)
        number[:processors] = np.arange(processors)
        number[order + processors] = np.arange(processors, processors + runs)
        target = number[after + processors]
        edges = stable(target, runs + processors)
        source, weight, target = number[before[edges]], weight[edges], target[edges]
        node = processors + np.searchsorted(level[order], np.arange(levels + 1))
        bounds = np.searchsorted(target, node)
        starts = np.searchsorted(target, np.arange(processors, processors + runs))
        self._levels = [
            (source[bounds[k] : bounds[k + 1]], weight[bounds[k] : bounds[k + 1]],
             starts[node[k] - processors : node[k + 1] - processors] - bounds[k], int(node[k]), int(node[k + 1]))
            for k in range(levels)
        ]  # fmt: skip
        self._times = np.empty(processors + runs)
        owner = self.steps.processor[self._first]
        last = np.flatnonzero(np.append(owner[1:] != owner[:-1], True))
        self._owner, self._last, self._tail = owner[last], number[last + processors], self._lengths[last]


def _runs(columns: Steps) -> tuple[Indices, Indices]:
    """Return the run of each step and the first step of each run."""
    processor, kind = columns.processor, columns.kind
    begins = np.empty(len(kind), np.bool_)
    begins[0] = True
    np.not_equal(processor[1:], processor[:-1], out=begins[1:])
    messages = np.flatnonzero(kind)
    of, who = kind[messages], processor[messages]
    turns = (of[1:] == RECEIVE) & (of[:-1] == SEND) & (who[1:] == who[:-1])
    begins[messages[1:][turns]] = True
    return np.cumsum(begins) - 1, np.flatnonzero(begins)


def _matched(steps: Steps, processors: int) -> tuple[Indices, Indices, int]:
    """Return sends and the receive of each, first in, first out by source and destination; and how many sends are left.

    Raises:
        UnmatchedError: a receive without a send.
    """
    sends, receives = np.flatnonzero(steps.kind == SEND), np.flatnonzero(steps.kind == RECEIVE)
    # By destination, then source; sends are in order of their sources already.
    sends = sends[stable(steps.peer[sends], processors)]
    receives = receives[stable(steps.peer[receives], processors)]
    receives = receives[stable(steps.processor[receives], processors)]
    outward = steps.peer[sends] * processors + steps.processor[sends]
    inward = steps.processor[receives] * processors + steps.peer[receives]
    if np.array_equal(outward, inward):
        return sends, receives, 0
    place = np.arange(len(inward)) - np.searchsorted(inward, inward) + np.searchsorted(outward, inward)
    if len(receives) > len(sends) or not np.array_equal(outward.take(place, mode="clip"), inward):
        raise UnmatchedError(steps)
    return sends[place], receives, len(sends) - len(receives)


def _levels(before: Indices, after: Indices, runs: int) -> tuple[Indices, int]:
    """Return the level of each run, one above the highest it depends on, and how many levels there are.

    There are none where runs wait for one another.
    """
    inner = before >= 0
    before, after = before[inner], after[inner]
    order = np.argsort(before, kind="stable")
    after = after[order]
    pointer = np.searchsorted(before[order], np.arange(runs + 1))
    waits = np.bincount(after, minlength=runs)
    level, mark = np.zeros(runs, np.int64), np.zeros(runs, np.int64)
    ready = np.flatnonzero(waits == 0)
    levels = done = 0
    while ready.size:
        level[ready] = levels
        levels, done = levels + 1, done + ready.size
        lengths = pointer[ready + 1] - pointer[ready]
        ends = np.cumsum(lengths)
        edges = np.repeat(pointer[ready] - ends + lengths, lengths) + np.arange(ends[-1])
        reached = after[edges]
        np.subtract.at(waits, reached, 1)
        ready = reached[waits[reached] == 0]
        # A run that several edges reach is ready once.
        place = np.arange(ready.size)
        mark[ready] = place
        ready = ready[mark[ready] == place]
    return level, levels if done == runs else 0
