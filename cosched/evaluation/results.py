"""Hold the answers of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["TRANSFER", "Evaluation", "PathPart", "ProcessorTime", "TraceEvent"]

TRANSFER = 3
"""Kind of a part of the critical path that is the network's, beside COMPUTE, SEND and RECEIVE."""


class ProcessorTime(NamedTuple):
    """One processor's time in seconds: the three parts add up to the run time.

    Idle is the time spent waiting for messages, and for the others at the end.
    """

    compute: float
    communication: float
    idle: float


class PathPart(NamedTuple):
    """A statement's part in the critical path, the chain of steps that bounds the run.

    Attributes:
        file: and `line`: where the model says so.
        kind: COMPUTE, SEND, RECEIVE or TRANSFER.
        times: how often it is on the path.
        seconds: all its time there; the parts of a path add up to the run time.
        latency: the part that does not depend on a message's size; 0 for COMPUTE.
    """

    file: str
    line: int
    kind: int
    times: int
    seconds: float
    latency: float


class TraceEvent(NamedTuple):
    """One step of one processor. Times are microseconds from the start of the program.

    Attributes:
        processor: from 1.
        kind: 0 compute, 1 send, 2 receive.
        start: when the processor came to the step.
        ready: when it could begin: later than `start` where it waited for a message.
        end: when the step ended.
        peer: the other processor of a message, from 1.
        message: the same number, from 1, at a send and at its receive; None for work and unreceived messages.
        size: bytes of a message.
        file: and `line`: where the model says so.
    """

    processor: int
    kind: int
    start: float
    ready: float
    end: float
    peer: int | None
    message: int | None
    size: float
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One application on one hardware and one number of hosts.

    Attributes:
        seconds: predicted run time.
        processors: the parts of each processor's time, processor 1 first.
        bytes_sent: bytes on the network.
        messages: number of messages.
        unreceived: messages that no processor received; a sign of a wrong template.
        path: the critical path by statement, the longest first.
        events: the trace, by the time that steps began; empty unless asked for.
    """

    seconds: float
    processors: tuple[ProcessorTime, ...]
    bytes_sent: float
    messages: int
    unreceived: int
    path: tuple[PathPart, ...]
    events: tuple[TraceEvent, ...] = ()
