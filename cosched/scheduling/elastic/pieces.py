"""Pieces are the times in which a task keeps the same hosts; an elastic task has several.

`check_pieces` tests them from the definition alone and shares nothing with what makes them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

from cosched.scheduling.schedule import TaskPiece

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule

__all__ = ["check_pieces"]

_RELATIVE = 1e-9


def check_pieces(problem: Problem, promised: Schedule | None, pieces: Sequence[TaskPiece]) -> list[str]:
    """Return the faults of pieces, a line each; without any they can be.

    Checked: every task does all of itself, or all that is left of it, and no more than its pieces allow, without a gap,
    on as many hosts as it may have and at least those promised, not before its release or its predecessors' ends, and
    ends when promised at the latest; what runs already goes on with its hosts; what is not elastic keeps its own; no
    host has two tasks at a time, and none that a task gives up before its end is used until it has drained.

    Args:
        problem: hosts of one class that are always there, each for one task.
        promised: what each task is promised; None where nothing is.
        pieces: in any order between tasks, each task's by their starts.
    """
    of_task, on_host = defaultdict(list), defaultdict(list)
    for piece in pieces:
        of_task[piece.task].append(piece)
    for piece in (*_before(problem), *pieces):
        for host in piece.hosts:
            on_host[host].append(piece)
    ends = {name: found[-1].end for name, found in of_task.items()}
    limits = {} if promised is None else {item.task: item for item in promised.assignments}
    faults = [f"{name} is not a task of the problem" for name in of_task if name not in problem.tasks]
    faults += [fault for host, found in on_host.items() for fault in _host_faults(problem, host, found, ends)]
    for index, name in enumerate(problem.tasks):
        if name not in of_task:
            faults.append(f"{name} does not run")
            continue
        found, promise = of_task[name], limits.get(name)
        if found[0].start < problem.release[index]:
            faults.append(f"{name} starts before its release")
        faults += [
            f"{name} starts before {problem.tasks[other]} ends"
            for other in (problem.depends_on[index] if problem.depends_on else ())
            if found[0].start < ends.get(problem.tasks[other], math.inf)
        ]
        if promise is not None and found[-1].end > promise.end * (1 + _RELATIVE):
            faults.append(f"{name} ends at {found[-1].end} s, promised are {promise.end} s")
        faults += _host_count_faults(problem, index, found, 0 if promise is None else len(promise.hosts))
        faults += _work_faults(problem, index, found)
    return faults


def _before(problem: Problem) -> list[TaskPiece]:
    """Return the hosts that running tasks have had until the origin."""
    return [
        TaskPiece(problem.tasks[index], tuple(problem.hosts[host] for host in task.hosts), -math.inf, 0.0)
        for index, task in (problem.running or {}).items()
    ]


def _host_faults(problem: Problem, host: str, pieces: Sequence[TaskPiece], ends: Mapping[str, float]) -> list[str]:
    """Check the pieces on a host: no two at a time, and a pause in which it drains where a task gives it up."""
    drains = {problem.tasks[index]: task.drain for index, task in (problem.elastic or {}).items()}
    faults = [] if host in problem.hosts else [f"{pieces[0].task} is on {host}, which is not there"]
    for first, second in pairwise(sorted(pieces, key=lambda piece: piece.start)):
        given_up = first.end < ends.get(first.task, math.inf)
        if second.start < first.end:
            faults.append(f"{first.task} and {second.task} are on {host} at the same time")
        elif given_up and first.task != second.task and second.start < first.end + drains.get(first.task, 0.0):
            faults.append(f"{second.task} is on {host} before it has drained from {first.task}")
    return faults


def _host_count_faults(problem: Problem, index: int, pieces: Sequence[TaskPiece], kept: int) -> list[str]:
    """Check the hosts of a task's pieces: as many as it may have, each once, and the same where it is not elastic."""
    name, task, running = problem.tasks[index], (problem.elastic or {}).get(index), (problem.running or {}).get(index)
    own = len(pieces[0].hosts) if running is None else len(running.hosts)
    least, most = (max(kept, task.least), task.most) if task is not None else (kept or own, kept or own)
    faults = [f"{name} has {len(piece.hosts)} hosts" for piece in pieces if not least <= len(piece.hosts) <= most]
    faults += [f"{name} has a host twice" for piece in pieces if len(set(piece.hosts)) < len(piece.hosts)]
    if task is None and any(piece.hosts != pieces[0].hosts for piece in pieces):
        faults.append(f"{name} changes its hosts")
    if running is not None:
        had, has = {problem.hosts[host] for host in running.hosts}, set(pieces[0].hosts)
        faults += [] if pieces[0].start == 0 else [f"{name} runs, and stops at 0 s"]
        faults += [] if had <= has or has <= had else [f"{name} changes its hosts for others at 0 s"]
    return faults


def _work_faults(problem: Problem, index: int, pieces: Sequence[TaskPiece]) -> list[str]:
    """Check a task's pieces: no gap, and its work is what they do without pauses."""
    name, only = problem.tasks[index], int(problem.host_class[0])
    task, running = (problem.elastic or {}).get(index), (problem.running or {}).get(index)
    faults = [
        f"{name} stops from {first.end} to {second.start} s"
        for first, second in pairwise(pieces)
        if first.end != second.start
    ]
    done = pause = 0.0
    left, before = (1.0, len(pieces[0].hosts)) if running is None else (running.left, len(running.hosts))
    unchanged = len(pieces) == 1 and len(pieces[0].hosts) == before
    for piece in pieces:
        hosts = len(piece.hosts)
        if task is not None and hosts != before:
            pause += task.grow_cost if hosts > before else task.shrink_cost
        before = hosts
        quickest = min((float(value) for value in problem.seconds[only, index, :hosts]), default=math.inf)
        seconds = quickest if task is not None else float(problem.seconds[only, index, hosts - 1])
        paused = min(pause, piece.end - piece.start)
        pause -= paused
        done += (piece.end - piece.start - paused) / seconds
    took, planned = pieces[-1].end - pieces[0].start, left * float(problem.seconds[only, index, before - 1])
    kept_all = unchanged and math.isclose(took, planned, rel_tol=1e-6)  # as planned, on useless hosts, too
    if not kept_all and not math.isclose(done, left, rel_tol=1e-6):
        faults.append(f"{name} does {done:.6f} of itself" + ("" if left == 1 else f", and {left:g} is left"))
    return faults
