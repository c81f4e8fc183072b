"""Steps of processors as columns: what the front ends emit and the clocks are computed from.

Each processor carries out its own steps in the order emitted. A receive waits for its message; messages match first-in
first-out by source and destination. Nothing in the language reads a clock, so which message matches which does not
depend on when a segment starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]
    Operation = tuple[int, int, int, float, int]

__all__ = ["COMPUTE", "RECEIVE", "SEND", "Recorder", "Steps"]

COMPUTE, SEND, RECEIVE = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Steps of one object between two calls, shape (steps,) each; a processor's are together and in its order.

    Attributes:
        kind: COMPUTE, SEND or RECEIVE.
        processor: counted from 0, ascending.
        peer: the other processor of a message; any number for COMPUTE.
        amount: time of a COMPUTE in microseconds, bytes of a message.
        place: number of the step in the model, see `cosched.evaluation.places`.
    """

    kind: NDArray[np.int8]
    processor: Indices
    peer: Indices
    amount: Floats
    place: NDArray[np.int32]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.kind)


class Recorder:
    """Collects the steps of one number of hosts, one by one.

    Attributes:
        operations: (kind, processor, peer, amount, place) in the order emitted.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def compute(self, processors: range, time: float, place: int) -> None:
        """Add `time` microseconds of work on each of the processors."""
        self.operations.extend((COMPUTE, processor, processor, time, place) for processor in processors)

    def send(self, source: int, destination: int, size: float, place: int) -> None:
        """Add a send of `size` bytes."""
        self.operations.append((SEND, source, destination, size, place))

    def receive(self, source: int, destination: int, size: float, place: int) -> None:
        """Add a receive by `destination` of the next message from `source`."""
        self.operations.append((RECEIVE, destination, source, size, place))

    def close(self) -> Steps | None:
        """Return the steps since the last call, or None where there are none."""
        if not self.operations:
            return None
        kind, processor, peer, amount, place = zip(*self.operations, strict=True)
        self.operations = []
        owner = np.array(processor, np.int64)
        order = np.argsort(owner, kind="stable")
        return Steps(np.array(kind, np.int8)[order], owner[order], np.array(peer, np.int64)[order],
                     np.array(amount, np.float64)[order], np.array(place, np.int32)[order])  # fmt: skip
