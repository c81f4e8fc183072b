"""The waiting tasks that have a profile, in planned order, each with its planned number of hosts.

Thousands may wait, and whoever works on the plan keeps the core from everything else: what does not change with the
time is put together once for a queue, and arrays are used where tasks would be looked at one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.prediction.feedback import Correction
from cosched.scheduling.problem import Plan, Problem
from cosched.scheduling.widths import best_seconds, best_times, single_class

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.coscheduler.task import Task
    from cosched.prediction.profile import Profile

__all__ = ["Outlook", "Waiting", "first_counts", "in_names", "run_times"]


def first_counts(seconds: NDArray[np.float64], slack: NDArray[np.float64]) -> NDArray[np.int64]:
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
class Outlook:
    """What a plan must reckon with beside the tasks' profiles.

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
    """What the problems of one queue have in common, whenever they are made.

    Attributes:
        waiting: the queue, in planned order.
        hosts: the class of each.
        outlook: corrections and quantile that `times` reckons with.
        classes: of the hosts, each once.
        profiles: of the queue's tasks.
        times: (queue, classes, widest) of `run_times` without a hand-over, up to the last count that any task can use:
            of hundreds of hosts, few columns hold anything.
        tasks: those of the queue that can run on these hosts.
        seconds: (classes, m, widest), their times.
        deadline: (m,) epoch seconds, infinite for none.
    """

    waiting: tuple[str, ...]
    hosts: tuple[str, ...]
    outlook: tuple[Mapping[str, Correction], float]
    classes: tuple[str, ...]
    profiles: tuple[Profile | None, ...]
    times: NDArray[np.float64]
    tasks: tuple[str, ...]
    seconds: NDArray[np.float64]
    deadline: NDArray[np.float64]


def run_times(task: Task, outlook: Outlook, classes: Sequence[str], hosts: int) -> NDArray[np.float64]:
    """Return how long a task takes its hosts, by their class and number: run time to plan with plus hand-over.

    Args:
        task: with a profile.
        outlook: corrections, quantile and hand-over.
        classes: of the present hosts.
        hosts: how many there are.

    Returns:
        (classes, hosts) seconds, infinite where impossible.
    """
    assert task.profile is not None
    times = np.full((len(classes), hosts), math.inf)
    for row, name in zip(times, classes, strict=True):
        there = task.profile.among((name,))
        correction = outlook.corrections.get(task.correction_on(there.hardware), Correction())
        values = correction.planned(there, outlook.quantile)[:hosts]
        row[: len(values)] = np.asarray(values) + outlook.handover
    return times


def in_names(problem: Problem, plan: Plan) -> tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...]]:
    """Return a plan's tasks in order, their host counts and classes, as a `ScheduleImproved` names them."""
    chosen = () if plan.classes is None else plan.classes[plan.order].tolist()
    classes = tuple("" if each < 0 else problem.classes[each] for each in chosen)
    return tuple(problem.tasks[task] for task in plan.order.tolist()), tuple(plan.counts[plan.order].tolist()), classes


class Waiting:
    """An ordered queue of task identifiers with host counts; the current best plan lives here.

    Attributes:
        counts: task → number of hosts. Dictionaries keep their order: this is the plan.
        classes: task → class whose hosts alone it takes; one that is missing takes those of any.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.classes: dict[str, str] = {}
        self._times: dict[str, tuple[tuple[object, ...], NDArray[np.float64]]] = {}
        self._frame: _Frame | None = None

    def __contains__(self, task: str) -> bool:
        return task in self.counts

    def __len__(self) -> int:
        return len(self.counts)

    def add(self, task: str, count: int = 0) -> None:
        """Put a task at the end; count 0 leaves the choice to the first plan made of it."""
        self.counts[task] = count

    def add_first(self, task: str) -> None:
        """Put a task that had begun before at the front, its host count to be chosen anew."""
        self.counts = {task: 0, **self.counts}
        self.classes.pop(task, None)

    def remove(self, task: str) -> None:
        """Take a task out; unknown ones are fine."""
        self.counts.pop(task, None)
        self.classes.pop(task, None)
        self._times.pop(task, None)

    def reordered(self, order: Sequence[str], counts: Sequence[int]) -> dict[str, int]:
        """Return order and counts as a search proposes them, for the tasks that still wait; others keep behind."""
        proposed = {task: count for task, count in zip(order, counts, strict=True) if task in self.counts}
        return proposed | {task: count for task, count in self.counts.items() if task not in proposed}

    def problem(
        self,
        tasks: Mapping[str, Task],
        hosts: Sequence[str],
        free: Mapping[str, float],
        now: float,
        outlook: Outlook | None = None,
        classes: Mapping[str, str] | None = None,
    ) -> Problem | None:
        """Describe the waiting tasks as a scheduling problem whose origin is `now`.

        Tasks that no number of the present hosts can run are left out.

        Args:
            tasks: all live tasks by identifier.
            hosts: names of the usable hosts.
            free: when each taken host is expected to be free, epoch seconds.
            now: epoch seconds.
            outlook: what to reckon with beside the profiles.
            classes: of the hosts, empty where not known; None: they are alike.

        Returns:
            The problem, tasks in planned order; None where nothing can be planned.
        """
        outlook = outlook or Outlook()
        if not hosts or not self.counts:
            return None
        frame = self._framed(tasks, tuple((classes or {}).get(host, "") for host in hosts), outlook)
        if not frame.tasks:
            return None
        return Problem(
            tasks=frame.tasks,
            hosts=tuple(hosts),
            classes=frame.classes,
            host_class=np.array([frame.classes.index(each) for each in frame.hosts], dtype=np.int64),
            free=np.array([max(free.get(host, now) - now, 0.0) for host in hosts]),
            seconds=_widened(frame.seconds + outlook.handover, len(hosts)),
            release=_releases(frame.tasks, outlook.held_back, now),
            deadline=_slacks(frame.deadline, now, outlook.margin),
            depends_on=((),) * len(frame.tasks),
        )

    def plan(
        self, problem: Problem, counts: Mapping[str, int] | None = None, classes: Mapping[str, str] | None = None
    ) -> Plan:
        """Return the current plan (or another order, counts and classes) for a problem that `problem` made.

        A count that is not possible now (hosts went down, not chosen yet) is chosen anew; where a class cannot be had,
        hosts of any are taken.
        """
        classes = self.classes if counts is None else classes or {}
        counts = self.counts if counts is None else counts
        index = {name: place for place, name in enumerate(problem.tasks)}
        order = [index[name] for name in counts if name in index]
        chosen = np.array([counts[name] for name in problem.tasks], dtype=np.int64)
        seconds = best_seconds(problem)
        within = np.clip(chosen, 1, seconds.shape[1])
        possible = (chosen == within) & np.isfinite(seconds[np.arange(len(chosen)), within - 1])
        if not possible.all():
            anew = ~possible
            chosen[anew] = first_counts(seconds[anew], problem.deadline[anew])
        kinds = None if single_class(problem) is not None else _kinds(problem, chosen, classes)
        return Plan(np.array(order, dtype=np.int64), chosen, kinds)

    def adopt(self, problem: Problem, plan: Plan) -> None:
        """Make a plan the current one; tasks that it does not name keep behind."""
        names, counts, classes = in_names(problem, plan)
        self.counts = self.reordered(names, counts)
        self.classes = {name: each for name, each in zip(names, classes, strict=False) if each}

    def _framed(self, tasks: Mapping[str, Task], hosts: tuple[str, ...], outlook: Outlook) -> _Frame:
        """Return the frame of the queue as it is, the one made before where nothing it was made of has changed."""
        waiting, reckoned = tuple(self.counts), (outlook.corrections, outlook.quantile)
        known = self._frame
        if known is not None and (known.hosts, known.outlook) != (hosts, reckoned):
            known = None
        if known is not None and known.waiting == waiting:
            return known
        classes = tuple(sorted(set(hosts)))
        queue = [tasks[name] for name in waiting]
        times = self._stacked(queue, outlook, classes, len(hosts), known)
        seconds = times.swapaxes(0, 1)
        host_class = np.array([classes.index(each) for each in hosts])
        able = np.flatnonzero(np.isfinite(best_times(seconds, host_class)).any(axis=1))
        names = tuple(waiting[place] for place in able.tolist())
        deadlines = [math.inf if (at := tasks[name].deadline) is None else at for name in names]
        self._frame = _Frame(
            waiting=waiting,
            hosts=hosts,
            outlook=reckoned,
            classes=classes,
            profiles=tuple(task.profile for task in queue),
            times=times,
            tasks=names,
            seconds=np.ascontiguousarray(seconds[:, able]),
            deadline=np.array(deadlines),
        )
        return self._frame

    def _stacked(self, tasks: Sequence[Task], outlook: Outlook, classes: tuple[str, ...], hosts: int,
                 known: _Frame | None) -> NDArray[np.float64]:  # fmt: skip
        """Return the tasks' times, as a frame has them, from one that reckons with the same where it has them."""
        profiles = {task.id: task.profile for task in tasks}  # a task that comes back may have another one
        before = () if known is None else zip(known.waiting, known.profiles, strict=True)
        rows = {name: row for row, (name, profile) in enumerate(before) if profiles.get(name) is profile}
        new = [task for task in tasks if task.id not in rows]
        tables = [] if known is None else [known.times]
        if new:
            tables.append(_cut(np.array([self._known_times(task, outlook, classes, hosts) for task in new])))
        widest = max(table.shape[2] for table in tables)
        table = np.concatenate([_widened(table, widest) for table in tables])
        rows |= {task.id: row for row, task in enumerate(new, len(table) - len(new))}
        found: NDArray[np.float64] = table[[rows[task.id] for task in tasks]]
        return found

    def _known_times(self, task: Task, outlook: Outlook, classes: tuple[str, ...], hosts: int) -> NDArray[np.float64]:
        """Return `run_times` without a hand-over, made anew only where something they were made of has changed."""
        assert task.profile is not None
        parts = task.profile.classes or (task.profile,)
        corrections = [outlook.corrections.get(task.correction_on(each.hardware)) for each in parts]
        depends = (corrections, outlook.quantile, classes, hosts)
        known = self._times.get(task.id)
        if known is None or known[0] != depends:
            times = run_times(task, replace(outlook, handover=0.0), classes, hosts)
            known = self._times[task.id] = (depends, times)
        return known[1]


def _cut(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return times without the last columns if there is nothing in them."""
    used = np.flatnonzero(np.isfinite(times).any(axis=(0, 1)))
    return times[:, :, : int(used[-1]) + 1 if len(used) else 1]


def _widened(times: NDArray[np.float64], columns: int) -> NDArray[np.float64]:
    """Return times with so many columns, infinite in those that there were not."""
    if times.shape[2] == columns:
        return times
    wide = np.full((*times.shape[:2], columns), math.inf)
    wide[:, :, : times.shape[2]] = times
    return wide


def _kinds(problem: Problem, counts: NDArray[np.int64], classes: Mapping[str, str]) -> NDArray[np.int64]:
    """Return the index of each task's class where it has enough hosts for it, else -1."""
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
