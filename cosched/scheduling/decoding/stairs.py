"""Stairs over time: how much of a host's resource, or of a licence of the domain, is free for good from when on.

Start at `Stair`. What is free for good never falls with time, as no hole is filled (see `packed_decoder`).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from cosched.scheduling.licences import binding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.licences import Licences
    from cosched.scheduling.problem import Problem

__all__ = ["FreeLicences", "Stair", "first_stair", "first_stairs", "free_licences", "licence_stairs"]


class Stair:
    """How much of one resource is free for good from when on: times and amounts, both ascending."""

    __slots__ = ("amounts", "times")

    def __init__(self, times: list[float], amounts: list[int]) -> None:
        self.times, self.amounts = times, amounts

    def at(self, time: float) -> int:
        """Return what is free from a time on."""
        place = bisect_right(self.times, time)
        return self.amounts[place - 1] if place else 0

    def free_from(self, amount: int) -> float:
        """Return when so much is free; infinite where there is less."""
        place = bisect_left(self.amounts, amount)
        return self.times[place] if place < len(self.times) else math.inf

    def take(self, amount: int, start: float, end: float) -> None:
        """Take an amount that is free from the start on; before the start nobody can have it for good, either."""
        if amount == 0:
            return
        left, back = self.at(start) - amount, self.at(end)
        steps = [
            (time, min(had, left) if time <= start else had - amount if time < end else had)
            for time, had in zip(self.times, self.amounts, strict=True)
        ]
        steps.insert(bisect_left(self.times, end), (end, back))
        self.times, self.amounts = [], []
        for time, had in steps:
            if had > (self.amounts[-1] if self.amounts else 0):
                self.times.append(time)
                self.amounts.append(had)


def first_stair(begin: float, capacity: int, held: list[tuple[float, int]]) -> Stair:
    """Return the stair of a resource that is there from a time on, less what running tasks still take."""
    stair = Stair([begin], [capacity]) if capacity else Stair([], [])
    later = sorted((until, amount) for until, amount in held if until > begin and amount)
    if not later:
        return stair
    amount = capacity - sum(taken for _, taken in later)
    times, amounts = ([begin], [amount]) if amount > 0 else ([], [])
    for until, taken in later:
        amount += taken
        if amount <= 0:
            continue
        if times and times[-1] == until:
            amounts[-1] = amount
        else:
            times.append(until)
            amounts.append(amount)
    return Stair(times, amounts)


def first_stairs(begin: float, capacity: Sequence[int], held: Sequence[tuple[float, Sequence[int]]]) -> list[Stair]:
    """Return a host's stairs, one for each resource, as `first_stair` does.

    Args:
        begin: when the host is there.
        capacity: of each resource.
        held: until when running tasks have how much of each; ascending.
    """
    later = [each for each in held if each[0] > begin]
    found = []
    for number, total in enumerate(capacity):
        amount = total - sum([amounts[number] for _, amounts in later])
        times, steps = ([begin], [amount]) if amount > 0 else ([], [])
        for until, amounts in later:
            if not (taken := amounts[number]):
                continue
            amount += taken
            if amount <= 0:
                continue
            if times and times[-1] == until:
                steps[-1] = amount
            else:
                times.append(until)
                steps.append(amount)
        found.append(Stair(times, steps))
    return found


def licence_stairs(licences: Licences) -> list[Stair]:
    """Return a stair for each licence, no higher than what all tasks together ask for."""
    stairs = []
    for number, (total, asked) in enumerate(
        zip(licences.total.tolist(), licences.demand.sum(axis=0).tolist(), strict=True)
    ):
        found = first_stair(0.0, total, [(item.until, item.taken[number]) for item in licences.held])
        steps = bisect_left(found.amounts, asked) + 1
        stairs.append(Stair(found.times[:steps], [min(amount, asked) for amount in found.amounts[:steps]]))
    return stairs


class FreeLicences:
    """The stairs of a problem's scarce licences, from which its tasks take as they are placed."""

    __slots__ = ("_demand", "_problem", "_stairs")

    def __init__(self, problem: Problem, licences: Licences) -> None:
        self._problem = problem
        self._demand = [
            [(number, amount) for number, amount in enumerate(row) if amount] for row in licences.demand.tolist()
        ]
        self._stairs = licence_stairs(licences)

    def asked_by(self, task: int) -> bool:
        """Return whether a task asks for a licence that can make it wait."""
        return bool(self._demand[task])

    def free_from(self, task: int) -> float:
        """Return when what a task asks for is free for good; infinite where there is less."""
        return max([self._stairs[number].free_from(amount) for number, amount in self._demand[task]], default=0.0)

    def at(self, licence: int, time: float) -> int:
        """Return how much of a licence is free for good from a time on."""
        return self._stairs[licence].at(time)

    def times(self, licence: int) -> list[float]:
        """Return the times at which more of a licence becomes free for good."""
        return self._stairs[licence].times

    def ready(self, task: int, earliest: float) -> float:
        """Return when a task that could start at a time has its licences, too.

        Raises:
            ValueError: there will never be as many.
        """
        when = self.free_from(task)
        if when == math.inf:
            raise ValueError(f"task {self._problem.tasks[task]} asks for more licences than there are")
        return when if when > earliest else earliest

    def take(self, task: int, start: float, end: float) -> None:
        """Take a task's licences while it runs; they are free from the start on."""
        for number, amount in self._demand[task]:
            self._stairs[number].take(amount, start, end)


def free_licences(problem: Problem) -> FreeLicences | None:
    """Return the free licences of a problem; None where no task can have to wait for one."""
    licences = binding(problem.licences)
    return None if licences is None else FreeLicences(problem, licences)
