"""Steps of processors as columns: what the interpreter emits and clocks are computed from.

A receive waits for its message; messages match first-in first-out by source and destination. Nothing in the language
reads a clock, so which message matches which does not depend on when a segment starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

    Indices = NDArray[np.int64]

__all__ = ["COMPUTE", "RECEIVE", "SEND", "StepShape", "Steps", "merge_classes", "stable_order"]


_SHORT = 1 << 16
_PARTS = 32  # at least so long, on average


def stable_order(keys: NDArray[np.int64], bound: int) -> NDArray[np.int64]:
    """Return the stable order that sorts keys from 0 to less than `bound`."""
    # numpy sorts short integers by their digits: linear, and several times faster than by comparison. Faster still it
    # merges a few sorted parts.
    short = bound <= _SHORT and _PARTS * np.count_nonzero(keys[1:] < keys[:-1]) > len(keys)
    return np.argsort(keys.astype(np.uint16) if short else keys, kind="stable")


COMPUTE, SEND, RECEIVE = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class StepShape:
    """Steps of one object between two calls, without their amounts.

    The steps of a processor are together and in its order.

    Steps with the same use have the same kind, place and amount: a use is a statement on one number of hosts, so there
    are few beside the steps. Columns are of shape (steps,), those of uses (uses,).

    Attributes:
        kind: COMPUTE, SEND or RECEIVE.
        processor: counted from 0, ascending.
        peer: the other processor of a message; any number for COMPUTE.
        use: use of each step.
        kinds: kind of each use.
        places: number of each use in the model, see `cosched.evaluation.sites`.
        origin: the shape with the same steps that this one was taken apart from, if any.
    """

    kind: NDArray[np.int8]
    processor: Indices
    peer: Indices
    use: Indices
    kinds: NDArray[np.int8]
    places: NDArray[np.int32]
    origin: StepShape | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Steps of one object between two calls.

    Attributes:
        shape: all but the amounts.
        amounts: amount of each use: time of a COMPUTE in microseconds, bytes of a message.
    """

    shape: StepShape
    amounts: Floats

    @classmethod
    def each(
        cls, kind: NDArray[np.int8], processor: Indices, peer: Indices, amount: Floats, place: NDArray[np.int32]
    ) -> Steps:
        """Return steps that are a use each, from their columns."""
        return cls(StepShape(kind, processor, peer, np.arange(len(kind)), kind, place), amount)

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
        apart = replace(
            shape, use=np.arange(len(self)), kinds=shape.kind, places=self.place, origin=shape.origin or shape
        )
        return Steps(apart, self.amount if amount is None else amount)


def merge_classes(programs: Sequence[Sequence[Steps]], kind: NDArray[np.int64]) -> list[Steps]:
    """Return the program in which each processor works as its own kind of host.

    Each processor runs the same model, with the costs of its own host: so the programs have the same steps, and only
    the times of work differ.

    Args:
        programs: programs of the whole application, each as if all hosts were of one kind; one for each kind.
        kind: kind of each processor's host.

    Raises:
        UserError: the steps themselves depend on the costs.
    """
    if len(programs) == 1:
        return list(programs[0])
    if len({len(program) for program in programs}) > 1:
        raise _programs_differ()
    known: dict[tuple[int, ...], Steps] = {}
    made = []
    for segments in zip(*programs, strict=True):
        key = tuple(map(id, segments))
        if key not in known:
            known[key] = _merged_segment(segments, kind)
        made.append(known[key])
    return made


def _merged_segment(segments: Sequence[Steps], kind: NDArray[np.int64]) -> Steps:
    first = segments[0]
    work = first.kind == COMPUTE
    for other in segments[1:]:
        same = all(
            np.array_equal(getattr(first, name), getattr(other, name))
            for name in ("kind", "processor", "peer", "place")
        )
        if not same or not np.array_equal(first.amount[~work], other.amount[~work]):
            raise _programs_differ()
    amounts = np.stack([segment.amount for segment in segments])
    return first.apart(amounts[kind[first.processor], np.arange(len(first))])


def _programs_differ() -> UserError:
    return UserError(
        "who sends what to whom depends on what the work costs: that has no meaning on hosts of several "
        "kinds; take costs out of conditions, counts of turns and sizes"
    )
