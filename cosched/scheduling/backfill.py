"""EASY and conservative backfilling of tasks whose host counts are settled.

A batch queue in order of arrival in which a task may overtake: under EASY (Lifka, JSSPP 1995) if the head of the queue
does not start later for it, under conservative backfilling (Mu'alem, Feitelson: IEEE TPDS 12(6), 2001) if nobody ahead
of it does. Predicted run times are taken to be exact. On several classes the order comes from every task's best run
time on its count; the decoder then places in earnest.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoder import dependency_order
from cosched.scheduling.holes import Holes
from cosched.scheduling.problem import Plan
from cosched.scheduling.starting import starting_order
from cosched.scheduling.widths import best_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem
    from cosched.scheduling.starting import Working

__all__ = ["conservative", "easy"]


def conservative(problem: Problem, counts: NDArray[np.int64]) -> Plan:
    """Return the plan in which each task, in order of arrival, takes the earliest hole that it fits into.

    Args:
        problem: what is scheduled.
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


def easy(problem: Problem, counts: NDArray[np.int64]) -> Plan:
    """Return the plan of a queue with a reservation for its head only; arguments as of `conservative`.

    A task joins the queue when it is released and its predecessors have ended.
    """
    seconds = _seconds(problem, counts)
    order = starting_order(problem, counts.tolist(), seconds, _ByArrival(problem, counts.tolist(), seconds))
    return Plan(np.array(order, dtype=np.int64), counts)


class _ByArrival:
    """Who is in the queue, by arrival, then by position in the problem."""

    def __init__(self, problem: Problem, counts: list[int], seconds: list[float]) -> None:
        self._release = problem.release.tolist()
        self._counts = counts
        self._seconds = seconds
        self._queue: list[tuple[float, int]] = []

    def join(self, task: int) -> None:
        insort(self._queue, (self._release[task], task))

    def leave(self, now: float, idle: int, working: Sequence[Working]) -> list[int]:
        started = _startable([task for _, task in self._queue], self._counts, self._seconds, idle, now, working)
        for task in started:
            del self._queue[bisect_left(self._queue, (self._release[task], task))]
        return started


def _startable(
    queue: Sequence[int], counts: list[int], seconds: list[float], idle: int, now: float, working: Sequence[Working]
) -> list[int]:
    """Return the tasks that start now: from the front while they fit, then those that do not delay the new head."""
    started = []
    running = list(working)
    for task in queue:
        if counts[task] > idle:
            break
        started.append(task)
        idle -= counts[task]
        running.append((now + seconds[task], counts[task], task))
    behind = queue[len(started) :]
    if not behind:
        return started
    shadow, spare = _reservation(counts[behind[0]], idle, running)
    for task in behind[1:]:
        if idle == 0:
            break
        if counts[task] > idle or (now + seconds[task] > shadow and counts[task] > spare):
            continue
        started.append(task)
        idle -= counts[task]
        if now + seconds[task] > shadow:
            spare -= counts[task]
    return started


def _reservation(count: int, idle: int, running: list[Working]) -> tuple[float, int]:
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
