"""Tasks of a chain are led along a way; start at `in_way`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.stages.stage import NO_WORK, StageInWay
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task

__all__ = ["in_chain", "in_turn", "in_way", "turn_begins", "waiting_stages", "without_ways"]


def in_chain(task: Task, chain: str, before: str) -> Task:
    """Return a new task of a stage with the identifiers of the chain and of the stage before it; "" for the first."""
    assert task.stage is not None
    after = (*task.spec.after, before) if before else task.spec.after
    environment = {**task.spec.environment, "COSCHED_CHAIN": chain}
    return replace(
        task, spec=replace(task.spec, after=after, environment=environment), stage=replace(task.stage, chain=chain)
    )


def in_way(task: Task, way: int, *, guaranteed: bool | None = None) -> Task:
    """Return a task of a stage as it runs in a way; None keeps the guarantee as it is."""
    stage = task.stage
    assert stage is not None
    there = stage.ways[way]
    stage = replace(stage, way=way, guaranteed=stage.guaranteed if guaranteed is None else guaranteed)
    if there.work == NO_WORK:
        return replace(task, stage=replace(stage, guaranteed=False))
    work = stage.works[there.work]
    spec = replace(
        task.spec,
        name=work.title,
        command=work.command,
        parameters=work.parameters,
        environment={**task.spec.environment, **work.environment},
        deadline=None if there.latest == math.inf else there.latest,
        count=work.hosts,
    )
    return replace(task, spec=spec, profile=work.profile, correction=work.correction, stage=stage)


def in_turn(tasks: Sequence[Task], time: float) -> list[Task]:
    """Return waiting tasks of a chain with the deadlines of the turn that the first of them begins.

    Args:
        tasks: in order.
        time: when the turn begins, epoch seconds.
    """
    assert tasks[0].stage is not None
    since, found, latest = tasks[0].stage.index, list["Task"](), dict[int, float]()
    for task in reversed(tasks):
        stage, ways = task.stage, list[StageInWay]()
        assert stage is not None
        for way, there in enumerate(stage.ways):
            if there.work == NO_WORK:
                ways.append(there)
                continue
            due = min(there.due, time + there.within) if there.since == since else there.due
            end = min(there.latest, due, latest.get(way, math.inf))
            latest[way] = end - stage.works[there.work].profile.shortest
            ways.append(replace(there, due=due, latest=end))
        found.append(in_way(replace(task, stage=replace(stage, ways=tuple(ways))), stage.way))
    return found[::-1]


def turn_begins(tasks: Sequence[Task]) -> bool:
    """Return whether the first waiting task begins a turn of a loop whose deadlines are not set yet.

    It does once nothing is before that one.
    """
    since = tasks[0].stage.index if tasks[0].stage is not None else 0
    places = [task.stage.chosen for task in tasks if task.stage is not None]
    return any(place.since == since and place.within < place.due == math.inf for place in places)


def waiting_stages(state: CoreState, chain: str) -> list[Task]:
    """Return the tasks of a chain that have not left, in order."""
    return [
        task
        for task in state.chain(chain)
        if task.status.state is TaskState.QUEUED and state.attempt_of(task.id) is None and not task.status.held_by
    ]


def without_ways(tasks: Sequence[Task], left: Task) -> list[Task]:
    """Return the tasks of a chain without the ways that are closed now that one of its stages has left.

    Those stay in which that stage is the same.
    """
    assert left.stage is not None
    kept = {way for way in left.stage.open if left.stage.ways[way].work == left.stage.chosen.work}
    return [
        replace(task, stage=replace(task.stage, open=tuple(way for way in task.stage.open if way in kept)))
        for task in tasks
        if task.stage is not None
    ]
