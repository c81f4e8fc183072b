"""A problem holds waiting tasks, hosts and predicted run times, as arrays.

A problem is pure data; times are seconds after an origin that the caller chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from cosched.scheduling.availability import Unavailability
    from cosched.scheduling.elastic.tasks import ElasticTask, RunningTask
    from cosched.scheduling.licences import Licences
    from cosched.scheduling.packing import Packing
    from cosched.scheduling.ways import ChainWays

__all__ = ["Problem", "Turns"]


class Turns(NamedTuple):
    """Users take turns: it is settled whose task stands at which place, not which one.

    Attributes:
        user: (m,) int64, index of each task's user; -1 for tasks that may stand anywhere.
        sequence: int64, the user of the first of these tasks in an order, of the second, and so on.
    """

    user: NDArray[np.int64]
    sequence: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Problem:
    """A scheduling problem. Times are seconds after an origin that the caller chooses.

    The daemon's origin is the present.

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
        unavailability: when hosts are away after they have become free: ascending by host, then time, no overlap
            (see `availability.normalised_availability`). Only counts are used that the hosts which stay or come back
            suffice for.
        weight: (m,) float64 above 0, how much lateness and a missed deadline count; None: 1 for each task.
        waited: (m,) float64, seconds since each task was submitted, at the origin; below 0 where it is to count from
            later. None where nobody asks for slowdown.
        turns: order of users among some tasks; None where any order may be.
        packing: what tasks take of hosts that they share; None where each has its hosts for itself. The run times of
            `seconds` are then those of the quickest shape on so many hosts.
        elastic: tasks that may change their hosts while they run, by index; a plan's count is then what they keep.
            None where there are none.
        licences: what tasks hold of the domain's licences while they run; None where no task asks for any.
        running: tasks that run already, by index; they go on. None where all wait.
        ways: chains of tasks whose host counts are to be those of one of their ways.
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
    unavailability: tuple[Unavailability, ...] = ()
    weight: NDArray[np.float64] | None = None
    waited: NDArray[np.float64] | None = None
    turns: Turns | None = None
    packing: Packing | None = None
    elastic: Mapping[int, ElasticTask] | None = None
    licences: Licences | None = None
    running: Mapping[int, RunningTask] | None = None
    ways: tuple[ChainWays, ...] = ()

    def ready(self, task: int, ends: Mapping[int, float]) -> float:
        """Return when a task is released and its predecessors have ended, by their `ends`."""
        before = self.depends_on[task] if self.depends_on else ()
        return max([float(self.release[task]), *[ends[other] for other in before]])
