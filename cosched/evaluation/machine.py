"""One clock for each processor: carries out segments and adds up what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.evaluation.results import TraceEvent
from cosched.evaluation.steps import COMPUTE, SEND

if TYPE_CHECKING:
    from cosched.evaluation.budget import Budget
    from cosched.evaluation.steps import Segment

__all__ = ["Machine"]

# Segments depend on the clocks only through their differences. Those are compared to this many decimals of a
# microsecond: far below what any cost is known to, far above what rounding adds.
_DECIMALS = 6
_MOST_RESULTS = 64


class Machine:
    """The processors while a program runs.

    Attributes:
        clocks: of each processor, in microseconds.
        events: what happened when, where a trace is wanted.
    """

    def __init__(self, processors: int, budget: Budget, trace: bool = False) -> None:
        self.clocks = [0.0] * processors
        self.events: list[TraceEvent] = []
        self._budget = budget
        self._trace = trace

    def carry_out(self, segment: Segment) -> None:
        """Advance the clocks over one segment."""
        place = segment.order[0].place
        if self._trace:
            self._budget.spend(10 * len(segment.order), *place)
            self.clocks = self._replay(segment, self.clocks)
            return
        start = min(self.clocks)
        relative = [clock - start for clock in self.clocks]
        key = tuple(round(clock, _DECIMALS) for clock in relative)
        after = segment.results.get(key)
        if after is None:
            self._budget.spend(len(segment.order), *place)
            after = _advance(segment, relative)
            if len(segment.results) >= _MOST_RESULTS:
                segment.results.clear()
            segment.results[key] = after
        self._budget.spend(len(after), *place)
        self.clocks = [start + clock for clock in after]

    def _replay(self, segment: Segment, before: list[float]) -> list[float]:
        """Do what `_advance` does, and keep an event for each operation."""
        clocks = before.copy()
        for kind, processor, cost, channel, transfer, size, (source, at) in segment.order:
            start = clocks[processor]
            if kind == COMPUTE or channel is None:
                ready = start
            elif kind == SEND:
                ready = start
                channel.arrivals.append(start + cost + transfer)
            else:
                ready = max(start, channel.arrivals.popleft())
            clocks[processor] = ready + cost
            peer = None if channel is None else (channel.destination if kind == SEND else channel.source) + 1
            end = ready + cost
            self.events.append(TraceEvent(processor + 1, kind, start, ready, end, peer, size, source.file, at.line))
        _forget(segment)
        return clocks


def _advance(segment: Segment, before: list[float]) -> list[float]:
    """Return the clocks after a segment that starts with the clocks `before`. The hot loop."""
    clocks = before.copy()
    for kind, processor, cost, channel, transfer, _, _ in segment.order:
        if kind == COMPUTE:
            clocks[processor] += cost
        elif kind == SEND:
            clock = clocks[processor] + cost
            clocks[processor] = clock
            channel.arrivals.append(clock + transfer)  # type: ignore[union-attr]  # a message has a channel
        else:
            arrival = channel.arrivals.popleft()  # type: ignore[union-attr]  # as above
            clock = clocks[processor]
            clocks[processor] = (arrival if arrival > clock else clock) + cost
    if segment.unreceived:
        _forget(segment)
    return clocks


def _forget(segment: Segment) -> None:
    """Drop messages that nobody received, so that the next turn starts afresh."""
    for operation in segment.order:
        if operation.channel is not None:
            operation.channel.arrivals.clear()
