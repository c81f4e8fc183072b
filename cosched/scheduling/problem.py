"""What is to be scheduled: waiting tasks, hosts, predicted times. Pure data, arrays all the way down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from cosched.scheduling.absences import Absence

__all__ = ["Plan", "Problem", "Weights"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A scheduling problem. Times are seconds after an origin that the caller chooses (the daemon: now).

    Attributes:
        tasks: names of the m tasks.
        hosts: names of the N hosts.
        classes: names of the K host classes.
        host_class: (N,) int64, index of each host's class.
        free: (N,) float64, when each host becomes free (running tasks' predicted ends; 0 for idle hosts).
        seconds: (K, m, N) float64; seconds[k, j, n-1] is the run time of task j on n hosts when k is the slowest class
            among them; infinite where that count cannot be used. At least one entry a task is finite.
        release: (m,) float64, earliest start; 0 for none.
        deadline: (m,) float64; infinite for none.
        depends_on: for each task the indices of the tasks that must end before it starts; may be empty where none must.
        absences: when hosts are not there, after they have become free: ascending by host, then time, without overlap
            (see `absences.settled`). Only counts are used that hosts which stay or come back suffice for.
    """

    tasks: tuple[str, ...]
    hosts: tuple[str, ...]
    classes: tuple[str, ...]
    host_class: NDArray[np.int64]
    free: NDArray[np.float64]
    seconds: NDArray[np.float64]
    release: NDArray[np.float64]
    deadline: NDArray[np.float64]
    depends_on: tuple[tuple[int, ...], ...] = ()
    absences: tuple[Absence, ...] = ()

    def ready(self, task: int, ends: Mapping[int, float]) -> float:
        """Return when a task has been released and all that it comes after have ended, as `ends` has it by task."""
        before = self.depends_on[task] if self.depends_on else ()
        return max([float(self.release[task]), *[ends[other] for other in before]])


@dataclass(frozen=True, slots=True)
class Plan:
    """A solution as the search sees it (its chromosome): for each task its place in an order, host count and class.

    Attributes:
        order: (m,) int64, a permutation of task indices.
        counts: (m,) int64, counts[j] is the number of hosts of task j (indexed by task, not by position).
        classes: (m,) int64, classes[j] is the class whose hosts alone run task j, -1 for hosts of any classes, those
            that end it first; None for -1 throughout.
    """

    order: NDArray[np.int64]
    counts: NDArray[np.int64]
    classes: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the objective: each term is normalised to a pure number of order one before it is weighted.

    Attributes:
        makespan: of makespan ÷ lower bound.
        idle: of the front-weighted idle share.
        lateness: of the mean lateness ÷ lower bound.
        deadlines_first: fewer missed deadlines are always better; the weighted terms decide between equals.
    """

    makespan: float = 1.0
    idle: float = 0.2
    lateness: float = 5.0
    deadlines_first: bool = False
