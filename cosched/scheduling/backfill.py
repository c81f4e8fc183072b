"""EASY and conservative backfilling of tasks whose host counts are settled.

A batch queue in order of arrival in which a task may overtake: under EASY (Lifka, JSSPP 1995) if the head of the queue
does not start later for it, under conservative backfilling (Mu'alem, Feitelson: IEEE TPDS 12(6), 2001) if nobody ahead
of it does. Predicted run times are taken to be exact. On several classes the order comes from every task's best run
time on its count; the decoder then places in earnest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoder import dependency_order
from cosched.scheduling.problem import Plan
from cosched.scheduling.widths import best_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = ["conservative", "easy"]


def conservative(problem: Problem, counts: NDArray[np.int64]) -> Plan:
    """Return the plan in which each task, in order of arrival, takes the earliest hole that it fits into.

    Args:
        problem: what is scheduled.
        counts: (m,) hosts of each task.
    """
    seconds = _seconds(problem, counts)
    holes = _Holes(problem.free.tolist())
    arrival = np.argsort(problem.release, kind="stable").tolist()
    starts, ends = [0.0] * len(seconds), [0.0] * len(seconds)
    order = dependency_order(problem, arrival)
    for task in order:
        before = problem.depends_on[task] if problem.depends_on else ()
        ready = max([float(problem.release[task]), *[ends[other] for other in before]])
        starts[task] = holes.take(int(counts[task]), seconds[task], ready)
        ends[task] = starts[task] + seconds[task]
    order.sort(key=starts.__getitem__)  # of equal starts the one placed first stays ahead
    return Plan(np.array(order, dtype=np.int64), counts)


def easy(problem: Problem, counts: NDArray[np.int64]) -> Plan:
    """Return the plan of a queue with a reservation for its head only; arguments as of `conservative`.

    A task joins the queue when it is released and its predecessors have ended.
    """
    seconds = _seconds(problem, counts)
    queue = _Arrivals(problem)
    events = [(free, 1, -1) for free in problem.free.tolist()]  # time, hosts that come back, task that ends
    events += [(release, 0, -1) for release in set(problem.release.tolist())]
    heapify(events)
    order: list[int] = []
    idle = 0
    while len(order) < len(seconds):
        now = events[0][0]
        while events and events[0][0] <= now:
            _, hosts, ended = heappop(events)
            idle += hosts
            queue.end(ended)
        for task in _startable(queue.arrived(now), counts.tolist(), seconds, idle, now, events):
            queue.leave(task)
            order.append(task)
            idle -= int(counts[task])
            heappush(events, (now + seconds[task], int(counts[task]), task))
    return Plan(np.array(order, dtype=np.int64), counts)


def _startable(
    queue: Sequence[int], counts: list[int], seconds: list[float], idle: int, now: float,
    events: list[tuple[float, int, int]],
) -> list[int]:  # fmt: skip
    """Return the tasks that start now: from the front while they fit, then those that do not delay the new head."""
    started = []
    running = list(events)
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


def _reservation(count: int, idle: int, running: list[tuple[float, int, int]]) -> tuple[float, int]:
    """Return when the head can start, and how many hosts it leaves over then."""
    when = 0.0
    for end, hosts, _ in sorted(running):
        if idle >= count and end > when:
            break
        when = end
        idle += hosts
    return when, idle - count


class _Arrivals:
    """Who is in the queue when: by arrival, then by position in the problem."""

    def __init__(self, problem: Problem) -> None:
        self._release = problem.release.tolist()
        before = problem.depends_on or ((),) * len(problem.tasks)
        self._missing = [set(others) for others in before]
        self._after: list[list[int]] = [[] for _ in before]
        for task, others in enumerate(before):
            for other in others:
                self._after[other].append(task)
        self._coming = sorted((self._release[task], task) for task, others in enumerate(before) if not others)
        self._queue: list[tuple[float, int]] = []

    def end(self, task: int) -> None:
        """Take note that a task has ended (-1: none)."""
        for other in self._after[task] if task >= 0 else ():
            self._missing[other].discard(task)
            if not self._missing[other]:
                insort(self._coming, (self._release[other], other))

    def arrived(self, now: float) -> list[int]:
        while self._coming and self._coming[0][0] <= now:
            insort(self._queue, self._coming.pop(0))
        return [task for _, task in self._queue]

    def leave(self, task: int) -> None:
        self._queue.pop(bisect_left(self._queue, (self._release[task], task)))


class _Holes:
    """How many hosts are idle from when on: two lists of equal length, the times ascending."""

    def __init__(self, free: Sequence[float]) -> None:
        self._when = sorted(set(free))
        self._idle = [sum(value <= when for value in free) for when in self._when]

    def take(self, count: int, seconds: float, ready: float) -> float:
        """Occupy `count` hosts for so long, from the earliest time at or after `ready`; return that time."""
        place = max(bisect_right(self._when, ready) - 1, 0)
        while True:
            start = max(self._when[place], ready)
            blocked = self._blocked(place, count, start + seconds)
            if blocked < 0:
                break
            place = blocked + 1
        first, last = self._split(start), self._split(start + seconds)
        for index in range(first, last):
            self._idle[index] -= count
        return start

    def _blocked(self, place: int, count: int, end: float) -> int:
        """Return the first step from `place` on that begins before `end` and has too few hosts, or -1."""
        for index in range(place, len(self._when)):
            if index > place and self._when[index] >= end:
                break
            if self._idle[index] < count:
                return index
        return -1

    def _split(self, when: float) -> int:
        """Return the index of the step that begins at `when`, after making one if need be."""
        index = bisect_left(self._when, when)
        if index == len(self._when) or self._when[index] != when:
            self._when.insert(index, when)
            self._idle.insert(index, self._idle[index - 1])
        return index


def _seconds(problem: Problem, counts: NDArray[np.int64]) -> list[float]:
    seconds: list[float] = best_seconds(problem)[np.arange(len(counts)), counts - 1].tolist()
    return seconds
