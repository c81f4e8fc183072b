"""Parts of lower bounds of the makespan that licences of the domain decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.stairs import free_licences
from cosched.scheduling.licences import binding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from cosched.scheduling.licences import Licences
    from cosched.scheduling.problem import Problem

__all__ = ["licence_areas", "licences_ready"]


def licences_ready(problem: Problem) -> NDArray[np.float64]:
    """Return (m,): when what runs has given back the licences of each task, if nobody else took them."""
    free = free_licences(problem)
    if free is None:
        return np.zeros(len(problem.tasks))
    return np.array([free.free_from(task) for task in range(len(problem.tasks))])


def licence_areas(
    problem: Problem,
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]:
    """Yield portions of each licence: when each is free, how much it is, and (m,) what each task holds of them all.

    First as they are. Then tasks that hold more than half of a licence: no two of them run side by side, so that each
    holds all of it (the simplest of the dual feasible functions, see `packed_bounds`).
    """
    licences = binding(problem.licences)
    for number in range(0 if licences is None else len(licences.names)):
        assert licences is not None, "there are none"
        demand, total = licences.demand[:, number], float(licences.total[number])
        yield *_portions(licences, number), demand.astype(np.float64)
        halves = demand * 2 > total
        if (halves & (demand < total)).any():
            yield np.zeros(1), np.ones(1), halves.astype(np.float64)


def _portions(licences: Licences, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    left, portions = int(licences.total[number]), list[tuple[float, int]]()
    # Where more is in use than there is, what is given back first is nobody's.
    for until, amount in sorted(((item.until, item.taken[number]) for item in licences.held), reverse=True):
        portions.append((max(until, 0.0), min(amount, left)))
        left -= portions[-1][1]
    free, amounts = np.array([(time, amount) for time, amount in [*portions, (0.0, left)] if amount]).T
    return free, amounts
