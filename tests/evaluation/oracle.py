"""A discrete-event simulation of processors that pass messages. It shares no code with the engine that it judges."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from dataclasses import dataclass

COMPUTE, SEND, RECEIVE = 0, 1, 2


@dataclass(frozen=True)
class Use:
    """What one processor does next.

    Attributes:
        kind: COMPUTE, SEND or RECEIVE.
        processor: from 0.
        cost: its own time.
        peer: the other processor of a message.
        transfer: the network's time of a send.
    """

    kind: int
    processor: int
    cost: float
    peer: int = 0
    transfer: float = 0.0


def simulate(count: int, uses: list[Use], start: list[float]) -> list[float]:
    """Return when each processor, begun at `start`, has done all its uses; AssertionError where one waits for ever.

    Each event is a processor that is free: it does its next use, or sleeps until the message that it wants is sent.
    """
    work = [deque(use for use in uses if use.processor == index) for index in range(count)]
    mail: dict[tuple[int, int], deque[float]] = defaultdict(deque)
    asleep: dict[tuple[int, int], float] = {}
    clocks = list(start)
    events = [(clock, index) for index, clock in enumerate(clocks)]
    heapq.heapify(events)
    while events:
        now, index = heapq.heappop(events)
        if not work[index]:
            continue
        use = work[index][0]
        way = (use.peer, index) if use.kind == RECEIVE else (index, use.peer)
        if use.kind == RECEIVE and not mail[way]:
            asleep[way] = now
            continue
        work[index].popleft()
        begin = max(now, mail[way].popleft()) if use.kind == RECEIVE else now
        clocks[index] = begin + use.cost
        heapq.heappush(events, (clocks[index], index))
        if use.kind == SEND:
            mail[way].append(clocks[index] + use.transfer)
            if way in asleep:
                heapq.heappush(events, (asleep.pop(way), use.peer))
    assert not any(work), "deadlock"
    return clocks
