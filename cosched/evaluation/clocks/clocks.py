"""The clocks of all processors while a program runs, one segment of steps after another.

`TimedSegment` is a graph of additions and maxima alone (max-plus algebra, Baccelli et al., Synchronization and
Linearity, 1992) that numpy walks level by level; `Clocks` knows its states again, so a settled loop costs little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.evaluation.clocks.matching import topology

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.budget import Budget
    from cosched.evaluation.clocks.pricing import Prices
    from cosched.evaluation.clocks.steps import Steps
    from cosched.evaluation.sites import Site

    Floats = NDArray[np.float64]

    Indices = NDArray[np.int64]

__all__ = ["Clocks", "ExecutedSegment", "TimedSegment", "Timeline", "timed_segments"]

# A processor's steps fall into runs: receives (and work between them) first, then work and sends. A run is over at
# the latest of a few times, each plus a constant: that of the processor's run before it, and those of the runs that
# send to it. So all clocks after a segment follow from those before it by additions and maxima alone, and runs that
# do not depend on one another are computed together.


class Timeline(NamedTuple):
    """Start and end of each step in microseconds, shape (steps,) each.

    A step may wait before `ready`.
    """

    start: Floats
    ready: Floats
    end: Floats


class TimedSegment:
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
        unreceived: messages without a receive.

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
        """Return the time from the start of the sender's run to each message's arrival."""
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


# Clocks that differ by no more microseconds are the same: far below what any cost is known to, far above what rounding
# adds. Else a settled loop would wander in the last digit for ever.
_ROUNDING = 2.0**-20
_MOST_STATES = 64
_AT_ONCE = 8  # steps that go together cost what one taken by itself does


def timed_segments(program: Sequence[Steps], prices: Prices, processors: int) -> list[TimedSegment]:
    """Return the plan of each segment of a program; equal segments share a plan.

    Raises:
        UnmatchedError: a segment cannot be carried out.
    """
    plans: dict[int, TimedSegment] = {}
    for steps in program:
        if id(steps) not in plans:
            priced = prices.spread(steps)
            plans[id(steps)] = TimedSegment(priced, *prices.of(priced), processors)
    return [plans[id(steps)] for steps in program]


class ExecutedSegment(NamedTuple):
    """One segment as it was carried out.

    `lapse` and `ahead` are those before it, see `Clocks`.
    """

    plan: TimedSegment
    lapse: Floats
    ahead: Floats


class Clocks:
    """One array of clocks for all processors of one or many numbers of hosts.

    Segments see the clocks through their differences alone. States of these differences are numbered as they are met,
    so a loop that has settled costs an addition a turn.

    Args:
        hosts: processors of each number of hosts, shape (counts,).
        budget: the budget of steps, reduced by those carried out.
        places: places of the application's steps.
        remember: keep the passages.

    Attributes:
        passages: the segments so far in order, where they are remembered.
        lapse: the earliest clock of each number of hosts, shape (counts,), us.
    """

    def __init__(self, hosts: Indices, budget: Budget, places: Sequence[Site], *, remember: bool = False) -> None:
        self._hosts = hosts
        self._offset = np.cumsum(hosts) - hosts
        self._budget, self._places = budget, places
        self._remember = remember
        self.passages: list[ExecutedSegment] = []
        self.lapse = np.zeros(len(hosts))
        self._state = 0
        self._states = [np.zeros(int(hosts.sum()))]
        self._totals = [0.0]
        self._steps: dict[tuple[int, TimedSegment], tuple[int, Floats]] = {}

    @property
    def ahead(self) -> Floats:
        """Lead of each processor's clock over the earliest of its number of hosts, us; never changed in place."""
        return self._states[self._state]

    @property
    def latest(self) -> Floats:
        """The latest clock of each number of hosts, shape (counts,), us."""
        return self.lapse + np.maximum.reduceat(self.ahead, self._offset)

    def go(self, plan: TimedSegment) -> None:
        """Advance the clocks over one segment."""
        if self._remember:
            self.passages.append(ExecutedSegment(plan, self.lapse, self.ahead))
        step = self._steps.get((self._state, plan))
        if step is None:
            step = self._advance(plan)
        self._state = step[0]
        self.lapse = self.lapse + step[1]

    def _advance(self, plan: TimedSegment) -> tuple[int, Floats]:
        place = self._places[plan.steps.shape.places[plan.steps.shape.use[0]]]
        self._budget.spend((len(plan.steps) + len(self.ahead)) // _AT_ONCE, place.source, place.at)
        after = plan.advance(self.ahead)
        least = np.minimum.reduceat(after, self._offset)
        after -= np.repeat(least, self._hosts)
        number = self._number(after)
        step = self._steps[self._state, plan] = (number, least)
        return step

    def _number(self, ahead: Floats) -> int:
        """Return the number of a state, a new one if need be."""
        total = float(ahead.sum())  # tells most states apart, in far less time than a look at all of both
        near = _ROUNDING * len(ahead)
        for number, (state, other) in enumerate(zip(self._states, self._totals, strict=True)):
            if abs(total - other) <= near and (np.abs(ahead - state) <= _ROUNDING).all():
                return number
        if len(self._states) >= _MOST_STATES:
            self._states, self._totals, self._steps, self._state = [], [], {}, -1
        self._states.append(ahead)
        self._totals.append(total)
        return len(self._states) - 1
