"""Choices of all tasks drawn anew, such that together they are a wanted amount of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.kernels.jit import compiled
from cosched.scheduling.kernels.search.genetic_operators import random_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["draw_choices"]

_TRIES = 20  # other choices that are tried, for each task
_NEAR = 0.005  # of the work that is wanted


@compiled
def draw_choices(
    state: NDArray[np.uint64],
    work: NDArray[np.float64],
    first: NDArray[np.int64],
    wanted: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return (P, m) choices of P plans, as indices of `work`.

    Each is drawn from all of its task's; then one after the other is drawn once more, and changed if all work comes
    no less near to what is wanted.

    Args:
        state: state of the random numbers.
        work: host-seconds of each choice of each task, those of j in work[first[j]:first[j+1]].
        first: (m+1,) see `work`.
        wanted: (P,) host-seconds of each plan.
    """
    plans, tasks = wanted.shape[0], first.shape[0] - 1
    drawn = np.empty((plans, tasks), dtype=np.int64)
    for plan in range(plans):
        missing = wanted[plan]
        for task in range(tasks):
            drawn[plan, task] = _any(state, first, task)
            missing -= work[drawn[plan, task]]
        tries = 0
        while tries < _TRIES * tasks and abs(missing) > _NEAR * wanted[plan]:
            tries += 1
            task = int(random_unit(state) * tasks)
            other = _any(state, first, task)
            left = missing + work[drawn[plan, task]] - work[other]
            if abs(left) <= abs(missing):
                drawn[plan, task], missing = other, left
    return drawn


@compiled
def _any(state: NDArray[np.uint64], first: NDArray[np.int64], task: int) -> int:
    return int(first[task] + int(random_unit(state) * (first[task + 1] - first[task])))
