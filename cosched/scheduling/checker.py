"""Is a schedule feasible? Checked from the definition alone, sharing nothing with the decoders."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment, Schedule

__all__ = ["check"]

_RELATIVE = 1e-9


def check(problem: Problem, schedule: Schedule) -> list[str]:
    """Return every fault of a schedule as one line each; an empty list means that it is feasible.

    Checked: every task exactly once, on distinct known hosts, for its predicted run time on them, not before its
    release, its predecessors' ends or its hosts' being free, never on a host that is not there, and no host with two
    tasks at a time.
    """
    times = Counter(item.task for item in schedule.assignments)
    faults = [f"{task} is scheduled {times[task]} times" for task in problem.tasks if times[task] != 1]
    faults += [f"{task} is not a task of the problem" for task in times if task not in set(problem.tasks)]
    faults += [f"{item.task}: unknown or repeated host" for item in schedule.assignments if not _known(problem, item)]
    if faults:
        return faults
    by_task = {item.task: item for item in schedule.assignments}
    for index, task in enumerate(problem.tasks):
        faults += _task_faults(problem, index, by_task[task], by_task)
    return faults + _overlaps(schedule)


def _known(problem: Problem, item: Assignment) -> bool:
    return bool(item.hosts) and len(set(item.hosts)) == len(item.hosts) and set(item.hosts) <= set(problem.hosts)


def _task_faults(problem: Problem, index: int, item: Assignment, by_task: dict[str, Assignment]) -> list[str]:
    hosts = [problem.hosts.index(name) for name in item.hosts]
    seconds = max(float(problem.seconds[problem.host_class[host], index, len(hosts) - 1]) for host in hosts)
    faults = []
    if not math.isfinite(seconds):
        faults.append(f"{item.task} cannot run on {len(hosts)} of these hosts")
    elif not math.isclose(item.end - item.start, seconds, rel_tol=_RELATIVE, abs_tol=_slack(item.end)):
        faults.append(f"{item.task} takes {item.end - item.start} s, predicted are {seconds} s")
    earliest = {"its release": float(problem.release[index])}
    earliest |= {f"host {problem.hosts[host]} is free": float(problem.free[host]) for host in hosts}
    if problem.depends_on:
        earliest |= {f"{problem.tasks[k]} ends": by_task[problem.tasks[k]].end for k in problem.depends_on[index]}
    faults += [f"{item.task} starts before {what}" for what, when in earliest.items() if item.start < when]
    held = dict.fromkeys(hosts, item)
    faults += [
        f"{item.task} runs on {problem.hosts[absence.host]}, which is not there from {absence.begin} to {absence.end} s"
        for absence in problem.absences
        if absence.host in held and item.start < absence.end and absence.begin < item.end
    ]
    return faults


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


def _slack(end: float) -> float:
    """Rounding of end - start grows with the times themselves."""
    return _RELATIVE * max(1.0, abs(end))
