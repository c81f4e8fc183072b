"""A plan becomes dispatches: tasks that start now, just in time, delaying no planned task.

Start at `starts_now`; `starts_in_order` is strict first-come-first-served.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.coscheduler.places.licences import NO_LICENCES, LicenceTimeline
from cosched.scheduling.decoding.decoder import decode, dependency_order
from cosched.scheduling.host_counts import single_class
from cosched.scheduling.licences import binding
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment

__all__ = [
    "NOW",
    "BackfillCandidate",
    "ImmediateStart",
    "RunTimeTable",
    "first_on_idle_hosts",
    "may_start",
    "starts_in_order",
    "starts_now",
]

NOW = 1e-6
"""Planned starts come from sums of floats; less than this from now is now. Seconds."""
_FIRST = 32  # tasks of a plan that are decoded first to see who uses the idle hosts; then four times as many


class ImmediateStart(NamedTuple):
    """A task that leaves now, its hosts in rank order and its predicted seconds.

    Attributes:
        cores: that it takes of each shared host; 0 where it has them whole.
    """

    task: str
    hosts: tuple[str, ...]
    seconds: float
    cores: int = 0


class BackfillCandidate(NamedTuple):
    """A task that may fill a gap, with its number of hosts and its seconds."""

    task: str
    hosts: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RunTimeTable:
    """Run times and hosts of tasks, as dispatch needs them.

    Attributes:
        kinds: class of each host, by name; hosts that are alike have one.
        places: index of each task.
        seconds: (K, m, N) run times by class, task and host count.
    """

    kinds: Mapping[str, int]
    places: Mapping[str, int]
    seconds: NDArray[np.float64]

    @classmethod
    def of(cls, problem: Problem) -> RunTimeTable:
        """Return the speeds of a problem."""
        only = single_class(problem)
        classes = problem.host_class.tolist() if only is None else [only] * len(problem.hosts)
        places = {task: place for place, task in enumerate(problem.tasks)}
        return cls(dict(zip(problem.hosts, classes, strict=True)), places, problem.seconds)

    def on(self, task: str, count: int, kinds: Iterable[int]) -> float:
        """Return the run time on `count` hosts of these classes; the slowest decides."""
        return max(float(self.seconds[kind, self.places[task], count - 1]) for kind in kinds)


def first_on_idle_hosts(
    problem: Problem, plan: Plan, idle: Sequence[str]
) -> tuple[Sequence[Assignment], list[BackfillCandidate]]:
    """Decode only the beginning of a plan: the first task on each idle host.

    Only these tasks can start now, and when they start is when the plan needs the hosts. It ends sooner where whoever
    could start now does: what idle hosts are needed for later delays nobody then. Where hosts differ, or come and go,
    all is decoded: where a task is planned to run says how quick it is. So it is where licences are scarce: any task
    may hold these later.

    Returns:
        The first tasks as they are planned, and those behind them that the idle hosts suffice for, in planned order.
    """
    able = may_start(problem)
    if not able.any():
        return [], []
    only = single_class(problem)
    if only is None or problem.unavailability or binding(problem.licences) is not None:
        return decode(problem, plan).assignments, []
    order, ahead = np.array(dependency_order(problem, plan.order.tolist()), dtype=np.int64), _FIRST
    while True:
        first = decode(problem, Plan(order[:ahead], plan.counts)).assignments
        if ahead >= len(order) or {host for item in first for host in item.hosts}.issuperset(idle):
            break
        if sum(item.start <= NOW for item in first) == able.sum():
            return first, []
        ahead *= 4
    behind = order[ahead:][plan.counts[order[ahead:]] <= len(idle)]
    counts = plan.counts[behind]
    seconds = problem.seconds[only, behind, counts - 1].tolist()
    names = [problem.tasks[task] for task in behind.tolist()]
    return first, [BackfillCandidate(*filler) for filler in zip(names, counts.tolist(), seconds, strict=True)]


def may_start(problem: Problem) -> NDArray[np.bool_]:
    """Return (m,): which tasks wait for hosts alone."""
    released: NDArray[np.bool_] = problem.release <= NOW
    if any(problem.depends_on):
        released &= np.fromiter((not before for before in problem.depends_on), bool, len(released))
    return released


def starts_now(
    assignments: Sequence[Assignment],
    idle: Sequence[str],
    ready: Callable[[str], bool],
    speeds: RunTimeTable,
    kept: Mapping[str, float] | None = None,
    behind: Iterable[BackfillCandidate] = (),
    licences: LicenceTimeline = NO_LICENCES,
) -> list[ImmediateStart]:
    """Choose the tasks that leave now under a plan.

    First those whose planned start has come. Then, on hosts that would stay idle, waiting tasks in planned order that
    end before the plan needs those hosts: so a task that waits for hosts blocks nobody, and nobody delays it. On hosts
    of another class than planned a task leaves only if it ends no later than planned.

    Args:
        assignments: the decoded plan, in planned order; times in seconds from now.
        idle: hosts that are up and free.
        ready: whether a task may leave yet.
        speeds: how long tasks take which hosts.
        kept: when hosts are kept for others next, seconds from now; the plan heeds that.
        behind: the rest of the plan, where no other task is the first on an idle host, and hosts are alike; none of
            them asks for scarce licences.
        licences: scarce ones, as what runs holds them; changed. Like hosts they are never taken from a planned task.
    """
    left = set(idle)
    leaving: list[ImmediateStart] = []
    waiting: list[Assignment] = []
    needed = dict(kept or {})  # when the plan, or a reservation, needs a host next
    for assignment in assignments:
        begins, seconds = assignment.start <= NOW, assignment.end - assignment.start
        if begins and left.issuperset(assignment.hosts) and ready(assignment.task):
            licences.place(assignment.task, 0.0, seconds)
            leaving.append(ImmediateStart(assignment.task, assignment.hosts, seconds))
            left.difference_update(assignment.hosts)
        else:
            waiting.append(assignment)
            licences.place(assignment.task, assignment.start, assignment.end)
            for host in assignment.hosts:
                needed[host] = min(needed.get(host, math.inf), assignment.start)
    for assignment in waiting:
        if not left:
            break
        if ready(assignment.task):
            leaving.extend(_backfill(assignment, left, needed, speeds, licences))
    for filler in behind:
        if not left:
            break
        chosen = _tightest_fit(left, needed, filler.hosts, filler.seconds)
        if chosen and ready(filler.task):
            leaving.append(ImmediateStart(filler.task, chosen, filler.seconds))
            left.difference_update(chosen)
    return leaving


def _backfill(
    assignment: Assignment,
    left: set[str],
    needed: dict[str, float],
    speeds: RunTimeTable,
    licences: LicenceTimeline,
) -> list[ImmediateStart]:
    planned = {speeds.kinds[host] for host in assignment.hosts}
    others = sorted({speeds.kinds[host] for host in left} - planned)
    count = len(assignment.hosts)
    for kinds in (planned, *({kind} for kind in others)):
        seconds = assignment.end - assignment.start
        if kinds != planned:
            seconds = speeds.on(assignment.task, count, kinds)
            if seconds > assignment.end:
                continue
        chosen = _tightest_fit([host for host in left if speeds.kinds[host] in kinds], needed, count, seconds)
        if not chosen or not licences.free(assignment.task, seconds):
            continue
        left.difference_update(chosen)
        if len(planned) > 1:
            seconds = speeds.on(assignment.task, count, {speeds.kinds[host] for host in chosen})
        licences.place(assignment.task, 0.0, seconds)
        return [ImmediateStart(assignment.task, chosen, seconds)]
    return []


def _tightest_fit(left: Iterable[str], needed: Mapping[str, float], count: int, seconds: float) -> tuple[str, ...]:
    """Return `count` hosts that stay free for `seconds`, in rank order, or ()."""
    fitting = [host for host in left if needed.get(host, math.inf) >= seconds]
    if len(fitting) < count:
        return ()
    # The tightest fit, so that long gaps stay for long tasks; the name makes the choice repeatable.
    fitting.sort(key=lambda host: (needed.get(host, math.inf), host))
    return tuple(sorted(fitting[:count]))


def starts_in_order(
    queue: Sequence[tuple[str, int]],
    idle: Sequence[str],
    ready: Callable[[str], bool],
    speeds: RunTimeTable,
    kept: Mapping[str, float] | None = None,
) -> list[ImmediateStart]:
    """Choose the tasks that leave now under strict first-come-first-served: the head or none.

    Args:
        queue: (task, host count) in order of arrival.
        idle: hosts that are up and free; a task takes those of its fastest class first, then by name.
        ready: whether a task may leave yet.
        speeds: how long tasks take which hosts.
        kept: when hosts are kept for others next, seconds from now.
    """
    left = set(idle)
    leaving: list[ImmediateStart] = []
    for task, count in queue:
        if count > len(left) or not ready(task):
            break
        chosen = _fastest_hosts(task, count, left, speeds, kept or {})
        if not chosen:
            break
        leaving.append(ImmediateStart(task, chosen, speeds.on(task, count, {speeds.kinds[host] for host in chosen})))
        left.difference_update(chosen)
    return leaving


def _fastest_hosts(
    task: str, count: int, left: Iterable[str], speeds: RunTimeTable, kept: Mapping[str, float]
) -> tuple[str, ...]:
    """Return the fastest hosts that stay free as long as their slowest takes, or ()."""
    alone = {host: speeds.on(task, count, (speeds.kinds[host],)) for host in left}
    for slowest in sorted({seconds for seconds in alone.values() if math.isfinite(seconds)}):
        able = [host for host in left if alone[host] <= slowest <= kept.get(host, math.inf)]
        if len(able) >= count:
            return tuple(sorted(able, key=lambda host: (alone[host], host))[:count])
    return ()
