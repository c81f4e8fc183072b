"""The step engine: from the steps that an object emits to an order in which they can be carried out.

Each processor carries out its own steps in the order emitted. A receive waits for its message; messages match first-in
first-out by source and destination. Nothing in the language reads a clock, so which message matches which does not
depend on when a segment starts: the order is found once, and the times follow from it for any state of the clocks
(`cosched.evaluation.machine`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from cosched.evaluation.faults import fail

if TYPE_CHECKING:
    from cosched.language.source import Source
    from cosched.language.syntax import Position

__all__ = ["COMPUTE", "RECEIVE", "SEND", "Channel", "Operation", "Recorder", "Segment"]

COMPUTE, SEND, RECEIVE = 0, 1, 2


class Channel:
    """The messages from one processor to another: arrival times, first in, first out."""

    __slots__ = ("arrivals", "destination", "sent", "source", "waiting")

    def __init__(self, source: int, destination: int) -> None:
        self.source = source
        self.destination = destination
        self.arrivals: deque[float] = deque()
        self.sent = 0  # while ordering: sent and not yet received
        self.waiting = False  # while ordering: the destination waits for the next message


class Operation(NamedTuple):
    """One use of a device by one processor.

    Attributes:
        kind: COMPUTE, SEND or RECEIVE.
        processor: counted from 0.
        cost: the processor's own time in microseconds.
        channel: of a message; None for COMPUTE.
        transfer: the network's time of a SEND, in microseconds.
        size: bytes of a SEND.
        place: source file and position of the step.
    """

    kind: int
    processor: int
    cost: float
    channel: Channel | None
    transfer: float
    size: float
    place: tuple[Source, Position]


@dataclass(eq=False)
class Segment:
    """Steps of one object between two calls, in an order that can be carried out.

    Attributes:
        order: the operations; each processor's are in its own order, a receive comes after its send.
        compute: busy time of each processor in microseconds.
        communication: time of each processor spent in sends and receives, in microseconds.
        size: bytes sent.
        messages: number sent.
        unreceived: messages that nobody received.
        results: clocks after the segment by clocks before it, both relative; filled by the machine.
    """

    order: list[Operation]
    compute: list[float]
    communication: list[float]
    size: float
    messages: int
    unreceived: int
    results: dict[tuple[float, ...], list[float]] = field(default_factory=dict)


class Recorder:
    """Collects operations and puts them in order."""

    def __init__(self, processors: int) -> None:
        self.processors = processors
        self.operations: list[Operation] = []
        self._channels: dict[tuple[int, int], Channel] = {}

    def compute(self, processors: range, cost: float, place: tuple[Source, Position]) -> None:
        """Add `cost` microseconds of work on each of the processors."""
        self.operations.extend(Operation(COMPUTE, p, cost, None, 0.0, 0.0, place) for p in processors)

    def send(self, source: int, destination: int, costs: tuple[float, float], size: float,
             place: tuple[Source, Position]) -> None:  # fmt: skip
        """Add a send; costs are the sender's and the network's."""
        channel = self._channel(source, destination)
        self.operations.append(Operation(SEND, source, costs[0], channel, costs[1], size, place))

    def receive(self, source: int, destination: int, cost: float, place: tuple[Source, Position]) -> None:
        """Add a receive by `destination` of the next message from `source`."""
        channel = self._channel(source, destination)
        self.operations.append(Operation(RECEIVE, destination, cost, channel, 0.0, 0.0, place))

    def close(self) -> Segment | None:
        """Return the operations since the last call in order, or None where there are none.

        Raises:
            ModelError: a receive can never match.
        """
        if not self.operations:
            return None
        order = _order(self.operations)
        compute, communication = [0.0] * self.processors, [0.0] * self.processors
        for operation in order:
            (communication if operation.kind else compute)[operation.processor] += operation.cost
        sends = [operation for operation in order if operation.kind == SEND]
        unreceived = sum(channel.sent for channel in self._channels.values())
        self.operations, self._channels = [], {}
        return Segment(order, compute, communication, sum(send.size for send in sends), len(sends), unreceived)

    def _channel(self, source: int, destination: int) -> Channel:
        key = (source, destination)
        found = self._channels.get(key)
        if found is None:
            found = self._channels[key] = Channel(source, destination)
        return found


def _order(operations: list[Operation]) -> list[Operation]:
    """Return the operations in an order in which every receive comes after its send."""
    order: list[Operation] = []
    held: dict[int, deque[Operation]] = {}  # what waits behind a receive, by processor
    for operation in operations:
        behind = held.get(operation.processor)
        if behind is not None:
            behind.append(operation)
        elif not _place(operation, order):
            held[operation.processor] = deque([operation])
        elif operation.kind == SEND and operation.channel is not None and operation.channel.waiting:
            _release(operation.channel.destination, order, held)
    if held:
        _deadlock(held, operations)
    return order


def _place(operation: Operation, order: list[Operation]) -> bool:
    """Append an operation that can be carried out now; return False for a receive that has to wait."""
    channel = operation.channel
    if channel is not None:
        if operation.kind == SEND:
            channel.sent += 1
        elif channel.sent == 0:
            channel.waiting = True
            return False
        else:
            channel.sent -= 1
    order.append(operation)
    return True


def _release(processor: int, order: list[Operation], held: dict[int, deque[Operation]]) -> None:
    """Carry out what was held behind a receive that now has its message, and what that releases in turn."""
    ready = [processor]
    while ready:
        processor = ready.pop()
        behind = held[processor]
        waited = behind[0].channel
        assert waited is not None
        waited.waiting = False
        while behind:
            operation = behind[0]
            if not _place(operation, order):
                break
            behind.popleft()
            channel = operation.channel
            if operation.kind == SEND and channel is not None and channel.waiting:
                channel.waiting = False
                ready.append(channel.destination)
        if not behind:
            del held[processor]


def _deadlock(held: dict[int, deque[Operation]], operations: list[Operation]) -> None:
    """Report a receive that never gets its message, and what its source does instead."""
    first = min(held)
    receive = held[first][0]
    assert receive.channel is not None
    source, (file, at) = receive.channel.source, receive.place
    message = f"deadlock: processor {first + 1} waits here for a message from processor {source + 1}, "
    if source in held:
        other = held[source][0]
        assert other.channel is not None
        where = f"{other.place[0].file}:{other.place[1].line}"
        message += f"which waits in {where} for one from processor {other.channel.source + 1}"
    else:
        last = next((step for step in reversed(operations) if step.processor == source), None)
        where = f"its last step is in {last.place[0].file}:{last.place[1].line}" if last else "it has no steps"
        message += f"which sends none: {where}"
    fail(file, at, message)
