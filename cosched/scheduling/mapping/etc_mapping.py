"""Mapping heuristics for independent tasks on heterogeneous machines, each task on one machine (ETC matrices).

Min-Min, Max-Min and Sufferage after Braun et al. (J. Parallel and Distributed Computing 61(6), 2001) and Maheswaran et
al. (JPDC 59(2), 1999); A-MM after Sliamu, Hou and Cao, "Enhanced Adaptive Scheduling for the Grid Harvest Service".
All place one task after the other where it would be done first; they differ in which task is next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.scheduling.schedule import Assignment, Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

    _Machines = NDArray[np.int64]
    _Times = NDArray[np.float64]
    ComparedMapping = tuple[_Machines, _Machines, int]
    _Chooser = Callable[["_UnmappedTasks"], int]

__all__ = [
    "CRITICAL",
    "a_mm",
    "a_mm_at",
    "is_etc_matrix",
    "mapped_schedule",
    "mapping_makespan",
    "max_min",
    "min_min",
    "misfit",
    "single_host_seconds",
    "single_host_seconds_when_busy",
    "sufferage",
]

CRITICAL = tuple(step / 20 for step in range(2, 21))
"""0.1 … 1 by 0.05: the relative standard deviations above which A-MM may turn to Max-Min."""


def is_etc_matrix(problem: Problem) -> bool:
    """Return whether a problem is an ETC matrix: independent one-host tasks, several classes.

    None has a release, a deadline or a predecessor, and all hosts are idle and stay.
    """
    if problem.packing is not None or len(np.unique(problem.host_class)) == 1:
        return False  # at once: what is asked below takes twice the memory of the problem
    constrained = np.isfinite(problem.deadline).any() or _obstacle(problem) is not None
    return not constrained and not np.isfinite(problem.seconds[:, :, 1:]).any()


def misfit(problem: Problem, policy: str) -> str | None:
    """Return why a mapping policy refuses a problem, as text for users, or None."""
    obstacle = _obstacle(problem)
    if obstacle is None:
        return None
    return (
        f"{policy} places independent tasks on one host each, all there at the start: {obstacle}; choose another policy"
    )


def single_host_seconds(problem: Problem) -> NDArray[np.float64]:
    """Return (m, N) run times on each host alone, infinite where one cannot run it."""
    return np.ascontiguousarray(problem.seconds[problem.host_class, :, 0].T)


def single_host_seconds_when_busy(problem: Problem) -> NDArray[np.float64]:
    """Return (m, N) as `single_host_seconds`, of tasks that wait for hosts which may be busy.

    Raises:
        UserError: one cannot run on one host.
    """
    seconds = single_host_seconds(problem)
    stuck = ~np.isfinite(seconds).any(axis=1)
    if stuck.any():
        task = problem.tasks[int(stuck.argmax())]
        raise UserError(f"this policy places a task on one host, and {task} cannot run on one: choose another policy")
    return seconds


def mapped_schedule(problem: Problem, machine: _Machines, order: _Machines) -> Schedule:
    """Return the schedule that runs the tasks on their machines in order, without gaps.

    Args:
        problem: the problem to schedule.
        machine: (m,) index of each task's host.
        order: (m,) the tasks, those of a machine in the order in which they run there.
    """
    seconds = single_host_seconds(problem)[np.arange(len(machine)), machine].tolist()
    free = problem.free.tolist()
    assignments = []
    for task in order.tolist():
        host = int(machine[task])
        start, free[host] = free[host], free[host] + seconds[task]
        assignments.append(Assignment(problem.tasks[task], (problem.hosts[host],), start, free[host]))
    return Schedule(tuple(assignments))


def min_min(seconds: NDArray[np.float64], ready: _Times | None = None) -> tuple[_Machines, _Machines]:
    """Place the task that can be done first next.

    Args:
        seconds: (m, N) run times, infinite where a task cannot run; a finite one in each row.
        ready: (N,) when each machine becomes free; None: all at once.

    Returns:
        (m,) the machine of each task; (m,) the order in which they were placed.
    """
    return _map(seconds, ready, lambda waiting: waiting.soonest())


def max_min(seconds: NDArray[np.float64], ready: _Times | None = None) -> tuple[_Machines, _Machines]:
    """Place next the task whose earliest end is the latest.

    Arguments and result are those of `min_min`.
    """
    return _map(seconds, ready, lambda waiting: waiting.latest())


def sufferage(seconds: NDArray[np.float64], ready: _Times | None = None) -> tuple[_Machines, _Machines]:
    """Place next the task that would lose most on its second-best machine.

    Arguments and result are those of `min_min`.
    """
    return _map(seconds, ready, lambda waiting: waiting.loser())


def a_mm(seconds: NDArray[np.float64], ready: _Times | None = None, *, execution: bool = False) -> ComparedMapping:
    """Return A-MM's mapping: as Max-Min while the waiting tasks differ much, else as Min-Min.

    They differ much while the relative standard deviation of their `Min_Time` exceeds a critical value. That value is
    swept from 0.1 to 1 by 0.05, and besides "never"; the mapping with the smallest makespan wins.

    Args:
        seconds: as of `min_min`.
        ready: likewise.
        execution: the paper has it both ways. False: Min_Time is each task's earliest completion, as in its
            pseudo-code (Fig. 4); True: its shortest run time whatever the machines' loads, as in its Definition 1.

    Returns:
        As `min_min`, and how many mappings were compared.
    """
    found = [min_min(seconds, ready)]
    found += [a_mm_at(seconds, critical, ready, execution=execution) for critical in CRITICAL]
    machine, order = min(found, key=lambda mapping: mapping_makespan(seconds, mapping[0], ready))
    return machine, order, len(found)


def a_mm_at(
    seconds: NDArray[np.float64], critical: float, ready: _Times | None = None, *, execution: bool = False
) -> tuple[_Machines, _Machines]:
    """Return A-MM's mapping for one critical value.

    The other arguments are those of `a_mm`; the result is that of `min_min`.
    """
    return _map(seconds, ready, _turning(seconds.min(axis=1), critical, execution=execution))


def mapping_makespan(seconds: _Times, machine: _Machines, ready: _Times | None = None) -> float:
    """Return when the last task of a mapping ends; other arguments as of `min_min`."""
    loads = np.bincount(machine, weights=seconds[np.arange(len(machine)), machine], minlength=seconds.shape[1])
    return float(loads.max() if ready is None else (loads + ready)[np.unique(machine)].max())


def _turning(shortest: NDArray[np.float64], critical: float, *, execution: bool) -> _Chooser:
    def choose(waiting: _UnmappedTasks) -> int:
        times = (shortest if execution else waiting.end)[waiting.here]
        uneven = len(times) > 1 and float(times.std(ddof=1)) > critical * float(times.mean())
        return waiting.latest() if uneven else waiting.soonest()

    return choose


class _UnmappedTasks:
    """Unmapped tasks with their earliest end, its machine, and the loss elsewhere."""

    def __init__(self, seconds: _Times, ready: _Times | None) -> None:
        self._seconds = seconds
        self._loads = np.zeros(seconds.shape[1]) if ready is None else ready.astype(np.float64)
        self.here = np.ones(len(seconds), dtype=np.bool_)
        self.end = np.empty(len(seconds))
        self._loss = np.empty(len(seconds))
        self._machine = np.empty(len(seconds), dtype=np.int64)
        self._second = np.empty(len(seconds), dtype=np.int64)
        self._look(np.arange(len(seconds)))

    def soonest(self) -> int:
        return int(np.where(self.here, self.end, np.inf).argmin())

    def latest(self) -> int:
        return int(np.where(self.here, self.end, -np.inf).argmax())

    def loser(self) -> int:
        return int(np.where(self.here, self._loss, -np.inf).argmax())

    def take(self, task: int) -> int:
        """Place a task on its best machine, and return that machine.

        Only tasks with this machine as their best or second-best choose anew.
        """
        machine = int(self._machine[task])
        self._loads[machine] += self._seconds[task, machine]
        self.here[task] = False
        concerned = self.here & ((self._machine == machine) | (self._second == machine))
        self._look(np.flatnonzero(concerned))
        return machine

    def _look(self, tasks: NDArray[np.int64]) -> None:
        ends = self._loads + self._seconds[tasks]
        rows = np.arange(len(tasks))
        self._machine[tasks] = first = ends.argmin(axis=1)
        self.end[tasks] = ends[rows, first]
        ends[rows, first] = np.inf
        self._second[tasks] = second = ends.argmin(axis=1)
        self._loss[tasks] = ends[rows, second] - self.end[tasks]


def _map(seconds: _Times, ready: _Times | None, choose: _Chooser) -> tuple[_Machines, _Machines]:
    waiting = _UnmappedTasks(seconds, ready)
    machine, order = np.empty(len(seconds), dtype=np.int64), np.empty(len(seconds), dtype=np.int64)
    for step in range(len(seconds)):
        order[step] = task = choose(waiting)
        machine[task] = waiting.take(task)
    return machine, order


def _obstacle(problem: Problem) -> str | None:
    """Return why the problem is not one of independent one-host tasks, or None."""
    for task, name in enumerate(problem.tasks):
        if problem.depends_on and problem.depends_on[task]:
            return f"{name} depends on {problem.tasks[problem.depends_on[task][0]]}"
    if problem.release.any():
        return f"{problem.tasks[int(problem.release.argmax())]} is released later"
    if problem.unavailability:
        return f"{problem.hosts[problem.unavailability[0].host]} comes and goes"
    if problem.free.any():
        return f"{problem.hosts[int(problem.free.argmax())]} is busy"
    if problem.licences is not None:
        return f"tasks ask for {problem.licences.names[0]}"
    stuck = ~np.isfinite(single_host_seconds(problem)).any(axis=1)
    return f"{problem.tasks[int(stuck.argmax())]} cannot run on one host" if stuck.any() else None
