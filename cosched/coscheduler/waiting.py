"""The waiting tasks that have a profile, in planned order, each with its planned number of hosts.

Thousands may wait, and whoever works on the plan keeps the core from everything else: what does not change with the
time is put together once for a queue, and arrays are used where tasks would be looked at one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.rows import Rows, widened
from cosched.prediction.feedback import Correction
from cosched.scheduling.problem import Plan, Problem
from cosched.scheduling.widths import best_seconds, narrowed, runnable, single_class

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.coscheduler.task import Task

__all__ = ["Outlook", "Waiting", "first_counts", "in_names", "run_times"]


_ROOM = 4  # rows for each task that waits, at most: those of tasks that have left are given up together


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
        tasks: those of the queue that can run on these hosts.
        seconds: (classes, m, widest), their times.
        deadline: (m,) epoch seconds, infinite for none.
    """

    waiting: tuple[str, ...]
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
    names = tuple(map(problem.tasks.__getitem__, plan.order.tolist()))
    return names, tuple(plan.counts[plan.order].tolist()), classes


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
        self._rows: Rows | None = None
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
        rows = self._known(tuple([(classes or {}).get(host, "") for host in hosts]), outlook)
        frame = self._framed(tasks, rows, outlook)
        if not frame.tasks:
            return None
        return Problem(
            tasks=frame.tasks,
            hosts=tuple(hosts),
            classes=rows.classes,
            host_class=rows.host_class,
            free=np.array([max(free.get(host, now) - now, 0.0) for host in hosts], dtype=np.float64),
            seconds=widened(frame.seconds + outlook.handover, len(hosts)),
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
        if tuple(counts) == problem.tasks:
            order = np.arange(len(counts))
        else:
            index = {name: place for place, name in enumerate(problem.tasks)}
            order = np.array([index[name] for name in counts if name in index], dtype=np.int64)
        chosen = np.fromiter(map(counts.__getitem__, problem.tasks), np.int64, len(problem.tasks))
        anew = ~runnable(problem, chosen)
        if anew.any():
            seconds = best_seconds(narrowed(replace(problem, seconds=problem.seconds[:, anew])))
            chosen[anew] = first_counts(seconds, problem.deadline[anew])
        kinds = None if single_class(problem) is not None else _kinds(problem, chosen, classes)
        return Plan(order, chosen, kinds)

    def adopt(self, problem: Problem, plan: Plan) -> None:
        """Make a plan the current one; tasks that it does not name keep behind."""
        names, counts, classes = in_names(problem, plan)
        self.counts = self.reordered(names, counts)
        self.classes = {name: each for name, each in zip(names, classes, strict=False) if each}

    def _known(self, hosts: tuple[str, ...], outlook: Outlook) -> Rows:
        """Return what is known of tasks on these hosts by this outlook."""
        reckoned = outlook.corrections, outlook.quantile
        rows = self._rows
        if rows is None or (rows.hosts, rows.outlook) != (hosts, reckoned) or len(rows.able) > _ROOM * len(self):
            rows = self._rows = Rows.none(hosts, reckoned)
            self._frame = None
        return rows

    def _framed(self, tasks: Mapping[str, Task], rows: Rows, outlook: Outlook) -> _Frame:
        """Return the frame of the queue as it is, the one made before where nothing it was made of has changed."""
        waiting = tuple(self.counts)
        if self._frame is not None and self._frame.waiting == waiting:
            return self._frame
        new = [tasks[name] for name in waiting if name not in rows.row]
        if new:
            rows.add(new, [self._known_times(task, outlook, rows.classes, len(rows.hosts)) for task in new])
        places = np.fromiter(map(rows.row.__getitem__, waiting), np.int64, len(waiting))
        able = rows.able[places]
        names = waiting if able.all() else tuple(compress(waiting, able.tolist()))
        places = places[able]
        self._frame = _Frame(waiting, names, rows.times[:, places], rows.deadline[places])
        return self._frame

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
