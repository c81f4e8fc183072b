"""From a plan to a schedule, in plain Python: quick enough for every event, and nothing to compile.

Tasks are placed in the plan's order; each takes the hosts that become free first (ties by the host's index) and
starts when all of them are free, its release has come and its predecessors have ended. No hole is ever filled, and
none needs to be: ordering any feasible schedule on identical hosts by start times and decoding that order gives
starts that are no later.

On several classes the slowest host decides the run time. A plan may say whose hosts alone a task takes; among hosts of
one class nothing but when they are free matters, so that the above holds again. Where it does not, each class is tried
as the slowest one allowed, and the choice that ends first is taken (ties: the faster threshold); of hosts that become
free together, those of an earlier class come first.

Where hosts come and go, it is their windows that become free (see `windows`).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.free_times import FreeTimes
from cosched.scheduling.schedule import Assignment, Schedule
from cosched.scheduling.widths import single_class
from cosched.scheduling.windows import decode_around

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Plan, Problem

__all__ = ["decode", "dependency_order", "first_to_end", "spans"]


def decode(problem: Problem, plan: Plan, *, in_order: bool = False) -> Schedule:
    """Return the schedule that a plan stands for.

    Args:
        problem: what is scheduled.
        plan: order and host counts; tasks left out of the order are left out of the schedule.
        in_order: no task starts before the one ahead of it has started (strict first come, first served).

    Raises:
        ValueError: a host count cannot be used for its task, or not on hosts of its class.
    """
    order = dependency_order(problem, plan.order.tolist())
    if problem.absences:
        return decode_around(problem, order, plan, in_order=in_order)
    if single_class(problem) is None:
        return _decode_classes(problem, order, plan, in_order=in_order)
    starts, ends = spans(problem, plan, in_order=in_order)
    counts = plan.counts.tolist()
    hosts = problem.hosts
    waiting = sorted(zip(problem.free.tolist(), range(len(hosts)), strict=True))
    assignments = []
    for task in order:
        chosen = sorted([host for _, host in waiting[: counts[task]]])
        end = ends[task]
        _give_back(waiting, counts[task], end, chosen)
        names = tuple([hosts[host] for host in chosen])
        assignments.append(Assignment(problem.tasks[task], names, starts[task], end))
    return Schedule(tuple(assignments))


def spans(problem: Problem, plan: Plan, *, in_order: bool = False) -> tuple[list[float], list[float]]:
    """Return when each task starts and ends under a plan, without saying where: several times quicker than `decode`.

    Returns:
        Starts and ends in seconds, both by task index; NaN for a task that the plan leaves out.

    Raises:
        ValueError: a host count cannot be used for its task.
    """
    only = single_class(problem)
    if only is None or problem.absences:
        return _spans_of(problem, decode(problem, plan, in_order=in_order))
    count_of = plan.counts.tolist()
    seconds = problem.seconds[only, np.arange(len(problem.tasks)), np.clip(plan.counts, 1, len(problem.hosts)) - 1]
    _check_counts(problem, plan, seconds)
    seconds_of, release = seconds.tolist(), problem.release.tolist()
    before = problem.depends_on if any(problem.depends_on) else None
    free = FreeTimes(problem.free.tolist())
    starts = [float("nan")] * len(problem.tasks)
    ends = list(starts)
    latest = 0.0
    for task in dependency_order(problem, plan.order.tolist()):
        count = count_of[task]
        start = free.earliest(count)
        if start < release[task]:
            start = release[task]
        if before is not None:
            start = max([start, *[ends[other] for other in before[task]]])
        if in_order:
            start = latest = max(start, latest)
        starts[task] = start
        ends[task] = end = start + seconds_of[task]
        free.take(count, end)
    return starts, ends


def dependency_order(problem: Problem, order: Iterable[int]) -> list[int]:
    """Return the order with every task's predecessors (in the order of `depends_on`) drawn ahead of it."""
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


def _give_back(waiting: list[tuple[float, int]], count: int, end: float, hosts: list[int]) -> None:
    """Take the first `count` entries off the sorted list of (free, host) and enter `hosts` as free at `end`."""
    del waiting[:count]
    place = bisect_left(waiting, (end, -1))
    tied = bisect_left(waiting, (end, 1 << 62), place)
    waiting[place:tied] = sorted(waiting[place:tied] + [(end, host) for host in hosts])


def _check_counts(problem: Problem, plan: Plan, seconds: NDArray[np.float64]) -> None:
    """Raise where a task of the plan cannot run on its hosts; `seconds` says how long each takes on them."""
    possible = (plan.counts >= 1) & (plan.counts <= len(problem.hosts)) & np.isfinite(seconds)
    impossible = plan.order[~possible[plan.order]]
    if len(impossible):
        raise _not_on(problem, int(impossible[0]), int(plan.counts[impossible[0]]))


def _not_on(problem: Problem, task: int, count: int) -> ValueError:
    return ValueError(f"task {problem.tasks[task]} cannot run on {count} of {len(problem.hosts)} hosts")


def _spans_of(problem: Problem, schedule: Schedule) -> tuple[list[float], list[float]]:
    index = {name: task for task, name in enumerate(problem.tasks)}
    starts = [float("nan")] * len(problem.tasks)
    ends = list(starts)
    for assignment in schedule.assignments:
        starts[index[assignment.task]] = assignment.start
        ends[index[assignment.task]] = assignment.end
    return starts, ends


def _decode_classes(problem: Problem, order: list[int], plan: Plan, *, in_order: bool) -> Schedule:
    counts = plan.counts.tolist()
    wanted = [-1] * len(counts) if plan.classes is None else plan.classes.tolist()
    waiting = sorted(zip(problem.free.tolist(), problem.host_class.tolist(), range(len(problem.hosts)), strict=True))
    release = problem.release.tolist()
    before = problem.depends_on or ((),) * len(problem.tasks)
    ends: dict[int, float] = {}
    assignments = []
    latest = 0.0
    for task in order:
        earliest = max([release[task], latest, *[ends[other] for other in before[task]]])
        seconds = problem.seconds[:, task, min(max(counts[task], 1), len(problem.hosts)) - 1].tolist()
        if wanted[task] >= 0:
            seconds = [value if k == wanted[task] else float("inf") for k, value in enumerate(seconds)]
        start, end, chosen = first_to_end(waiting, seconds, counts[task], earliest)
        if not chosen:
            raise _not_on(problem, task, counts[task])
        latest = start if in_order else latest
        ends[task] = end
        taken = {host for _, host in chosen}
        kept = [entry for entry in waiting if entry[2] not in taken]
        waiting = sorted(kept + [(end, kind, host) for kind, host in chosen])
        names = tuple(problem.hosts[host] for host in sorted(taken))
        assignments.append(Assignment(problem.tasks[task], names, start, end))
    return Schedule(tuple(assignments))


def first_to_end(
    waiting: list[tuple[float, int, int]], seconds: list[float], count: int, earliest: float
) -> tuple[float, float, list[tuple[int, int]]]:
    """Place one task on several classes where it ends first.

    Args:
        waiting: (free from, class, host), ascending.
        seconds: run time on `count` hosts by the slowest class among them, infinite where impossible.
        count: number of hosts.
        earliest: time that it may not start before.

    Returns:
        Start, end (infinite where no class has enough hosts) and the hosts, each behind its class.
    """
    best: tuple[float, float, list[tuple[int, int]]] = (0.0, float("inf"), [])
    for threshold in sorted({value for value in seconds if value != float("inf")}):
        chosen = [entry for entry in waiting if seconds[entry[1]] <= threshold][:count]
        if len(chosen) < count or not chosen:
            continue
        start = max(chosen[-1][0], earliest)
        if start + threshold < best[1]:
            best = (start, start + threshold, [(kind, host) for _, kind, host in chosen])
    return best
