"""The waiting tasks that have a profile, in planned order, each with its planned number of hosts."""

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

__all__ = ["Outlook", "Waiting", "first_count"]


def first_count(seconds: NDArray[np.float64], slack: float) -> int:
    """Choose a host count before any search: the fewest host-seconds among the counts that leave the deadline slack.

    Args:
        seconds: (N,) run time by host count, infinite where impossible.
        slack: seconds until the deadline; infinite for none.

    Returns:
        The count (1…N); the fastest where none meets the deadline.
    """
    area = seconds * np.arange(1, len(seconds) + 1)
    fits = np.where(seconds <= slack, area, math.inf)
    return int(np.argmin(fits if np.isfinite(fits).any() else seconds)) + 1


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


class Waiting:
    """An ordered queue of task identifiers with host counts; the current best plan lives here."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}  # dictionaries keep their order: this is the plan
        self._rows: dict[str, tuple[float, float, int, NDArray[np.float64]]] = {}

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

    def row(self, task: Task, factor: float, handover: float, hosts: int) -> NDArray[np.float64]:
        """Return how long a task takes its hosts, by their number: corrected run time plus hand-over.

        Returns:
            (hosts,) seconds, infinite where impossible.
        """
        known = self._rows.get(task.id)
        if known is not None and known[:3] == (factor, handover, hosts):
            return known[3]
        assert task.profile is not None
        row = np.full(hosts, math.inf)
        values = task.profile.seconds[:hosts]
        row[: len(values)] = np.asarray(values) * factor + handover
        self._rows[task.id] = (factor, handover, hosts, row)
        return row

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
        if not hosts:
            return None
        rows = {
            name: self.row(tasks[name], outlook.factors.get(tasks[name].correction, 1.0), outlook.handover, len(hosts))
            for name in self.counts
        }
        able = tuple(name for name, row in rows.items() if np.isfinite(row).any())
        if not able:
            return None
        return Problem(
            tasks=able,
            hosts=tuple(hosts),
            classes=("",),
            host_class=np.zeros(len(hosts), dtype=np.int64),
            free=np.array([max(free.get(host, now) - now, 0.0) for host in hosts]),
            seconds=np.stack([rows[name] for name in able])[np.newaxis],
            release=np.array([max(outlook.held_back.get(name, now) - now, 0.0) for name in able]),
            deadline=np.array([_slack(tasks[name], now, outlook.margin) for name in able]),
            depends_on=((),) * len(able),
        )

    def plan(self, problem: Problem, counts: Mapping[str, int] | None = None) -> Plan:
        """Return the current plan (or another order and counts) for a problem that `problem` made.

        A count that is not possible now (hosts went down, not chosen yet) is chosen anew.
        """
        counts = self.counts if counts is None else counts
        index = {name: place for place, name in enumerate(problem.tasks)}
        order = [index[name] for name in counts if name in index]
        chosen = np.zeros(len(order), dtype=np.int64)
        for name in problem.tasks:
            place = index[name]
            row = problem.seconds[0, place]
            count = counts[name]
            possible = 1 <= count <= len(row) and math.isfinite(row[count - 1])
            chosen[place] = count if possible else first_count(row, float(problem.deadline[place]))
        return Plan(np.array(order, dtype=np.int64), chosen)

    def adopt(self, problem: Problem, plan: Plan) -> None:
        """Make a plan the current one; tasks that it does not name keep behind."""
        names = [problem.tasks[place] for place in plan.order]
        self.counts = self.reordered(names, [int(plan.counts[place]) for place in plan.order])


def _slack(task: Task, now: float, margin: float) -> float:
    if task.deadline is None:
        return math.inf
    left = task.deadline - now
    return left * (1 - margin) if left > 0 else left
