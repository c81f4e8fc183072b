"""The plan orders the waiting tasks and gives each its number of hosts.

Start at `CurrentPlan` (tasks with a profile, as a problem and as a plan); `TaskQueue` adds tasks without
a profile and says which tasks may leave. Thousands may wait, and work on the plan keeps the core from everything
else: arrays hold what does not change with the time, once for a queue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import compress, islice
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.profile_matrix import ProfileMatrix, widened
from cosched.coscheduler.snapshot import QueueSnapshot
from cosched.prediction.calibration import Correction
from cosched.scheduling.host_counts import best_seconds, narrowed, runnable, single_class
from cosched.scheduling.plan import Plan
from cosched.scheduling.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.coscheduler.task import Task

__all__ = ["CurrentPlan", "PlanningAssumptions", "TaskQueue", "initial_host_counts", "named_plan", "run_times"]

_ROWS_PER_TASK = 4  # rows for each task that waits, at most: those of tasks that have left are given up together


def initial_host_counts(seconds: NDArray[np.float64], slack: NDArray[np.float64]) -> NDArray[np.int64]:
    """Choose host counts before any search: the fewest host-seconds among the counts that leave the deadline slack.

    Args:
        seconds: (m, N) run times by task and host count, infinite where impossible.
        slack: (m,) seconds until the deadline; infinite for none.

    Returns:
        (m,) counts (1…N); the fastest where none meets the deadline.
    """
    area = seconds * np.arange(1, seconds.shape[1] + 1)
    fits = np.where(seconds <= slack[:, None], area, math.inf)
    meets = np.isfinite(fits).any(axis=1, keepdims=True)
    counts: NDArray[np.int64] = np.where(meets, fits, seconds).argmin(axis=1) + 1
    return counts


@dataclass(frozen=True, slots=True)
class PlanningAssumptions:
    """Everything beside the tasks' profiles that a plan must reckon with.

    Attributes:
        corrections: of run times, as learned, by `Task.correction`.
        quantile: share of runs that stays below the times to plan with.
        handover: seconds from a decision to the start of its job.
        margin: share of the time left to a deadline by which to be early.
        held_back: tasks that may not start before an epoch time.
    """

    corrections: Mapping[str, Correction] = field(default_factory=dict)
    quantile: float = 0.5
    handover: float = 0.0
    margin: float = 0.0
    held_back: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Frame:
    """Common part of all problems of one queue, whenever they are made.

    Attributes:
        waiting: the queue, in planned order.
        tasks: those of the queue that can run on these hosts.
        seconds: (classes, m, widest), their times.
        deadline: (m,) epoch seconds, infinite for none.
    """

    waiting: tuple[str, ...]
    tasks: tuple[str, ...]
    seconds: NDArray[np.float64]
    deadline: NDArray[np.float64]


def run_times(task: Task, assumptions: PlanningAssumptions, classes: Sequence[str], hosts: int) -> NDArray[np.float64]:
    """Return how long a task takes its hosts, by their class and number: run time to plan with plus hand-over.

    Args:
        task: with a profile.
        assumptions: corrections, quantile and hand-over.
        classes: of the present hosts.
        hosts: how many there are.

    Returns:
        (classes, hosts) seconds, infinite where impossible.
    """
    assert task.profile is not None
    times = np.full((len(classes), hosts), math.inf)
    for row, name in zip(times, classes, strict=True):
        there = task.profile.among((name,))
        correction = assumptions.corrections.get(task.correction_on(there.hardware), Correction())
        values = correction.planned(there, assumptions.quantile)[:hosts]
        row[: len(values)] = np.asarray(values) + assumptions.handover
    return times


def named_plan(problem: Problem, plan: Plan) -> tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...]]:
    """Return a plan's tasks in order with host counts and classes, for a `ScheduleImproved`."""
    chosen = () if plan.classes is None else plan.classes[plan.order].tolist()
    classes = tuple("" if each < 0 else problem.classes[each] for each in chosen)
    names = tuple(map(problem.tasks.__getitem__, plan.order.tolist()))
    return names, tuple(plan.counts[plan.order].tolist()), classes


class CurrentPlan:
    """An ordered queue of task identifiers with host counts; the current best plan lives here.

    Attributes:
        counts: task → number of hosts. Dictionaries keep their order: this is the plan.
        classes: task → class whose hosts alone it takes; one that is missing takes those of any.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.classes: dict[str, str] = {}
        self._times: dict[str, tuple[tuple[object, ...], NDArray[np.float64]]] = {}
        self._rows: ProfileMatrix | None = None
        self._frame: _Frame | None = None

    def __contains__(self, task: str) -> bool:
        return task in self.counts

    def __len__(self) -> int:
        return len(self.counts)

    def add(self, task: str, count: int = 0) -> None:
        """Put a task at the end; count 0 leaves the choice to the first plan made of it."""
        self.counts[task] = count

    def bring_last_forward(self, overtaken: int) -> None:
        """Put the last task ahead of the `overtaken` ones before it, which keep their order."""
        behind = tuple(islice(reversed(self.counts), 1, overtaken + 1))
        for other in reversed(behind):
            self.counts[other] = self.counts.pop(other)

    def add_first(self, task: str) -> None:
        """Put a task that had begun before at the front; its host count is chosen anew."""
        self.counts = {task: 0, **self.counts}
        self.classes.pop(task, None)

    def remove(self, task: str) -> None:
        """Take a task out; unknown ones are fine."""
        self.counts.pop(task, None)
        self.classes.pop(task, None)
        self._times.pop(task, None)
        if self._rows is not None and self._rows.row.pop(task, None) is not None:
            self._frame = None  # it may come back with another profile

    def reordered(self, order: Sequence[str], counts: Sequence[int]) -> dict[str, int]:
        """Return order and counts as a search proposes them, for the tasks that still wait; others keep behind."""
        proposed = dict(zip(order, counts, strict=True))
        if proposed.keys() == self.counts.keys():
            return proposed
        waiting = {task: count for task, count in proposed.items() if task in self.counts}
        return waiting | {task: count for task, count in self.counts.items() if task not in waiting}

    def problem(
        self,
        tasks: Mapping[str, Task],
        hosts: Sequence[str],
        free: Mapping[str, float],
        now: float,
        assumptions: PlanningAssumptions | None = None,
        classes: Mapping[str, str] | None = None,
    ) -> Problem | None:
        """Make the scheduling problem of the waiting tasks, with the origin `now`.

        Tasks that no number of the present hosts can run are left out.

        Args:
            tasks: all live tasks by identifier.
            hosts: names of the usable hosts.
            free: when each taken host is expected to be free, epoch seconds.
            now: epoch seconds.
            assumptions: what to reckon with beside the profiles.
            classes: of the hosts, empty where not known; None: they are alike.

        Returns:
            The problem, tasks in planned order; None where nothing can be planned.
        """
        assumptions = assumptions or PlanningAssumptions()
        if not hosts or not self.counts:
            return None
        rows = self._known(tuple([(classes or {}).get(host, "") for host in hosts]), assumptions)
        frame = self._framed(tasks, rows, assumptions)
        if not frame.tasks:
            return None
        return Problem(
            tasks=frame.tasks,
            hosts=tuple(hosts),
            classes=rows.classes,
            host_class=rows.host_class,
            free=np.array([max(free.get(host, now) - now, 0.0) for host in hosts], dtype=np.float64),
            seconds=widened(frame.seconds + assumptions.handover, len(hosts)),
            release=_releases(frame.tasks, assumptions.held_back, now),
            deadline=_slacks(frame.deadline, now, assumptions.margin),
            depends_on=((),) * len(frame.tasks),
        )

    def plan(
        self, problem: Problem, counts: Mapping[str, int] | None = None, classes: Mapping[str, str] | None = None
    ) -> Plan:
        """Return the current plan (or another order, counts and classes) for one of our problems.

        A count that is not possible now (hosts went down, not chosen yet) is chosen anew; where a class cannot be had,
        hosts of any are taken.
        """
        classes = self.classes if counts is None else classes or {}
        counts = self.counts if counts is None else counts
        if tuple(counts) == problem.tasks:
            order = np.arange(len(counts))
        else:
            index = {name: place for place, name in enumerate(problem.tasks)}
            order = np.array([index[name] for name in counts if name in index], dtype=np.int64)
        chosen = np.fromiter(map(counts.__getitem__, problem.tasks), np.int64, len(problem.tasks))
        anew = ~runnable(problem, chosen)
        if anew.any():
            seconds = best_seconds(narrowed(replace(problem, seconds=problem.seconds[:, anew])))
            chosen[anew] = initial_host_counts(seconds, problem.deadline[anew])
        kinds = None if single_class(problem) is not None else _class_indices(problem, chosen, classes)
        return Plan(order, chosen, kinds)

    def adopt(self, problem: Problem, plan: Plan) -> None:
        """Make a plan the current one; tasks that it does not name keep behind."""
        names, counts, classes = named_plan(problem, plan)
        self.counts = self.reordered(names, counts)
        self.classes = {name: each for name, each in zip(names, classes, strict=False) if each}

    def _known(self, hosts: tuple[str, ...], assumptions: PlanningAssumptions) -> ProfileMatrix:
        """Return the profile rows of tasks on these hosts under these assumptions."""
        reckoned = assumptions.corrections, assumptions.quantile
        rows = self._rows
        if (
            rows is None
            or (rows.hosts, rows.assumptions) != (hosts, reckoned)
            or len(rows.able) > _ROWS_PER_TASK * len(self)
        ):
            rows = self._rows = ProfileMatrix.none(hosts, reckoned)
            self._frame = None
        return rows

    def _framed(self, tasks: Mapping[str, Task], rows: ProfileMatrix, assumptions: PlanningAssumptions) -> _Frame:
        """Return the queue's frame, the earlier one where nothing has changed."""
        waiting = tuple(self.counts)
        if self._frame is not None and self._frame.waiting == waiting:
            return self._frame
        new = [tasks[name] for name in waiting if name not in rows.row]
        if new:
            rows.add(new, [self._known_times(task, assumptions, rows.classes, len(rows.hosts)) for task in new])
        places = np.fromiter(map(rows.row.__getitem__, waiting), np.int64, len(waiting))
        able = rows.able[places]
        names = waiting if able.all() else tuple(compress(waiting, able.tolist()))
        places = places[able]
        self._frame = _Frame(waiting, names, rows.times[:, places], rows.deadline[places])
        return self._frame

    def _known_times(
        self, task: Task, assumptions: PlanningAssumptions, classes: tuple[str, ...], hosts: int
    ) -> NDArray[np.float64]:
        """Return `run_times` without a hand-over, the earlier ones where nothing has changed."""
        assert task.profile is not None
        parts = task.profile.classes or (task.profile,)
        corrections = [assumptions.corrections.get(task.correction_on(each.hardware)) for each in parts]
        depends = (corrections, assumptions.quantile, classes, hosts)
        known = self._times.get(task.id)
        if known is None or known[0] != depends:
            times = run_times(task, replace(assumptions, handover=0.0), classes, hosts)
            known = self._times[task.id] = (depends, times)
        return known[1]


def _class_indices(problem: Problem, counts: NDArray[np.int64], classes: Mapping[str, str]) -> NDArray[np.int64]:
    """Return the index of each task's class where that has enough hosts, else -1."""
    sizes = np.bincount(problem.host_class, minlength=len(problem.classes))
    kinds = np.full(len(problem.tasks), -1, dtype=np.int64)
    for place, name in enumerate(problem.tasks):
        each = classes.get(name, "")
        if each and each in problem.classes:
            kind, count = problem.classes.index(each), int(counts[place])
            possible = sizes[kind] >= count and math.isfinite(problem.seconds[kind, place, count - 1])
            kinds[place] = kind if possible else -1
    return kinds


def _releases(tasks: Sequence[str], held_back: Mapping[str, float], now: float) -> NDArray[np.float64]:
    if not held_back:
        return np.zeros(len(tasks))
    return np.array([max(held_back.get(name, now) - now, 0.0) for name in tasks])


def _slacks(deadline: NDArray[np.float64], now: float, margin: float) -> NDArray[np.float64]:
    left = deadline - now
    return np.where(left > 0, left * (1 - margin), left)


class TaskQueue:
    """The waiting tasks, and which of them may leave.

    Attributes:
        waiting: those with a profile: the current plan.
        held_back: tasks that are not tried again before an epoch time.
        asked: held task → how many times its origin was asked to let it start.
        offered: task that is offered to other domains before it leaves late → whether one may still take it.
        transit: tasks of other domains that wait for one that takes them, and never leave here.
    """

    def __init__(self, staging: float, waits: Callable[[str, float], bool] = lambda _task, _time: False) -> None:
        """Set up.

        Args:
            staging: seconds that a task waits for the search at most.
            waits: whether a task may not leave at a time for reasons that others know.
        """
        self._waits = waits
        self.waiting = CurrentPlan()
        self.held_back: dict[str, float] = {}
        self.start_requests: dict[str, int] = {}
        self.offered_to_neighbours: dict[str, bool] = {}
        self.in_transit: dict[str, None] = {}
        self._staging = staging
        self._unmodelled: dict[str, None] = {}  # tasks without a profile; a dictionary keeps its order
        self._searched: set[str] = set()  # tasks that a settled plan of the search has covered

    def add(self, task: Task) -> None:
        """Put a new task at the end."""
        if task.in_transit:
            self.in_transit[task.id] = None
        elif task.profile is None:
            self._unmodelled[task.id] = None
        else:
            self.waiting.add(task.id)

    def add_again(self, task: Task) -> None:
        """Put a task that had begun at the front; it has been through staging before."""
        if task.in_transit:
            self.in_transit[task.id] = None
        elif task.profile is None:
            self._unmodelled = {task.id: None, **self._unmodelled}
        else:
            self.waiting.add_first(task.id)
            self._searched.add(task.id)

    def snapshot(self) -> QueueSnapshot:
        """Return all that the queue remembers."""
        return QueueSnapshot(
            dict(self.waiting.counts),
            dict(self.waiting.classes),
            dict(self.held_back),
            dict(self.start_requests),
            dict(self.offered_to_neighbours),
            tuple(self.in_transit),
            tuple(self._unmodelled),
            tuple(sorted(self._searched)),
        )

    def load(self, snapshot: QueueSnapshot) -> None:
        """Go on from a snapshot."""
        self.waiting.counts, self.waiting.classes = dict(snapshot.counts), dict(snapshot.classes)
        self.held_back, self.start_requests, self.offered_to_neighbours = (
            dict(snapshot.held_back),
            dict(snapshot.start_requests),
            dict(snapshot.offered_to_neighbours),
        )
        self.in_transit, self._unmodelled = dict.fromkeys(snapshot.in_transit), dict.fromkeys(snapshot.unmodelled)
        self._searched = set(snapshot.searched)

    def remove(self, task: str) -> None:
        """Take a task out that leaves or has ended."""
        self.waiting.remove(task)
        self._unmodelled.pop(task, None)
        self.in_transit.pop(task, None)
        self._searched.discard(task)
        self.offered_to_neighbours.pop(task, None)
        self.release(task)

    def release(self, task: str) -> None:
        """Forget what held a task back."""
        self.held_back.pop(task, None)
        self.start_requests.pop(task, None)

    def searched(self, tasks: Iterable[str]) -> None:
        """Note that the search has looked at these tasks: their staging is over."""
        self._searched |= self.waiting.counts.keys() & set(tasks)

    def unmodelled(self, time: float, most: int) -> list[str]:
        """Return the first tasks without a profile that may leave now, so many at most."""
        return list(islice((task for task in self._unmodelled if self.may_leave(task, time)), most))

    def may_leave(self, task: str, time: float) -> bool:
        """Return whether nothing holds the task back any more."""
        return self.held_back.get(task, 0.0) <= time and not self._waits(task, time)

    def staged(self, task: Task, time: float) -> bool:
        """Return whether the task has waited long enough for the search."""
        return task.id in self._searched or time >= task.submitted + self._staging
