"""The profile matrix caches the time-independent part of a problem, one row per task."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.host_counts import best_times

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.coscheduler.task import Task
    from cosched.prediction.calibration import Correction

__all__ = ["ProfileMatrix", "widened"]


@dataclass(slots=True)
class ProfileMatrix:
    """Cache of the time-independent part of a problem, one row per waiting task.

    Attributes:
        hosts: the class of each.
        assumptions: corrections and quantile that `times` reckons with.
        classes: of the hosts, each once.
        host_class: (hosts,) indices of classes.
        row: of each task that waits and maybe others.
        times: (classes, rows, widest) of `run_times` without a hand-over, up to the last count that any task can use:
            of hundreds of hosts, few columns hold anything.
        able: (rows,) whether these hosts can run it.
        deadline: (rows,) epoch seconds, infinite for none.
    """

    hosts: tuple[str, ...]
    assumptions: tuple[Mapping[str, Correction], float]
    classes: tuple[str, ...]
    host_class: NDArray[np.int64]
    row: dict[str, int]
    times: NDArray[np.float64]
    able: NDArray[np.bool_]
    deadline: NDArray[np.float64]

    @classmethod
    def none(cls, hosts: tuple[str, ...], assumptions: tuple[Mapping[str, Correction], float]) -> ProfileMatrix:
        """Return those of no task."""
        classes = tuple(sorted(set(hosts)))
        host_class = np.array([classes.index(each) for each in hosts], dtype=np.int64)
        times = np.empty((len(classes), 0, 1))
        return cls(hosts, assumptions, classes, host_class, {}, times, np.empty(0, dtype=np.bool_), np.empty(0))

    def add(self, tasks: Sequence[Task], times: Sequence[NDArray[np.float64]]) -> None:
        """Add tasks with their (classes, hosts) run times."""
        self.row |= {task.id: row for row, task in enumerate(tasks, len(self.able))}
        new = _without_empty_columns(np.array(times).swapaxes(0, 1))
        widest = max(self.times.shape[2], new.shape[2])
        self.times = np.concatenate((widened(self.times, widest), widened(new, widest)), axis=1)
        self.able = np.concatenate((self.able, np.isfinite(best_times(new, self.host_class)).any(axis=1)))
        deadline = [math.inf if task.spec.deadline is None else task.spec.deadline for task in tasks]
        self.deadline = np.concatenate((self.deadline, deadline))


def widened(times: NDArray[np.float64], columns: int) -> NDArray[np.float64]:
    """Return times widened to `columns`, infinite in the new ones."""
    if times.shape[2] == columns:
        return times
    wide = np.empty((*times.shape[:2], columns))
    wide[:, :, : times.shape[2]] = times
    wide[:, :, times.shape[2] :] = math.inf
    return wide


def _without_empty_columns(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return times without the last columns if there is nothing in them."""
    used = np.flatnonzero(np.isfinite(times).any(axis=(0, 1)))
    return times[:, :, : int(used[-1]) + 1 if len(used) else 1]
