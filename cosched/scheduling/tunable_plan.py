"""A queue of tunable tasks: each admitted or refused as it arrives, and hosts found for those who are admitted."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.scheduling.holes import Holes
from cosched.scheduling.tunable import admit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.tunable import Placement
    from cosched.scheduling.tunable_file import TunableQueue

__all__ = ["StageRun", "TunablePlan", "plan_tunable"]


@dataclass(frozen=True, slots=True)
class StageRun:
    """One stage of an admitted task.

    Attributes:
        task: name of the task.
        chain: index of the chain chosen.
        stage: index in the chain.
        name: of the stage, for people; may be empty.
        hosts: names of the hosts it holds, in the order of the queue's.
        start: seconds.
        end: seconds.
    """

    task: str
    chain: int
    stage: int
    name: str
    hosts: tuple[str, ...]
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class TunablePlan:
    """What became of a queue: who is admitted, in order of arrival, who is refused, and every stage by its start."""

    placements: tuple[Placement, ...]
    refused: tuple[str, ...]
    runs: tuple[StageRun, ...]


def plan_tunable(queue: TunableQueue) -> TunablePlan:
    """Admit the tasks one by one in order of release, then of position; none knows of those that come later."""
    holes = Holes([0.0] * len(queue.hosts))
    placements, refused = [], []
    for task in sorted(queue.tasks, key=lambda task: task.release):
        holes.forget(task.release)
        placement = admit(holes, task)
        if placement is None:
            refused.append(task.id)
        else:
            placements.append(placement)
    return TunablePlan(tuple(placements), tuple(refused), tuple(_runs(placements, queue.hosts)))


def _runs(placements: Sequence[Placement], hosts: Sequence[str]) -> list[StageRun]:
    """Give each stage the first idle hosts at its start: there are enough, as the holes saw to it."""
    waiting = [(start, placement, stage) for placement in placements for stage, start in enumerate(placement.starts)]
    waiting.sort(key=lambda item: item[0])
    idle = list(range(len(hosts)))
    busy: list[tuple[float, list[int]]] = []
    runs = []
    for start, placement, stage in waiting:
        while busy and busy[0][0] <= start:
            for host in heapq.heappop(busy)[1]:
                heapq.heappush(idle, host)
        work = placement.stages[stage]
        taken = [heapq.heappop(idle) for _ in range(work.hosts)]
        end = start + work.seconds
        heapq.heappush(busy, (end, taken))
        names = tuple(hosts[host] for host in taken)
        runs.append(StageRun(placement.task, placement.chain, stage, work.name, names, start, end))
    return runs
