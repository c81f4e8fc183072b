"""Plan as a batch system alone: first come, first served, with backfilling.

The three user counts are those of the Titan paper (Table 1). EASY after Lifka (JSSPP 1995), conservative after
Mu'alem and Feitelson (IEEE TPDS 12(6), 2001), shortest first behind the head after Tsafrir, Etsion and Feitelson
(IEEE TPDS 18(6), 2007); predicted run times are taken to be exact. On several classes the order comes from every task's
best run time on its count; the decoder then assigns hosts.
"""

from __future__ import annotations

import random
from bisect import bisect_left, insort
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.decoder import dependency_order
from cosched.scheduling.decoding.holes import Holes
from cosched.scheduling.heuristics.list_scheduling import starting_order
from cosched.scheduling.host_counts import best_seconds
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.heuristics.list_scheduling import Completion
    from cosched.scheduling.problem import Problem

__all__ = ["arbitrary_count", "calculated_counts", "conservative", "easy", "maximum_count"]


def arbitrary_count(seconds: NDArray[np.float64], seed: str) -> int:
    """Return any host count that a task can use, drawn from the seed.

    Args:
        seconds: (N,) run time by host count, infinite where impossible; at least one is finite.
        seed: different for each task and the same in each run.
    """
    usable = np.flatnonzero(np.isfinite(seconds)) + 1
    return int(random.Random(seed).choice(usable.tolist()))  # noqa: S311  a repeatable draw, not a secret


def maximum_count(seconds: NDArray[np.float64]) -> int:
    """Return the largest host count that a task can use; `seconds` as of `arbitrary_count`."""
    return int(np.flatnonzero(np.isfinite(seconds))[-1]) + 1


def calculated_counts(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the counts with the fewest host-seconds, as careful users would calculate them.

    The result is (m,); of equal areas the faster count is taken.

    Args:
        seconds: (m, N), each row as of `arbitrary_count`.
    """
    area = seconds * np.arange(1, seconds.shape[1] + 1)
    least = area == area.min(axis=1, keepdims=True)
    counts: NDArray[np.int64] = np.where(least, seconds, np.inf).argmin(axis=1) + 1
    return counts


def conservative(problem: Problem, counts: NDArray[np.int64]) -> Plan:
    """Return the plan of conservative backfilling: the earliest hole that fits, in order of arrival.

    Args:
        problem: the problem to schedule.
        counts: (m,) hosts of each task.
    """
    seconds = _seconds(problem, counts)
    holes = Holes(problem.free.tolist())
    starts: dict[int, float] = {}
    ends: dict[int, float] = {}
    order = dependency_order(problem, np.argsort(problem.release, kind="stable").tolist())
    for task in order:
        count = int(counts[task])
        starts[task] = holes.earliest(count, seconds[task], problem.ready(task, ends))
        ends[task] = starts[task] + seconds[task]
        holes.take(count, starts[task], ends[task])
    order.sort(key=starts.__getitem__)  # of equal starts the one placed first stays ahead
    return Plan(np.array(order, dtype=np.int64), counts)


def easy(problem: Problem, counts: NDArray[np.int64], *, shortest_first: bool = False) -> Plan:
    """Return the plan of EASY backfilling: only the head of the queue has a reservation.

    A task joins the queue when it is released and its predecessors have ended.

    Args:
        problem: the problem to schedule.
        counts: (m,) hosts of each task.
        shortest_first: whether the shortest of the tasks behind the head is the first to overtake it, instead of the
            one that has waited longest.
    """
    seconds = _seconds(problem, counts)
    queue = _BackfilledQueue(problem, counts.tolist(), seconds, shortest_first=shortest_first)
    order = starting_order(problem, counts.tolist(), seconds, queue)
    return Plan(np.array(order, dtype=np.int64), counts)


class _BackfilledQueue:
    """Start tasks by arrival, then by position in the problem, and those that can overtake."""

    def __init__(self, problem: Problem, counts: list[int], seconds: list[float], *, shortest_first: bool) -> None:
        self._release = problem.release.tolist()
        self._counts = counts
        self._seconds = seconds
        self._first = seconds.__getitem__ if shortest_first else None
        self._queue: list[tuple[float, int]] = []

    def join(self, task: int) -> None:
        insort(self._queue, (self._release[task], task))

    def leave(self, now: float, idle: int, working: Sequence[Completion]) -> list[int]:
        queue = [task for _, task in self._queue]
        started = self._in_turn(queue, idle)
        behind = queue[len(started) :]
        idle -= sum(self._counts[task] for task in started)
        if len(behind) > 1 and idle:
            running = [*working, *((now + self._seconds[task], self._counts[task], task) for task in started)]
            others = behind[1:] if self._first is None else sorted(behind[1:], key=self._first)
            started += self._overtaking(others, idle, now, _reservation(self._counts[behind[0]], idle, running))
        for task in started:
            del self._queue[bisect_left(self._queue, (self._release[task], task))]
        return started

    def _in_turn(self, queue: Sequence[int], idle: int) -> list[int]:
        """Return the tasks in front that fit."""
        started = []
        for task in queue:
            if self._counts[task] > idle:
                break
            started.append(task)
            idle -= self._counts[task]
        return started

    def _overtaking(self, others: Sequence[int], idle: int, now: float, reservation: tuple[float, int]) -> list[int]:
        """Return the tasks that start ahead of the head and do not hold it up."""
        started = []
        shadow, spare = reservation
        for task in others:
            if idle == 0:
                break
            count, late = self._counts[task], now + self._seconds[task] > shadow
            if count > idle or (late and count > spare):
                continue
            started.append(task)
            idle -= count
            if late:
                spare -= count
        return started


def _reservation(count: int, idle: int, running: list[Completion]) -> tuple[float, int]:
    """Return when the head can start, and how many hosts it leaves over then."""
    when = 0.0
    for end, hosts, _ in sorted(running):
        if idle >= count and end > when:
            break
        when = end
        idle += hosts
    return when, idle - count


def _seconds(problem: Problem, counts: NDArray[np.int64]) -> list[float]:
    seconds: list[float] = best_seconds(problem)[np.arange(len(counts)), counts - 1].tolist()
    return seconds
