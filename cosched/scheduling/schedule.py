"""A schedule says which task runs on which hosts from when to when.

`check_schedule` tests one against the definition alone and shares nothing with the decoders.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.scheduling.availability import Unavailability
    from cosched.scheduling.licences import Licences
    from cosched.scheduling.packing import Packing
    from cosched.scheduling.problem import Problem

__all__ = ["Assignment", "Schedule", "TaskPiece", "check_schedule"]


@dataclass(frozen=True, slots=True)
class Assignment:
    """One task's place in a schedule.

    Attributes:
        task: name of the task.
        hosts: names of the hosts that it holds from `start` to `end`, in the order of the problem's hosts.
        start: seconds after the problem's origin.
        end: likewise.
        taken: what it takes of each of its hosts, by resource as in `Problem.packing`; empty for whole hosts.
    """

    task: str
    hosts: tuple[str, ...]
    start: float
    end: float
    taken: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskPiece:
    """A time in which a task keeps the same hosts.

    Attributes:
        task: name of the task.
        hosts: names of the hosts, in the order of the problem's.
        start: seconds after the problem's origin.
        end: likewise.
    """

    task: str
    hosts: tuple[str, ...]
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """A place for each task.

    Attributes:
        assignments: in the order of the plan they were decoded from.
        pieces: by their starts, of a policy that decides again and again how many hosts elastic tasks have; each
            assignment is then from its task's start to its end, on the hosts that it has first.
    """

    assignments: tuple[Assignment, ...]
    pieces: tuple[TaskPiece, ...] = ()

    @property
    def makespan(self) -> float:
        """Return the end of the last task, seconds after the origin; 0 without tasks."""
        return max((assignment.end for assignment in self.assignments), default=0.0)


_RELATIVE = 1e-9


def check_schedule(problem: Problem, schedule: Schedule) -> list[str]:
    """Return the faults of a schedule, a line each; without any it is feasible.

    Checked: every task exactly once, on distinct known hosts, for its predicted run time on them, not before its
    release, its predecessors' ends or its hosts' being free, never on a host that is not there, and no host with two
    tasks at a time, or where hosts are shared, with more than it has; and never more licences in use than there are.
    """
    times = Counter(item.task for item in schedule.assignments)
    tasks, hosts = set(problem.tasks), {name: host for host, name in enumerate(problem.hosts)}
    faults = [f"{task} is scheduled {times[task]} times" for task in problem.tasks if times[task] != 1]
    faults += [f"{task} is not a task of the problem" for task in times if task not in tasks]
    faults += [f"{item.task}: unknown or repeated host" for item in schedule.assignments if not _known(hosts, item)]
    if faults:
        return faults
    by_task = {item.task: item for item in schedule.assignments}
    away: dict[int, list[Unavailability]] = defaultdict(list)
    for period in problem.unavailability:
        away[period.host].append(period)
    for index, task in enumerate(problem.tasks):
        item = by_task[task]
        taken = [hosts[name] for name in item.hosts]
        faults += [*_time_faults(problem, index, item, taken), *_start_faults(problem, index, by_task, taken)]
        faults += [
            f"{task} runs on {problem.hosts[host]}, which is not there from {period.begin} to {period.end} s"
            for host in taken
            for period in away.get(host, ())
            if item.start < period.end and period.begin < item.end
        ]
    packing, licences = problem.packing, problem.licences
    faults += _overlaps(schedule) if packing is None else _overfilled(problem, packing, schedule)
    return faults + ([] if licences is None else _overdrawn(problem, licences, schedule))


def _known(hosts: dict[str, int], item: Assignment) -> bool:
    return bool(item.hosts) and len(set(item.hosts)) == len(item.hosts) and all(name in hosts for name in item.hosts)


def _time_faults(problem: Problem, index: int, item: Assignment, hosts: list[int]) -> list[str]:
    classes = {int(problem.host_class[host]) for host in hosts}
    if problem.packing is not None:
        return _shape_faults(problem.packing, index, item, sorted(classes))
    seconds = max(float(problem.seconds[number, index, len(hosts) - 1]) for number in classes)
    if not math.isfinite(seconds):
        return [f"{item.task} cannot run on {len(hosts)} of these hosts"]
    if not math.isclose(item.end - item.start, seconds, rel_tol=_RELATIVE, abs_tol=_slack(item.end)):
        return [f"{item.task} takes {item.end - item.start} s, predicted are {seconds} s"]
    return []


def _start_faults(problem: Problem, index: int, by_task: dict[str, Assignment], hosts: list[int]) -> list[str]:
    task, start = problem.tasks[index], by_task[problem.tasks[index]].start
    before = [problem.tasks[other] for other in problem.depends_on[index]] if problem.depends_on else []
    faults = [f"{task} starts before its release"] if start < problem.release[index] else []
    faults += [
        f"{task} starts before host {problem.hosts[host]} is free" for host in hosts if start < problem.free[host]
    ]
    return faults + [f"{task} starts before {other} ends" for other in before if start < by_task[other].end]


def _overlaps(schedule: Schedule) -> list[str]:
    on_host = defaultdict(list)
    for item in schedule.assignments:
        for host in item.hosts:
            on_host[host].append(item)
    faults = []
    for host, items in on_host.items():
        items.sort(key=lambda item: (item.start, item.end))
        for first, second in pairwise(items):
            if second.start < first.end:
                faults.append(f"{first.task} and {second.task} are on {host} at the same time")
    return faults


def _shape_faults(packing: Packing, index: int, item: Assignment, classes: list[int]) -> list[str]:
    """Check that a task runs in one of its shapes, for as long as that takes."""
    times = [
        float(packing.seconds[shape, classes].max())
        for shape in range(int(packing.first[index]), int(packing.first[index + 1]))
        if packing.hosts[shape] == len(item.hosts) and tuple(packing.demand[shape].tolist()) == item.taken
    ]
    took, possible = item.end - item.start, [time for time in times if math.isfinite(time)]
    if not possible:
        return [f"{item.task} has no shape of {len(item.hosts)} hosts with {item.taken} of each that runs on these"]
    if not any(math.isclose(took, time, rel_tol=_RELATIVE, abs_tol=_slack(item.end)) for time in possible):
        return [f"{item.task} takes {took} s, predicted are {possible[0]} s"]
    return []


def _overfilled(problem: Problem, packing: Packing, schedule: Schedule) -> list[str]:
    """Name each host and resource of which tasks take more than there is, at the first time that they do."""
    place = {name: host for host, name in enumerate(problem.hosts)}
    changes: dict[int, list[tuple[float, bool, tuple[int, ...]]]] = defaultdict(list)
    for item in schedule.assignments:
        for name in item.hosts:
            changes[place[name]] += [(item.start, True, item.taken), (item.end, False, item.taken)]
    for host, until, taken in packing.held:
        changes[host] += [(-math.inf, True, taken), (until, False, taken)]
    faults = []
    for host, found in changes.items():
        found.sort(key=lambda change: change[:2])  # at one time what ends gives way to what begins
        for number, resource in enumerate(packing.resources):
            used, had = 0, int(packing.capacity[host, number])
            for time, begins, taken in found:
                used += taken[number] if begins else -taken[number]
                if used > had and time > -math.inf and begins:  # what is held already may be too much by itself
                    faults.append(f"{problem.hosts[host]} has {had} {resource}, and at {time} s tasks take {used}")
                    break
    return faults


def _overdrawn(problem: Problem, licences: Licences, schedule: Schedule) -> list[str]:
    """Name each licence of which tasks hold more than there are, at the first time that they do."""
    row = {name: task for task, name in enumerate(problem.tasks)}
    faults = []
    for number, name in enumerate(licences.names):
        total = int(licences.total[number])
        changes = [(item.until, -item.taken[number]) for item in licences.held]
        for item in schedule.assignments:
            amount = int(licences.demand[row[item.task], number])
            changes += [(item.start, amount), (item.end, -amount)] if amount else []
        used = sum(item.taken[number] for item in licences.held)
        for time, change in sorted(changes):  # at one time what ends gives way to what begins
            used += change
            if used > total and change > 0:  # what is held already may be too much by itself
                faults.append(f"there are {total} of {name}, and at {time} s tasks hold {used}")
                break
    return faults


def _slack(end: float) -> float:
    """Rounding of end - start grows with the times themselves."""
    return _RELATIVE * max(1.0, abs(end))
