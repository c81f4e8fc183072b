"""The waiting tasks that have a profile, in planned order, each with its planned number of hosts.

Thousands may wait, and whoever works on the plan keeps the core from everything else: what does not change with the
time is put together once for a queue, and arrays are used where tasks would be looked at one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.problem import Plan, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.coscheduler.task import Task

__all__ = ["Outlook", "Waiting", "first_counts"]


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
        factors: learned correction of run times by `Task.correction`.
        handover: seconds from a decision to the start of its job.
        margin: share of the time left to a deadline by which to be early.
        held_back: tasks that may not start before an epoch time.
    """

    factors: Mapping[str, float] = field(default_factory=dict)
    handover: float = 0.0
    margin: float = 0.0
    held_back: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Frame:
    """What the problems of one queue have in common, whenever they are made.

    Attributes:
        waiting: the queue, in planned order.
        hosts: how many there are.
        outlook: factors and hand-over that `seconds` reckons with.
        tasks: those of the queue that can run on so many hosts.
        seconds: (1, m, hosts) of `Problem`.
        deadline: (m,) epoch seconds, infinite for none.
    """

    waiting: tuple[str, ...]
    hosts: int
    outlook: tuple[Mapping[str, float], float]
    tasks: tuple[str, ...]
    seconds: NDArray[np.float64]
    deadline: NDArray[np.float64]


class Waiting:
    """An ordered queue of task identifiers with host counts; the current best plan lives here."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}  # dictionaries keep their order: this is the plan
        self._rows: dict[str, tuple[float, float, int, NDArray[np.float64], bool]] = {}
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

    def remove(self, task: str) -> None:
        """Take a task out; unknown ones are fine."""
        self.counts.pop(task, None)
        self._rows.pop(task, None)

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
    ) -> Problem | None:
        """Describe the waiting tasks as a scheduling problem whose origin is `now`.

        Tasks that no number of the present hosts can run are left out.

        Args:
            tasks: all live tasks by identifier.
            hosts: names of the usable hosts.
            free: when each taken host is expected to be free, epoch seconds.
            now: epoch seconds.
            outlook: what to reckon with beside the profiles.

        Returns:
            The problem, tasks in planned order; None where nothing can be planned.
        """
        outlook = outlook or Outlook()
        if not hosts or not self.counts:
            return None
        frame = self._framed(tasks, len(hosts), outlook)
        if not frame.tasks:
            return None
        return Problem(
            tasks=frame.tasks,
            hosts=tuple(hosts),
            classes=("",),
            host_class=np.zeros(len(hosts), dtype=np.int64),
            free=np.array([max(free.get(host, now) - now, 0.0) for host in hosts]),
            seconds=frame.seconds,
            release=_releases(frame.tasks, outlook.held_back, now),
            deadline=_slacks(frame.deadline, now, outlook.margin),
            depends_on=((),) * len(frame.tasks),
        )

    def plan(self, problem: Problem, counts: Mapping[str, int] | None = None) -> Plan:
        """Return the current plan (or another order and counts) for a problem that `problem` made.

        A count that is not possible now (hosts went down, not chosen yet) is chosen anew.
        """
        counts = self.counts if counts is None else counts
        index = {name: place for place, name in enumerate(problem.tasks)}
        order = [index[name] for name in counts if name in index]
        chosen = np.array([counts[name] for name in problem.tasks], dtype=np.int64)
        seconds = problem.seconds[0]
        within = np.clip(chosen, 1, seconds.shape[1])
        possible = (chosen == within) & np.isfinite(seconds[np.arange(len(chosen)), within - 1])
        if not possible.all():
            anew = ~possible
            chosen[anew] = first_counts(seconds[anew], problem.deadline[anew])
        return Plan(np.array(order, dtype=np.int64), chosen)

    def adopt(self, problem: Problem, plan: Plan) -> None:
        """Make a plan the current one; tasks that it does not name keep behind."""
        names = [problem.tasks[place] for place in plan.order.tolist()]
        self.counts = self.reordered(names, plan.counts[plan.order].tolist())

    def _framed(self, tasks: Mapping[str, Task], hosts: int, outlook: Outlook) -> _Frame:
        """Return the frame of the queue as it is, the one made before where nothing it was made of has changed."""
        waiting, reckoned = tuple(self.counts), (outlook.factors, outlook.handover)
        known = self._frame
        if known is not None and (known.waiting, known.hosts, known.outlook) == (waiting, hosts, reckoned):
            return known
        rows = [self._row(tasks[name], outlook, hosts) for name in waiting]
        able = [(name, row) for name, (*_, row, runs) in zip(waiting, rows, strict=True) if runs]
        names = tuple(name for name, _ in able)
        deadlines = [math.inf if (at := tasks[name].deadline) is None else at for name in names]
        self._frame = _Frame(
            waiting=waiting,
            hosts=hosts,
            outlook=reckoned,
            tasks=names,
            seconds=np.concatenate([row for _, row in able] or [np.empty(0)]).reshape(1, len(able), hosts),
            deadline=np.array(deadlines),
        )
        return self._frame

    def _row(self, task: Task, outlook: Outlook, hosts: int) -> tuple[float, float, int, NDArray[np.float64], bool]:
        """Return how long a task takes its hosts, with what that was made of, and whether it can run on any.

        The times are (hosts,) seconds by number of hosts, corrected run time plus hand-over; infinite where impossible.
        """
        factor = outlook.factors.get(task.correction, 1.0)
        known = self._rows.get(task.id)
        if known is not None and known[:3] == (factor, outlook.handover, hosts):
            return known
        assert task.profile is not None
        row = np.full(hosts, math.inf)
        values = task.profile.seconds[:hosts]
        row[: len(values)] = np.asarray(values) * factor + outlook.handover
        made = self._rows[task.id] = (factor, outlook.handover, hosts, row, bool(np.isfinite(row).any()))
        return made


def _releases(tasks: Sequence[str], held_back: Mapping[str, float], now: float) -> NDArray[np.float64]:
    if not held_back:
        return np.zeros(len(tasks))
    return np.array([max(held_back.get(name, now) - now, 0.0) for name in tasks])


def _slacks(deadline: NDArray[np.float64], now: float, margin: float) -> NDArray[np.float64]:
    left = deadline - now
    return np.where(left > 0, left * (1 - margin), left)
