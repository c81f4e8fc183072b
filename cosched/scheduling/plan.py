"""A plan orders the tasks and gives each a host count and class: the chromosome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


__all__ = ["Plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The search's chromosome: for each task its place in an order, host count and class.

    Attributes:
        order: (m,) int64, a permutation of task indices.
        counts: (m,) int64, counts[j] is the number of hosts of task j (indexed by task, not by position); where hosts
            are shared, the row of its shape in `Problem.packing`.
        classes: (m,) int64, classes[j] is the class whose hosts alone run task j, -1 for hosts of any classes, those
            that end it first; None for -1 throughout.
    """

    order: NDArray[np.int64]
    counts: NDArray[np.int64]
    classes: NDArray[np.int64] | None = None
