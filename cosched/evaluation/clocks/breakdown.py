"""Show where a program's time went: busy and idle processors, critical path, trace.

`evaluation_of` makes the `Evaluation` of a run; `critical_path` goes from the last step back to the first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from cosched.evaluation.clocks.steps import COMPUTE, RECEIVE, SEND
from cosched.evaluation.results import TRANSFER, Evaluation, PathPart, ProcessorTime, TraceEvent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.budget import Budget
    from cosched.evaluation.clocks.clocks import Clocks, ExecutedSegment
    from cosched.evaluation.clocks.pricing import Prices
    from cosched.evaluation.sites import Site

    _Path = dict[tuple[int, int], "NDArray[np.float64]"]

__all__ = ["critical_path", "evaluation_of", "trace"]


_LEAST_WAIT = 1e-6  # microseconds; what is less is rounding


def critical_path(
    passages: Sequence[ExecutedSegment], last: int, prices: Prices, places: Sequence[Site]
) -> tuple[PathPart, ...]:
    """Return the critical path by statement, the longest part first.

    Args:
        passages: segments of a program on one number of hosts, as they were carried out.
        last: the processor that ends last, from 0.
        prices: the costs of the steps.
        places: places of the application's steps.
    """
    total: _Path = defaultdict(lambda: np.zeros(3))
    walks: dict[tuple[int, int], _Walk] = {}
    known: dict[tuple[int, int, int], tuple[int, _Path]] = {}
    owner = last
    for passage in reversed(passages):
        state = (id(passage.plan), id(passage.ahead))
        if (*state, owner) not in known:
            if state not in walks:
                walks[state] = _Walk(passage, prices)
            known[*state, owner] = walks[state].back(owner)
        owner, parts = known[*state, owner]
        for key, values in parts.items():
            total[key] += values
    found = (
        PathPart(
            places[place].source.file, places[place].at.line, kind, int(times), float(time) / 1e6, float(latency) / 1e6
        )
        for (place, kind), (times, time, latency) in total.items()
    )
    return tuple(sorted(found, key=lambda part: (-part.seconds, part)))


class _Walk:
    """The way back through one passage."""

    def __init__(self, passage: ExecutedSegment, prices: Prices) -> None:
        plan, steps = passage.plan, passage.plan.steps
        times = plan.timeline(passage.ahead)
        self._waited = (times.ready - times.start > _LEAST_WAIT).tolist()
        sender = np.full(len(steps), -1)
        sender[plan.receives] = plan.sends
        self._sender: list[int] = sender.tolist()
        self._processor, self._kind, self._place = (
            column.tolist() for column in (steps.processor, steps.kind, steps.place)
        )
        own, network = (column.take(steps.shape.use) for column in prices.latency(steps))
        self._own = list(zip(plan.cost.tolist(), own.tolist(), strict=True))
        transfer = np.zeros(len(steps))
        transfer[plan.sends] = plan.transfer
        self._network = list(zip(transfer.tolist(), network.tolist(), strict=True))
        owners, ends = np.unique(steps.processor[::-1], return_index=True)
        self._last = dict(zip(owners.tolist(), (len(steps) - 1 - ends).tolist(), strict=True))

    def back(self, owner: int) -> tuple[int, _Path]:
        """Return the processor where the path enters the segment, and the path's costs.

        The costs are by place and kind.
        """
        parts: _Path = defaultdict(lambda: np.zeros(3))
        step = self._last.get(owner, -1)
        while step >= 0 and self._processor[step] == owner:
            parts[self._place[step], self._kind[step]] += (1, *self._own[step])
            if self._kind[step] == RECEIVE and self._waited[step]:
                step = self._sender[step]
                parts[self._place[step], TRANSFER] += (1, *self._network[step])
                owner = self._processor[step]
            else:
                step -= 1
        return owner, parts


_EVENT_STEPS = 10  # steps of the budget, which bounds memory as well


def evaluation_of(
    clocks: Clocks, prices: Prices, places: Sequence[Site], events: Sequence[TraceEvent] = ()
) -> Evaluation:
    """Return the results of a program on one number of hosts.

    Args:
        clocks: at the end of the program, with its passages.
        prices: the costs of the steps.
        places: places of the application's steps.
        events: the trace, where it is wanted.
    """
    count = len(clocks.ahead)
    busy = np.zeros((2, count))  # compute, communication
    messages = unreceived = 0
    size = 0.0
    turns = Counter(id(passage.plan) for passage in clocks.passages)
    plans = {id(passage.plan): passage.plan for passage in clocks.passages}
    for key, times in turns.items():
        plan, steps = plans[key], plans[key].steps
        for communicates, row in enumerate(busy):
            of_kind = (steps.kind != COMPUTE) == bool(communicates)
            row += times * np.bincount(steps.processor[of_kind], plan.cost[of_kind], minlength=count)
        sends = steps.kind == SEND
        messages, size = messages + times * int(sends.sum()), size + times * float(steps.amount[sends].sum())
        unreceived += times * plan.unreceived
    end = float(clocks.latest[0])
    idle = np.maximum(end - busy.sum(axis=0), 0.0)
    return Evaluation(
        seconds=end / 1e6,
        processors=tuple(ProcessorTime(*row) for row in (np.vstack((busy, idle)) / 1e6).T.tolist()),
        bytes_sent=size,
        messages=messages,
        unreceived=unreceived,
        path=critical_path(clocks.passages, int(np.argmax(clocks.ahead)), prices, places),
        events=tuple(events),
    )


def trace(clocks: Clocks, places: Sequence[Site], budget: Budget) -> list[TraceEvent]:
    """Return every step of every processor, by the time that it began."""
    events: list[TraceEvent] = []
    messages = 0
    for passage in clocks.passages:
        place = places[passage.plan.steps.place[0]]
        budget.spend(_EVENT_STEPS * len(passage.plan.steps), place.source, place.at)
        events.extend(_events(passage, places, messages))
        messages += len(passage.plan.sends)
    return sorted(events, key=lambda event: event.ready)


def _events(passage: ExecutedSegment, places: Sequence[Site], messages: int) -> Iterator[TraceEvent]:
    plan, steps = passage.plan, passage.plan.steps
    number = np.zeros(len(steps), np.int64)
    number[plan.sends] = number[plan.receives] = np.arange(len(plan.sends)) + messages + 1
    times = ((column + passage.lapse[0]).tolist() for column in plan.timeline(passage.ahead))
    rows = zip(
        steps.processor.tolist(),
        steps.kind.tolist(),
        *times,
        steps.peer.tolist(),
        number.tolist(),
        steps.amount.tolist(),
        steps.place.tolist(),
        strict=True,
    )
    for processor, kind, start, ready, end, peer, message, amount, at in rows:
        communicates, place = kind != COMPUTE, places[at]
        yield TraceEvent(
            processor + 1,
            kind,
            start,
            ready,
            end,
            peer + 1 if communicates else None,
            message or None,
            amount if communicates else 0.0,
            place.source.file,
            place.at.line,
        )
