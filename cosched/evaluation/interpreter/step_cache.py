"""The cache keeps the steps of objects' last evaluations, without deferred times and sizes.

Other parameters, another hardware and most turns of a search change those alone.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cosched.evaluation.clocks.steps import StepShape

__all__ = ["StepTemplate", "forget", "recall", "remember"]

_MOST_STEPS = 500_000  # of all that are remembered: some 40 MB
_AN_OBJECT = 1_000  # steps that take as much as what is remembered of an object besides its steps


class StepTemplate(NamedTuple):
    """Steps with deferred amounts (`cosched.evaluation.interpreter.invariance`) still to be filled in.

    Attributes:
        shape: shape of the steps. Its first uses are those with deferred amounts, each on all numbers of hosts.
        amounts: amount of each use; 0 where it is deferred.
        deferred: site of each deferred amount, and the numbers of hosts that have such steps, by index and ascending.
    """

    shape: StepShape
    amounts: NDArray[np.float64]
    deferred: tuple[tuple[int, NDArray[np.int64]], ...]

    def __len__(self) -> int:
        """Return how many steps."""
        return len(self.shape.kind)


_known: OrderedDict[Hashable, tuple[Sequence[StepTemplate], object]] = OrderedDict()
_using = Lock()


def recall(key: Hashable) -> Sequence[StepTemplate] | None:
    """Return the entry of a key, or None."""
    with _using:
        if key not in _known:
            return None
        _known.move_to_end(key)
        return _known[key][0]


def remember(key: Hashable, drafts: Sequence[StepTemplate], alive: object) -> None:
    """Keep the segments of an object's program, and drop the least recently used.

    What the key identifies by its address is kept alive with it.
    """
    if _size(drafts) > _MOST_STEPS:
        return
    with _using:
        _known[key] = drafts, alive
        while sum(_size(program) for program, _ in _known.values()) > _MOST_STEPS:
            _known.popitem(last=False)


def _size(drafts: Sequence[StepTemplate]) -> int:
    return _AN_OBJECT + sum(map(len, drafts))


def forget() -> None:
    """Drop all entries, to measure or to free memory."""
    with _using:
        _known.clear()
