"""A segment of steps as a graph that numpy walks level by level, for many processors at once.

A processor's steps fall into runs: receives (and work between them) first, then work and sends. A run is over at a time
that is the latest of a few times, each plus a constant: that of the processor's run before it, and those of the runs
that send to it. So all clocks after a segment follow from those before it by additions and maxima alone (max-plus
algebra, Baccelli et al., Synchronization and Linearity, 1992), and runs that do not depend on one another go together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.evaluation.steps import RECEIVE, SEND

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

__all__ = ["Columns", "Plan", "UnmatchedError"]


class UnmatchedError(Exception):
    """Sends and receives do not pair off, or wait for one another."""


class Columns(NamedTuple):
    """The steps of a segment, each column of shape (steps,); every processor's steps together and in its order.

    Attributes:
        kind: COMPUTE, SEND or RECEIVE.
        processor: counted from 0.
        peer: the other processor of a message; any number for COMPUTE.
        cost: the processor's own time, us.
        transfer: the network's time of a SEND, us.
    """

    kind: NDArray[np.int8]
    processor: Indices
    peer: Indices
    cost: Floats
    transfer: Floats


class Plan:
    """A segment that can be carried out from any state of the clocks.

    Args:
        columns: the steps; not empty.
        processors: how many there are.

    Raises:
        UnmatchedError: a message lacks its send or its receive, or steps wait for one another.
    """

    def __init__(self, columns: Columns, processors: int) -> None:
        run, first = _runs(columns)
        before, after, weight = _edges(columns, run, first, processors)
        level, levels = _levels(before - processors, after, len(first))
        # Runs are renumbered so that a level is a slice; clocks before the segment come first.
        order = np.argsort(level, kind="stable")
        number = np.empty(len(first) + processors, np.int64)
        number[:processors] = np.arange(processors)
        number[order + processors] = np.arange(processors, processors + len(first))
        target = number[after + processors]
        edges = np.argsort(target, kind="stable")
        source, weight, target = number[before[edges]], weight[edges], target[edges]
        node = processors + np.searchsorted(level[order], np.arange(levels + 1))
        bounds = np.searchsorted(target, node)
        starts = np.searchsorted(target, np.arange(processors, processors + len(first)))
        self._levels = [
            (source[bounds[k] : bounds[k + 1]], weight[bounds[k] : bounds[k + 1]],
             starts[node[k] - processors : node[k + 1] - processors] - bounds[k], int(node[k]), int(node[k + 1]))
            for k in range(levels)
        ]  # fmt: skip
        self._times = np.empty(processors + len(first))
        self._processors = processors
        lengths = np.add.reduceat(columns.cost, first)
        owner = columns.processor[first]
        last = np.flatnonzero(np.append(owner[1:] != owner[:-1], True))
        self._owner, self._last, self._tail = owner[last], number[last + processors], lengths[last]

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


def _runs(columns: Columns) -> tuple[Indices, Indices]:
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


def _edges(columns: Columns, run: Indices, first: Indices, processors: int) -> tuple[Indices, Indices, Floats]:
    """Return node before, run after and weight of every edge. A node is a processor's start or, after those, a run."""
    sends, receives = _matched(columns, processors)
    total = np.cumsum(columns.cost)
    before_run = (total - columns.cost)[first]
    done = total - before_run[run]  # from the start of the run to the end of the step
    weight = done[sends] + columns.transfer[sends] - (done[receives] - columns.cost[receives])
    owner = columns.processor[first]
    follows = np.append(False, owner[1:] == owner[:-1])
    runs = np.arange(len(first))
    lengths = np.add.reduceat(columns.cost, first)
    chain = np.where(follows, runs - 1 + processors, owner)
    chain_weight = np.where(follows, np.roll(lengths, 1), 0.0)
    return (np.concatenate((chain, run[sends] + processors)), np.concatenate((runs, run[receives])),
            np.concatenate((chain_weight, weight)))  # fmt: skip


def _matched(columns: Columns, processors: int) -> tuple[Indices, Indices]:
    """Return the steps of the sends, and of the receive of each: first in, first out by source and destination."""
    sends, receives = np.flatnonzero(columns.kind == SEND), np.flatnonzero(columns.kind == RECEIVE)
    outward = columns.processor[sends] * processors + columns.peer[sends]
    inward = columns.peer[receives] * processors + columns.processor[receives]
    by_channel, by_channel_too = np.argsort(outward, kind="stable"), np.argsort(inward, kind="stable")
    if not np.array_equal(outward[by_channel], inward[by_channel_too]):
        raise UnmatchedError
    return sends[by_channel], receives[by_channel_too]


def _levels(before: Indices, after: Indices, runs: int) -> tuple[Indices, int]:
    """Return the level of each run, one above the highest it depends on, and how many levels there are."""
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
    if done < runs:
        raise UnmatchedError
    return level, levels
