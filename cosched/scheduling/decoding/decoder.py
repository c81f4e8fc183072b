"""Decode a plan into a schedule in plain Python, quick enough for every event.

Tasks are placed in the plan's order; each takes the hosts that become free first (ties by the host's index) and
starts when all of them are free, its release has come and its predecessors have ended. No hole is ever filled, and
none needs to be: ordering any feasible schedule on identical hosts by start times and decoding that order gives
starts that are no later.

On several classes the slowest host decides the run time. A plan may say whose hosts alone a task takes; among hosts of
one class nothing but when they are free matters, so that the above holds again. Where it does not, each class is tried
as the slowest one allowed, and the choice that ends first is taken (ties: the faster threshold); of hosts that become
free together, those of an earlier class come first.

Where hosts come and go, it is their windows that become free (see `availability_windows`). Hosts that tasks share
have a decoder of their own, `packed_decoder`. In each, a task that asks for licences starts when these are free, too
(see `stairs`); what is left of them falls as little with time as free hosts do, so that the above holds again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from cosched.scheduling.decoding.availability_windows import WindowDecoder
from cosched.scheduling.decoding.free_hosts import FreeHostsByClass, IdenticalFreeHosts, NamedFreeHosts
from cosched.scheduling.decoding.packed_decoder import PackedDecoder
from cosched.scheduling.decoding.stairs import free_licences
from cosched.scheduling.host_counts import class_times, planned_times, single_class
from cosched.scheduling.schedule import Assignment, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cosched.scheduling.decoding.free_hosts import ClassCounts
    from cosched.scheduling.decoding.stairs import FreeLicences
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["decode", "dependency_order", "soonest", "spans"]


class PlanDecoder(Protocol):
    """Decodes plans on one representation of a problem's hosts. Orders have every predecessor ahead."""

    def decode(self, order: list[int], plan: Plan, *, in_order: bool = False) -> Schedule: ...

    def spans(self, order: list[int], plan: Plan, *, in_order: bool = False) -> tuple[list[float], list[float]]: ...

    def soonest(self, order: list[int], plan: Plan, task: int) -> Assignment | None: ...


def _decoder_of(problem: Problem) -> PlanDecoder:
    """Return the decoder for shared hosts, identical ones, several classes, or hosts that are away at times."""
    if problem.packing is not None:
        return PackedDecoder(problem)
    if problem.unavailability:
        return WindowDecoder(problem)
    return _ClassDecoder(problem) if single_class(problem) is None else _IdenticalDecoder(problem)


def decode(problem: Problem, plan: Plan, *, in_order: bool = False) -> Schedule:
    """Return the schedule of a plan.

    Args:
        problem: the problem to schedule.
        plan: order and host counts; tasks left out of the order are left out of the schedule.
        in_order: no task starts before the one ahead of it has started (strict first come, first served).

    Raises:
        ValueError: a host count cannot be used for its task, or not on hosts of its class.
    """
    return _decoder_of(problem).decode(dependency_order(problem, plan.order.tolist()), plan, in_order=in_order)


def soonest(problem: Problem, plan: Plan, ahead: Sequence[int], task: int) -> Assignment | None:
    """Return where one more task ends first behind others, on hosts of any class.

    Of equal ends, the one on fewer hosts is taken.

    Args:
        problem: a problem with the task, which depends on none of the others.
        plan: counts and classes of the others.
        ahead: the others, in planned order.
        task: the one more.

    Returns:
        Its place; None where no number of hosts is there for long enough.
    """
    return _decoder_of(problem).soonest(dependency_order(problem, ahead), plan, task)


def spans(problem: Problem, plan: Plan, *, in_order: bool = False) -> tuple[list[float], list[float]]:
    """Return when each task starts and ends under a plan, without naming hosts.

    It is several times quicker than `decode`.

    Returns:
        Starts and ends in seconds, both by task index; NaN for a task that the plan leaves out.

    Raises:
        ValueError: a host count cannot be used for its task.
    """
    return _decoder_of(problem).spans(dependency_order(problem, plan.order.tolist()), plan, in_order=in_order)


def dependency_order(problem: Problem, order: Iterable[int]) -> list[int]:
    """Return the order with predecessors, in the order of `depends_on`, drawn ahead of each task."""
    if not any(problem.depends_on):
        return list(order)
    placed: list[int] = []
    seen: set[int] = set()
    for task in order:
        stack = [task]
        while stack:
            top = stack[-1]
            missing = [other for other in problem.depends_on[top] if other not in seen]
            if missing:
                stack.append(missing[0])
                continue
            stack.pop()
            if top not in seen:
                seen.add(top)
                placed.append(top)
    return placed


class _ClassDecoder:
    """Decodes on hosts of one class or several."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def decode(self, order: list[int], plan: Plan, *, in_order: bool = False) -> Schedule:
        """Return the schedule of a plan."""
        free, licences = FreeHostsByClass.of(self._problem), free_licences(self._problem)
        starts, ends, parts = self._place(order, plan, free, licences, in_order=in_order)
        return self._named(order, starts, ends, parts)

    def spans(self, order: list[int], plan: Plan, *, in_order: bool = False) -> tuple[list[float], list[float]]:
        """Return starts and ends by task index."""
        free, licences = FreeHostsByClass.of(self._problem), free_licences(self._problem)
        return self._place(order, plan, free, licences, in_order=in_order)[:2]

    def soonest(self, order: list[int], plan: Plan, task: int) -> Assignment | None:
        """Return where one more task ends first behind the others."""
        problem = self._problem
        free, licences = FreeHostsByClass.of(problem), free_licences(problem)
        _, ends, parts = self._place(order, plan, free, licences)
        times, ready = class_times(problem)[:, task].tolist(), float(problem.release[task])
        ready = ready if licences is None else max(ready, licences.free_from(task))
        places = [free.first_to_end(seconds, count, ready) for count, seconds in enumerate(zip(*times, strict=True), 1)]
        place = min(places, key=lambda place: place.end)
        if not place.parts:
            return None
        hosts = NamedFreeHosts(problem, alike=len(free.rows) == 1)
        for other in order:
            hosts.take(parts[other], ends[other])
        names = tuple([problem.hosts[host] for host in hosts.take(place.parts, place.end)])
        return Assignment(problem.tasks[task], names, place.start, place.end)

    def _place(
        self,
        order: list[int],
        plan: Plan,
        free: FreeHostsByClass,
        licences: FreeLicences | None,
        *,
        in_order: bool = False,
    ) -> tuple[list[float], list[float], list[ClassCounts]]:
        """Return `spans`, and the free hosts of each class that each task takes."""
        problem = self._problem
        seconds = list(zip(*planned_times(problem, plan).tolist(), strict=True))
        counts, release = plan.counts.tolist(), problem.release.tolist()
        before = problem.depends_on or ((),) * len(problem.tasks)
        starts = [float("nan")] * len(problem.tasks)
        ends = list(starts)
        parts: list[ClassCounts] = [()] * len(starts)
        latest = 0.0
        for task in order:
            earliest = max([release[task], latest, *[ends[other] for other in before[task]]])
            earliest = earliest if licences is None else licences.ready(task, earliest)
            starts[task], end, taken = free.first_to_end(seconds[task], counts[task], earliest)
            if not taken:
                raise _not_on(problem, task, counts[task])
            free.take(taken, end)
            if licences is not None:
                licences.take(task, starts[task], end)
            ends[task], parts[task] = end, taken
            latest = starts[task] if in_order else latest
        return starts, ends, parts

    def _named(
        self,
        order: list[int],
        starts: list[float],
        ends: list[float],
        parts: Sequence[ClassCounts],
        *,
        alike: bool = False,
    ) -> Schedule:
        """Return a schedule with host names from the times and host classes of its tasks."""
        free, tasks, hosts = NamedFreeHosts(self._problem, alike=alike), self._problem.tasks, self._problem.hosts
        assignments = []
        for task in order:
            names = tuple([hosts[host] for host in free.take(parts[task], ends[task])])
            assignments.append(Assignment(tasks[task], names, starts[task], ends[task]))
        return Schedule(tuple(assignments))


class _IdenticalDecoder(_ClassDecoder):
    """Decodes on hosts that are all alike, several times quicker."""

    def decode(self, order: list[int], plan: Plan, *, in_order: bool = False) -> Schedule:
        """Return the schedule of a plan."""
        starts, ends = self.spans(order, plan, in_order=in_order)
        return self._named(order, starts, ends, [((0, count),) for count in plan.counts.tolist()], alike=True)

    def spans(self, order: list[int], plan: Plan, *, in_order: bool = False) -> tuple[list[float], list[float]]:
        """Return starts and ends by task index."""
        problem = self._problem
        (seconds,) = planned_times(problem, plan)
        possible = (plan.counts >= 1) & (plan.counts <= len(problem.hosts)) & np.isfinite(seconds)
        impossible = plan.order[~possible[plan.order]]
        if len(impossible):
            raise _not_on(problem, int(impossible[0]), int(plan.counts[impossible[0]]))
        seconds_of, count_of, release = seconds.tolist(), plan.counts.tolist(), problem.release.tolist()
        before = problem.depends_on if any(problem.depends_on) else None
        free, licences = IdenticalFreeHosts(problem.free.tolist()), free_licences(problem)
        starts = [float("nan")] * len(problem.tasks)
        ends = list(starts)
        latest = 0.0
        for task in order:
            count = count_of[task]
            start = free.earliest(count)
            if start < release[task]:
                start = release[task]
            if before is not None:
                start = max([start, *[ends[other] for other in before[task]]])
            if in_order:
                start = latest = max(start, latest)
            if licences is not None:
                start = licences.ready(task, start)
                latest = max(start, latest)
            starts[task] = start
            ends[task] = end = start + seconds_of[task]
            if licences is not None:
                licences.take(task, start, end)
            free.take(count, end)
        return starts, ends


def _not_on(problem: Problem, task: int, count: int) -> ValueError:
    return ValueError(f"task {problem.tasks[task]} cannot run on {count} of {len(problem.hosts)} hosts")
