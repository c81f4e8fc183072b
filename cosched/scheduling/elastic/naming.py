"""Name the hosts of tasks whose numbers of hosts are known: start at `named_pieces`."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from cosched.scheduling.schedule import TaskPiece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.elastic.virtual_pool import ElasticRun
    from cosched.scheduling.problem import Problem

__all__ = ["named_pieces"]


def named_pieces(problem: Problem, tasks: Sequence[str], runs: Sequence[ElasticRun]) -> list[TaskPiece]:
    """Give each task the first hosts that are idle when it gets some; those that leave it drain first.

    Args:
        problem: hosts of one class that are always there, each for one task.
        tasks: name of each run's task.
        runs: with no more hosts at a time than there are.

    Returns:
        The pieces by their starts.
    """
    begins = {problem.tasks[task]: each.hosts for task, each in (problem.running or {}).items()}
    held = [list(begins.get(task, ())) for task in tasks]
    changes = sorted(
        (time, hosts - before, place)  # hosts leave before others come at the same time
        for place, run in enumerate(runs)
        for (time, hosts), before in zip(
            (*run.widths, (run.finished, 0)), (len(held[place]), *(hosts for _, hosts in run.widths)), strict=True
        )
    )
    taken = {host for hosts in held for host in hosts}
    idle, draining = [host for host in range(len(problem.hosts)) if host not in taken], list[tuple[float, int]]()
    since = [0.0] * len(runs)
    pieces = []
    for time, change, place in changes:
        while draining and draining[0][0] <= time:
            heapq.heappush(idle, heapq.heappop(draining)[1])
        run, hosts = runs[place], held[place]
        if hosts and time > since[place]:
            names = tuple(problem.hosts[host] for host in sorted(hosts))
            pieces.append(TaskPiece(tasks[place], names, since[place], time))
        since[place] = time
        for _ in range(-change):
            host = hosts.pop()
            if time < run.finished and run.task.drain:
                heapq.heappush(draining, (time + run.task.drain, host))
            else:
                heapq.heappush(idle, host)
        hosts.extend(heapq.heappop(idle) for _ in range(change))
    return sorted(pieces, key=lambda piece: (piece.start, piece.task))
