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
from cosched.scheduling.schedule import Assignment

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = [
    "NOW",
    "BackfillCandidate",
    "ImmediateStart",
    "RunTimeTable",
    "first_on_idle_hosts",
    "gaps_on_lent_hosts",
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
    """Run times of tasks on hosts, both by name.

    Attributes:
        class_of: index of each host's class; where tasks are as quick on all hosts they have the same.
        row: index of each task.
        seconds: (K, m, N) run times by class, task and host count.
    """

    class_of: Mapping[str, int]
    row: Mapping[str, int]
    seconds: NDArray[np.float64]

    @classmethod
    def of(cls, problem: Problem) -> RunTimeTable:
        """Return the run times of a problem."""
        only = single_class(problem)
        classes = problem.host_class.tolist() if only is None else [only] * len(problem.hosts)
        row = {task: place for place, task in enumerate(problem.tasks)}
        return cls(dict(zip(problem.hosts, classes, strict=True)), row, problem.seconds)

    def on(self, task: str, count: int, classes: Iterable[int]) -> float:
        """Return the run time on `count` hosts of these classes; the slowest decides."""
        return max(float(self.seconds[each, self.row[task], count - 1]) for each in classes)

    def on_hosts(self, task: str, hosts: Sequence[str]) -> float:
        """Return the run time on these hosts; the slowest decides."""
        return self.on(task, len(hosts), {self.class_of[host] for host in hosts})


def first_on_idle_hosts(
    problem: Problem, plan: Plan, idle: Sequence[str]
) -> tuple[Sequence[Assignment], list[BackfillCandidate]]:
    """Decode only the beginning of a plan: the first task on each idle host.

    Only these tasks can start now, and the plan needs the hosts when they start. Decoding ends sooner where all tasks
    that could start now do: none is left to fill a gap on the idle hosts. The whole plan is decoded where hosts differ,
    or come and go, as a task's run time depends on its place, and where licences are scarce, as any task may hold these
    later.

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
    return first, [BackfillCandidate(*each) for each in zip(names, counts.tolist(), seconds, strict=True)]


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
    run_times: RunTimeTable,
    kept: Mapping[str, float] | None = None,
    behind: Iterable[BackfillCandidate] = (),
    licences: LicenceTimeline = NO_LICENCES,
    *,
    late: float = 0.0,
    last: Collection[str] = (),
) -> list[ImmediateStart]:
    """Choose the tasks that leave now under a plan.

    First those whose planned start has come. Then, on hosts that would stay idle, waiting tasks in planned order that
    end before the plan needs those hosts: so a task that waits for hosts blocks nobody, and nobody delays it. On hosts
    of another class than planned a task leaves only if it ends no later than planned.

    Args:
        assignments: the decoded plan, in planned order; times in seconds from now.
        idle: hosts that are up and free.
        ready: whether a task may leave yet.
        run_times: of the tasks.
        kept: when hosts are kept for others next, seconds from now; the plan heeds that.
        behind: the rest of the plan, where no other task is the first on an idle host, and hosts are alike; none of
            them asks for scarce licences.
        licences: scarce ones, as what runs holds them; changed. Like hosts they are never taken from a planned task.
        late: seconds that each may begin later; who is planned to start within these takes its planned hosts.
        last: hosts that those who fill gaps take only where others do not suffice.
    """
    left = set(idle)
    leaving: list[ImmediateStart] = []
    waiting: list[Assignment] = []
    needed = dict(kept or {})  # when the plan, or a reservation, needs a host next
    for assignment in assignments:
        begins, seconds = assignment.start <= late + NOW, assignment.end - assignment.start
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
            leaving.extend(_backfill(assignment, left, needed, run_times, licences, late, last))
    for candidate in behind:
        if not left:
            break
        chosen = _tightest_fit(left, needed, candidate.hosts, candidate.seconds + late, last)
        if chosen and ready(candidate.task):
            leaving.append(ImmediateStart(candidate.task, chosen, candidate.seconds))
            left.difference_update(chosen)
    return leaving


def gaps_on_lent_hosts(
    assignments: Sequence[Assignment],
    idle: Sequence[str],
    lent: Mapping[str, float],
    ready: Callable[[str], bool],
    run_times: RunTimeTable,
    kept: Mapping[str, float],
    behind: Iterable[BackfillCandidate],
    licences: LicenceTimeline,
) -> list[Assignment]:
    """Return the tasks that would fill a gap now if the lent hosts were idle, on hosts of which some are lent.

    A task that no plan places on these hosts soon would else wait for as long as they are lent, though it may leave
    before all others.

    Args:
        assignments: as in `starts_now`.
        idle: hosts that are up and free, but for those of tasks that leave now.
        lent: hosts that are lent, and the seconds in which they can be free.
        ready: whether a task may leave yet; no task that leaves now.
        run_times: of the tasks.
        kept: as in `starts_now`.
        behind: as in `starts_now`.
        licences: as what runs holds them; changed.
    """
    lent = {host: seconds for host, seconds in lent.items() if host in run_times.class_of}  # not those that are down
    late = max(lent.values(), default=0.0)
    planned_soon = {each.task for each in assignments if each.start <= late + NOW}
    starts = starts_now(
        assignments, [*idle, *lent], ready, run_times, kept, behind, licences, late=late, last=lent.keys()
    )
    gaps = [each for each in starts if each.task not in planned_soon and not lent.keys().isdisjoint(each.hosts)]
    return [Assignment(each.task, each.hosts, 0.0, each.seconds) for each in gaps]


def _backfill(
    assignment: Assignment,
    left: set[str],
    needed: dict[str, float],
    run_times: RunTimeTable,
    licences: LicenceTimeline,
    late: float,
    last: Collection[str],
) -> list[ImmediateStart]:
    """Return a planned task's start on hosts that are left, in a list; an empty one where it fits into no gap.

    Hosts of the planned classes are tried first, then those of each other class. What it takes is noted in `left` and
    `licences`.
    """
    planned = {run_times.class_of[host] for host in assignment.hosts}
    others = sorted({run_times.class_of[host] for host in left} - planned)
    count = len(assignment.hosts)
    for classes in (planned, *({each} for each in others)):
        seconds = assignment.end - assignment.start
        if classes != planned:
            seconds = run_times.on(assignment.task, count, classes)
            if seconds + late > assignment.end:
                continue
        here = [host for host in left if run_times.class_of[host] in classes]
        chosen = _tightest_fit(here, needed, count, seconds + late, last)
        if not chosen or not licences.free(assignment.task, seconds + late):
            continue
        left.difference_update(chosen)
        if len(planned) > 1:
            seconds = run_times.on_hosts(assignment.task, chosen)
        licences.place(assignment.task, 0.0, seconds)
        return [ImmediateStart(assignment.task, chosen, seconds)]
    return []


def _tightest_fit(
    left: Iterable[str], needed: Mapping[str, float], count: int, seconds: float, last: Collection[str]
) -> tuple[str, ...]:
    """Return `count` hosts that stay free for `seconds`, in rank order, or (); those of `last` after all others."""
    fitting = [host for host in left if needed.get(host, math.inf) >= seconds]
    if len(fitting) < count:
        return ()
    # The tightest fit, so that long gaps stay for long tasks; the name makes the choice repeatable.
    fitting.sort(key=lambda host: (host in last, needed.get(host, math.inf), host))
    return tuple(sorted(fitting[:count]))


def starts_in_order(
    queue: Sequence[tuple[str, int]],
    idle: Sequence[str],
    ready: Callable[[str], bool],
    run_times: RunTimeTable,
    kept: Mapping[str, float] | None = None,
) -> list[ImmediateStart]:
    """Choose the tasks that leave now under strict first-come-first-served: the head or none.

    Args:
        queue: (task, host count) in order of arrival.
        idle: hosts that are up and free; a task takes those of its fastest class first, then by name.
        ready: whether a task may leave yet.
        run_times: of the tasks.
        kept: when hosts are kept for others next, seconds from now.
    """
    left = set(idle)
    leaving: list[ImmediateStart] = []
    for task, count in queue:
        if count > len(left) or not ready(task):
            break
        chosen = _fastest_hosts(task, count, left, run_times, kept or {})
        if not chosen:
            break
        leaving.append(ImmediateStart(task, chosen, run_times.on_hosts(task, chosen)))
        left.difference_update(chosen)
    return leaving


def _fastest_hosts(
    task: str, count: int, left: Iterable[str], run_times: RunTimeTable, kept: Mapping[str, float]
) -> tuple[str, ...]:
    """Return the fastest hosts that stay free as long as their slowest takes, or ()."""
    alone = {host: run_times.on(task, count, [run_times.class_of[host]]) for host in left}
    for slowest in sorted({seconds for seconds in alone.values() if math.isfinite(seconds)}):
        able = [host for host in left if alone[host] <= slowest <= kept.get(host, math.inf)]
        if len(able) >= count:
            return tuple(sorted(able, key=lambda host: (alone[host], host))[:count])
    return ()
