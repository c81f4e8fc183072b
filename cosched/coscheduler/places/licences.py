"""Licences of the domain: how many are in use, and what tasks hold of them in plans.

Start at `LicenceUse`, which the core's state keeps. A task holds its licences as long as it has a live attempt, also
while the manager holds that: it may begin to run at any time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.licence_requests import format_licences
from cosched.scheduling.licences import HeldLicences, Licences, binding

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.coscheduler.task import Task, TaskSpec
    from cosched.scheduling.decoding.stairs import FreeLicences
    from cosched.scheduling.problem import Problem

__all__ = ["NO_LICENCES", "LicenceTimeline", "LicenceUse", "with_licences", "with_one_more"]

_SHORTEST_USE = 10.0  # seconds for which a task of which nobody knows the end holds its licences still


class LicenceUse:
    """Licences of the domain, and how many of each live attempts hold.

    Attributes:
        total: as the administrator says.
        in_use: by name; may be more than there are after the administrator has lowered their number.
    """

    def __init__(self, total: Mapping[str, int]) -> None:
        self.total = total
        self.in_use: Counter[str] = Counter()
        self._kept: dict[str, tuple[str, int]] = {}  # licence → the task that comes next, and how many it asks for

    def take(self, spec: TaskSpec) -> None:
        """Count what an attempt holds from now on."""
        self.in_use.update(spec.licences)

    def give_back(self, spec: TaskSpec) -> None:
        """Count it no more."""
        self.in_use.subtract(spec.licences)

    def keep(self, tasks: Iterable[Task]) -> None:
        """Keep licences for tasks without a prediction that wait, in place of those that were kept so far.

        No plan has a place for such tasks, and tasks that ask for fewer would go before them for ever. Each licence is
        kept for the first task that asks for it.

        Args:
            tasks: those that wait, in order of arrival.
        """
        self._kept = {}
        for task in tasks:
            for name, amount in task.spec.licences.items():
                self._kept.setdefault(name, (task.id, amount))

    def left(self, name: str) -> int:
        """Return how many of a licence are not in use; never below 0."""
        return max(self.total.get(name, 0) - self.in_use[name], 0)

    def suffice(self, task: Task) -> bool:
        """Return whether what a task asks for is free, and not kept for another."""
        return not self.lacking(task)

    def lacking(self, task: Task) -> dict[str, int]:
        """Return the licences that a task cannot have now, with how many it asks for."""
        return {
            name: amount
            for name, amount in task.spec.licences.items()
            if amount > self.left(name) - self._others(name, task)
        }

    def kept_for(self, name: str) -> tuple[str, int]:
        """Return the task for which a licence is kept and how many it asks for; ("", 0) where it is kept for none."""
        return self._kept.get(name, ("", 0))

    def beyond(self, spec: TaskSpec) -> str:
        """Say what a task asks for beyond what the domain has; empty where that is enough."""
        for name, amount in spec.licences.items():
            if amount > self.total.get(name, 0):
                had = f"{self.total[name]} of it" if self.total.get(name) else "none"
                return f"{format_licences({name: amount})}, and this domain has {had}"
        return ""

    def _others(self, name: str, task: Task) -> int:
        first, amount = self.kept_for(name)
        return 0 if first == task.id else amount


def with_licences(
    problem: Problem,
    names: tuple[str, ...],
    use: LicenceUse,
    specs: Sequence[TaskSpec],
    held: Sequence[tuple[float | None, TaskSpec]],
) -> Problem:
    """Return a problem with licences.

    Args:
        problem: in seconds from now.
        names: those that tasks of the problem ask for, or tasks to be added (see `with_one_more`).
        use: what is in use, and kept for tasks that no plan has.
        specs: requests of the problem's tasks; each may have what it asks for at some time.
        held: what live attempts hold, with the seconds until their expected ends, None where these are not known.
    """
    column = {name: number for number, name in enumerate(names)}
    demand = np.zeros((len(specs), len(names)), dtype=np.int64)
    for row, spec in enumerate(specs):
        for name, amount in spec.licences.items():
            demand[row, column[name]] = amount
    found = [
        HeldLicences(_SHORTEST_USE if until is None else until, tuple([spec.licences.get(name, 0) for name in names]))
        for until, spec in held
        if not column.keys().isdisjoint(spec.licences)
    ]
    found += [
        HeldLicences(until, tuple([kept if each == name else 0 for each in names]))
        for name in names
        if (kept := min(use.kept_for(name)[1], use.left(name)))
        for until in (_back_after(use, name, column[name], found),)
    ]
    total = np.array([use.total.get(name, 0) for name in names], dtype=np.int64)
    return replace(problem, licences=Licences(names, total, demand, tuple(found)))


def with_one_more(licences: Licences, spec: TaskSpec) -> Licences:
    """Return the licences with one more task; they have all that it names."""
    row = np.array([[spec.licences.get(name, 0) for name in licences.names]], dtype=np.int64)
    return replace(licences, demand=np.concatenate((licences.demand, row)))


def _back_after(use: LicenceUse, name: str, number: int, held: Sequence[HeldLicences]) -> float:
    """Return the seconds after which the task for which a licence is kept should have it."""
    free, missing = use.left(name), use.kept_for(name)[1]
    for item in sorted(held):
        if free >= missing:
            break
        free += item.taken[number]
        if free >= missing:
            return item.until
    return _SHORTEST_USE


_Sums = tuple["NDArray[np.float64]", "NDArray[np.int64]", "NDArray[np.float64]", "NDArray[np.int64]"]


class LicenceTimeline:
    """Use of scarce licences over time by tasks that run, leave now, or are planned."""

    def __init__(self, tasks: Sequence[str], licences: Licences | None) -> None:
        """Begin with the licences held now; without any licences everything is free at all times."""
        total = [] if licences is None else licences.total.tolist()
        held = () if licences is None else licences.held
        self._total: list[int] = total
        self._row = {name: task for task, name in enumerate(tasks)}
        self._demand = np.zeros((len(tasks), 0), dtype=np.int64) if licences is None else licences.demand
        # Of each licence begin, end and amount of each use; a task has one at most.
        self._uses: list[dict[int, tuple[float, float, int]]] = [
            {-1 - place: (0.0, item.until, item.taken[number]) for place, item in enumerate(held)}
            for number in range(len(total))
        ]
        self._sums: list[_Sums | None] = [None] * len(total)

    @classmethod
    def of(cls, problem: Problem) -> LicenceTimeline:
        """Return the timeline of a problem's scarce licences, before any of its tasks has a place."""
        licences = binding(problem.licences)
        return NO_LICENCES if licences is None else cls(problem.tasks, licences)

    def place(self, task: str, begin: float, end: float) -> None:
        """Note when a task holds its licences, in place of what was noted of it."""
        if not self._total:
            return
        row = self._row[task]
        for number in self._asked(row):
            self._uses[number][row] = (begin, end, int(self._demand[row, number]))
            self._sums[number] = None

    def free(self, task: str, seconds: float, others: FreeLicences | None = None) -> bool:
        """Return whether a task that left now would have its licences until it ends, beside all others.

        Args:
            task: one of the problem; where its own use is noted, that does not count.
            seconds: until its end.
            others: what is left for good and not to be used either, as others may count on it.
        """
        if not self._total:
            return True
        row = self._row[task]
        return all(self._is_free(row, number, seconds, others) for number in self._asked(row))

    def _asked(self, row: int) -> list[int]:
        """Return the licences that a task asks for, by their places."""
        found: list[int] = np.flatnonzero(self._demand[row]).tolist()
        return found

    def _is_free(self, row: int, number: int, seconds: float, others: FreeLicences | None) -> bool:
        begins, begun, ends, ended = self._summed(number)
        times = np.concatenate(([0.0], begins[(begins > 0.0) & (begins < seconds)]))
        if others is not None:
            steps = np.array(others.times(number))
            times = np.concatenate((times, steps[(steps > 0.0) & (steps < seconds)]))
        used = begun[np.searchsorted(begins, times, side="right")] - ended[np.searchsorted(ends, times, side="right")]
        own = self._uses[number].get(row)
        if own is not None:
            used = used - np.where((times >= own[0]) & (times < own[1]), own[2], 0)
        if others is not None:
            used = used + np.array([others.at(number, time) for time in times.tolist()])
        return bool((used + int(self._demand[row, number]) <= self._total[number]).all())

    def _summed(self, number: int) -> _Sums:
        """Return begins and ends, both ascending, each with (n+1,) what has begun, or ended, up to there."""
        known = self._sums[number]
        if known is None:
            begin, end, amount = np.array(list(self._uses[number].values()) or np.zeros((0, 3))).reshape(-1, 3).T
            known = self._sums[number] = (*_ascending(begin, amount), *_ascending(end, amount))
        return known


def _ascending(
    times: NDArray[np.float64], amounts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    order = np.argsort(times, kind="stable")
    return times[order], np.concatenate(([0], np.cumsum(amounts[order]))).astype(np.int64)


NO_LICENCES = LicenceTimeline((), None)
"""The timeline where no licence is scarce."""
