"""What an evaluation answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Evaluation", "ProcessorTime", "TraceEvent"]


class ProcessorTime(NamedTuple):
    """Where one processor's time went, in seconds: the three add up to the run time.

    Idle is the time spent waiting for messages, and for the others at the end.
    """

    compute: float
    communication: float
    idle: float


class TraceEvent(NamedTuple):
    """One step of one processor. Times are microseconds from the start of the program.

    Attributes:
        processor: from 1.
        kind: 0 compute, 1 send, 2 receive.
        start: when the processor came to the step.
        ready: when it could begin: later than `start` where it waited for a message.
        end: when the step ended.
        peer: the other processor of a message, from 1.
        size: bytes of a send.
        file: and `line`: where the model says so.
    """

    processor: int
    kind: int
    start: float
    ready: float
    end: float
    peer: int | None
    size: float
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One application on one hardware and one number of hosts.

    Attributes:
        seconds: predicted run time.
        processors: where each processor's time went, processor 1 first.
        bytes_sent: bytes on the network.
        messages: number of messages.
        unreceived: messages that no processor received; a sign of a wrong template.
        events: the trace, in an order in which it can have happened; empty unless asked for.
    """

    seconds: float
    processors: tuple[ProcessorTime, ...]
    bytes_sent: float
    messages: int
    unreceived: int
    events: tuple[TraceEvent, ...] = ()
