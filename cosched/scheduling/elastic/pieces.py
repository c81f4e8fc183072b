"""Pieces are the times in which a task keeps the same hosts; an elastic task has several.

`check_pieces` tests them from the definition alone and shares nothing with what makes them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule

__all__ = ["TaskPiece", "check_pieces"]

_RELATIVE = 1e-9


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


def check_pieces(problem: Problem, promised: Schedule, pieces: Sequence[TaskPiece]) -> list[str]:
    """Return the faults of expected pieces, a line each; without any they can be.

    Checked: every task does all of itself and no more than its pieces allow, without a gap, on as many hosts as it may
    have and at least those promised, not before its release or its predecessors' ends, and ends when promised at the
    latest; no host has two tasks at a time, and none that a task gives up before its end is used until it has drained.
    """
    of_task, on_host = defaultdict(list), defaultdict(list)
    for piece in pieces:
        of_task[piece.task].append(piece)
        for host in piece.hosts:
            on_host[host].append(piece)
    ends = {name: found[-1].end for name, found in of_task.items()}
    limits = {item.task: item for item in promised.assignments}
    faults = [fault for host, found in on_host.items() for fault in _host_faults(problem, host, found, ends)]
    for index, name in enumerate(problem.tasks):
        if name not in of_task:
            faults.append(f"{name} does not run")
            continue
        found, promise = of_task[name], limits[name]
        if found[0].start < problem.release[index]:
            faults.append(f"{name} starts before its release")
        faults += [
            f"{name} starts before {problem.tasks[other]} ends"
            for other in (problem.depends_on[index] if problem.depends_on else ())
            if found[0].start < ends[problem.tasks[other]]
        ]
        if found[-1].end > promise.end * (1 + _RELATIVE):
            faults.append(f"{name} ends at {found[-1].end} s, promised are {promise.end} s")
        faults += _work_faults(problem, index, found, len(promise.hosts))
    return faults


def _host_faults(problem: Problem, host: str, pieces: Sequence[TaskPiece], ends: Mapping[str, float]) -> list[str]:
    """Check the pieces on a host: no two at a time, and a pause in which it drains where a task gives it up."""
    drains = {problem.tasks[index]: task.drain for index, task in (problem.elastic or {}).items()}
    faults = []
    for first, second in pairwise(sorted(pieces, key=lambda piece: piece.start)):
        given_up = first.end < ends[first.task]
        if second.start < first.end:
            faults.append(f"{first.task} and {second.task} are on {host} at the same time")
        elif given_up and first.task != second.task and second.start < first.end + drains[first.task]:
            faults.append(f"{second.task} is on {host} before it has drained from {first.task}")
    return faults


def _work_faults(problem: Problem, index: int, pieces: Sequence[TaskPiece], kept: int) -> list[str]:
    """Check a task's pieces: no gap, hosts within its bounds, and its work is what they do without pauses."""
    name, only = problem.tasks[index], int(problem.host_class[0])
    task = (problem.elastic or {}).get(index)
    faults = [
        f"{name} stops from {first.end} to {second.start} s"
        for first, second in pairwise(pieces)
        if first.end != second.start
    ]
    least, most = (kept, kept) if task is None else (kept, task.most)
    faults += [f"{name} has {len(piece.hosts)} hosts" for piece in pieces if not least <= len(piece.hosts) <= most]
    done = pause = 0.0
    before = len(pieces[0].hosts)
    for piece in pieces:
        hosts = len(piece.hosts)
        if task is not None and hosts != before:
            pause += task.grow_cost if hosts > before else task.shrink_cost
        before = hosts
        quickest = min(float(value) for value in problem.seconds[only, index, :hosts] if math.isfinite(value))
        seconds = quickest if task is not None else float(problem.seconds[only, index, hosts - 1])
        paused = min(pause, piece.end - piece.start)
        pause -= paused
        done += (piece.end - piece.start - paused) / seconds
    took, planned = pieces[-1].end - pieces[0].start, float(problem.seconds[only, index, before - 1])
    kept_all = len(pieces) == 1 and math.isclose(took, planned, rel_tol=1e-6)  # as planned, on useless hosts, too
    if not kept_all and not math.isclose(done, 1.0, rel_tol=1e-6):
        faults.append(f"{name} does {done:.6f} of itself")
    return faults
