"""Steps of processors as columns: what the front ends emit and the clocks are computed from.

Each processor carries out its own steps in the order emitted. A receive waits for its message; messages match first-in
first-out by source and destination. Nothing in the language reads a clock, so which message matches which does not
depend on when a segment starts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.evaluation.topology import Topology

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]
    Operation = tuple[int, int, int, float, int]

__all__ = ["COMPUTE", "RECEIVE", "SEND", "Recorder", "Shape", "Steps"]

COMPUTE, SEND, RECEIVE = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Steps of one object between two calls but for their amounts; a processor's are together and in its order.

    Steps with the same use have the same kind, place and amount: a use is a statement on one number of hosts, so there
    are few beside the steps. Columns are of shape (steps,), those of uses (uses,).

    Attributes:
        kind: COMPUTE, SEND or RECEIVE.
        processor: counted from 0, ascending.
        peer: the other processor of a message; any number for COMPUTE.
        use: of each step.
        kinds: of each use.
        places: number of each use in the model, see `cosched.evaluation.places`.
        topologies: what was found out about who waits for whom, by the number of processors.
    """

    kind: NDArray[np.int8]
    processor: Indices
    peer: Indices
    use: Indices
    kinds: NDArray[np.int8]
    places: NDArray[np.int32]
    topologies: dict[int, Topology] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Steps of one object between two calls.

    Attributes:
        shape: all but the amounts.
        amounts: of each use: time of a COMPUTE in microseconds, bytes of a message.
    """

    shape: Shape
    amounts: Floats

    @classmethod
    def each(
        cls, kind: NDArray[np.int8], processor: Indices, peer: Indices, amount: Floats, place: NDArray[np.int32]
    ) -> Steps:
        """Return steps that are a use each, from their columns."""
        return cls(Shape(kind, processor, peer, np.arange(len(kind)), kind, place), amount)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.shape.kind)

    @property
    def kind(self) -> NDArray[np.int8]:
        """Of each step, as in its shape."""
        return self.shape.kind

    @property
    def processor(self) -> Indices:
        """Of each step, as in its shape."""
        return self.shape.processor

    @property
    def peer(self) -> Indices:
        """Of each step, as in its shape."""
        return self.shape.peer

    @property
    def place(self) -> NDArray[np.int32]:
        """Of each step."""
        return self.shape.places.take(self.shape.use)

    @property
    def amount(self) -> Floats:
        """Of each step."""
        return self.amounts.take(self.shape.use)

    def apart(self, amount: Floats | None = None) -> Steps:
        """Return the same steps as a use each, with their own amounts or those given."""
        shape = self.shape
        use, place = np.arange(len(self)), self.place
        return Steps(replace(shape, use=use, kinds=shape.kind, places=place), self.amount if amount is None else amount)


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
        return Steps.each(
            np.array(kind, np.int8)[order],
            owner[order],
            np.array(peer, np.int64)[order],
            np.array(amount, np.float64)[order],
            np.array(place, np.int32)[order],
        )
