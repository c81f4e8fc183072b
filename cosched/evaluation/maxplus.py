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
        sends: steps that send and are received, ascending, shape (messages,).
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
        level, levels = self._levelled()
        if not levels:
            raise UnmatchedError(steps)
        self._number(level, levels)

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

    def _levelled(self) -> tuple[Indices, int]:
        """Return the level of each run, one above the highest it depends on, and how many levels there are.

        There are none where runs wait for one another.
        """
        runs = len(self._first)
        follows = self._follows()
        senders, receivers = self._run[self.sends], self._run[self.receives]  # sends go by step, so senders ascend
        pointer = np.searchsorted(senders, np.arange(runs + 1))
        waits = np.bincount(receivers, minlength=runs) + follows
        followed = np.append(follows[1:], False)
        level, mark = np.zeros(runs, np.int64), np.zeros(runs, np.int64)
        ready = np.flatnonzero(waits == 0)
        levels = done = 0
        while ready.size:
            level[ready] = levels
            levels, done = levels + 1, done + ready.size
            begins = pointer[ready]
            lengths = pointer[ready + 1] - begins
            ends = np.cumsum(lengths)
            messages = np.repeat(begins - ends + lengths, lengths) + np.arange(ends[-1])
            reached = np.concatenate((receivers[messages], ready[followed[ready]] + 1))
            np.subtract.at(waits, reached, 1)
            ready = reached[waits[reached] == 0]
            # A run that several edges reach is ready once.
            place = np.arange(ready.size)
            mark[ready] = place
            ready = ready[mark[ready] == place]
        return level, levels if done == runs else 0

    def _follows(self) -> NDArray[np.bool_]:
        """Return which runs come after another of their processor."""
        owner = self.steps.processor[self._first]
        follows = np.zeros(len(owner), np.bool_)
        np.equal(owner[1:], owner[:-1], out=follows[1:])
        return follows

    def _number(self, level: Indices, levels: int) -> None:
        """Renumber runs so that a level is a slice; clocks before the segment come first."""
        processors, runs = self._processors, len(self._first)
        order = stable(level, levels)
        number = self._numbers = np.empty(runs + processors, np.int64)
        number[:processors] = np.arange(processors)
        number[order + processors] = np.arange(processors, processors + runs)
        source, weight, starts = self._incoming(order)
        node = np.searchsorted(level[order], np.arange(levels + 1))
        bounds = np.append(starts, len(source))[node]
        self._levels = [
            (source[bounds[k] : bounds[k + 1]], weight[bounds[k] : bounds[k + 1]],
             starts[node[k] : node[k + 1]] - bounds[k], int(node[k]) + processors, int(node[k + 1]) + processors)
            for k in range(levels)
        ]  # fmt: skip
        self._times = np.empty(processors + runs)
        owner = self.steps.processor[self._first]
        last = np.flatnonzero(np.append(owner[1:] != owner[:-1], True))
        self._owner, self._last, self._tail = owner[last], number[last + processors], self._lengths[last]

    def _incoming(self, order: Indices) -> tuple[Indices, Floats, Indices]:
        """Return source node and weight of the edges into each run, runs in `order`, and where each run's begin.

        The first edge is from the processor's run before it, or from its clock; the others are messages.
        """
        processors, runs = self._processors, len(self._first)
        by_receive = np.full(len(self.steps), -1)
        by_receive[self.receives] = self.sends
        receives = np.flatnonzero(by_receive >= 0)
        sends, into = by_receive[receives], self._run[receives]
        messages = np.bincount(into, minlength=runs)
        lengths = messages[order] + 1
        starts = np.cumsum(lengths) - lengths
        begins = np.empty(runs, np.int64)
        begins[order] = starts
        source, weight = np.empty(runs + len(into), np.int64), np.zeros(runs + len(into))
        follows = np.flatnonzero(self._follows())
        source[begins] = self.steps.processor[self._first]
        source[begins[follows]] = self._numbers[follows - 1 + processors]
        weight[begins[follows]] = self._lengths[follows - 1]
        at = np.arange(len(into)) + (begins + 1 - np.cumsum(messages) + messages)[into]
        source[at] = self._numbers[self._run[sends] + processors]
        weight[at] = self._done[sends] + self.transfer[sends] - (self._done[receives] - self.cost[receives])
        return source, weight, starts


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
    sent = len(sends)
    if not np.array_equal(outward, inward):
        place = np.arange(len(inward)) - np.searchsorted(inward, inward) + np.searchsorted(outward, inward)
        if len(receives) > sent or not np.array_equal(outward.take(place, mode="clip"), inward):
            raise UnmatchedError(steps)
        sends = sends[place]
    by_send = np.full(len(steps), -1)
    by_send[sends] = receives
    sends = np.flatnonzero(by_send >= 0)
    return sends, by_send[sends], sent - len(sends)
