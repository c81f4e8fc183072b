"""A tunable application is a chain of tasks, one for each stage; start at `Stage`.

Each stage comes after the one before it. A way through the application says what every stage runs and on how many
hosts; the tasks of a chain have one way together, and may change it until a stage in which it differs has left.
After Chang, Karamcheti and Kedem, "Exploiting Application Tunability for Efficient, Predictable Parallel Resource
Management" (MILAN).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.coscheduler.task import Task
    from cosched.prediction.profile import Profile

__all__ = ["NO_WORK", "Stage", "StageInWay", "StageWork", "in_chain", "in_way", "without_ways"]

NO_WORK = -1
"""Stands for the work of a stage that a way has not, as others have more stages."""


@dataclass(frozen=True, slots=True)
class StageWork:
    """What a stage runs in one or several ways.

    Attributes:
        name: of the stage, as its model has it, with the turn of a loop.
        title: name of its task.
        hosts: how many it occupies.
        profile: its run time on these hosts.
        correction: key under which predicted and actual times are compared.
        command: argument vector.
        parameters: of the application, with the control parameters as they are by then.
        environment: what its processes see beside what the task has.
        control: names of the control parameters among the parameters.
    """

    name: str
    title: str
    hosts: int
    profile: Profile
    correction: str
    command: tuple[str, ...]
    parameters: Mapping[str, float | str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    control: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StageInWay:
    """A stage in one way.

    Attributes:
        work: index of its work; `NO_WORK` where the way has fewer stages.
        due: epoch seconds by which its model has it end; infinite for any time.
        latest: epoch seconds by which it should end for all that follow to be in time; infinite for any time.
        quality: of the whole way.
        since: index of the first stage of its turn in a loop; None outside loops.
        within: seconds after the turn's beginning by which its model has it end; infinite for any time.
    """

    work: int
    due: float = math.inf
    latest: float = math.inf
    quality: float = 1.0
    since: int | None = None
    within: float = math.inf


@dataclass(frozen=True, slots=True)
class Stage:
    """A task's place in its chain.

    Attributes:
        chain: identifier of the task of the first stage.
        title: name of the application's task, as it was asked for.
        index: its place in the chain, from 0.
        count: how many stages the longest way has, and the chain tasks.
        works: what it runs, in one way or another.
        ways: the stage in each way; those of all tasks of a chain have one order.
        deadline: epoch seconds by which its user wants the chain to end; None for no deadline.
        way: index of the way that is chosen.
        open: indices of the ways that may still be chosen.
        guaranteed: whether the deadlines were found to be met when the chain was admitted, so that no task that came
            later makes it late.
    """

    chain: str
    title: str
    index: int
    count: int
    works: tuple[StageWork, ...]
    ways: tuple[StageInWay, ...]
    deadline: float | None = None
    way: int = 0
    open: tuple[int, ...] = ()
    guaranteed: bool = False

    @property
    def chosen(self) -> StageInWay:
        """Return the stage in the way that is chosen."""
        return self.ways[self.way]

    @property
    def unused(self) -> bool:
        """Return whether the chosen way has no such stage."""
        return self.chosen.work == NO_WORK

    @property
    def quality(self) -> float:
        """Return the quality of the chosen way."""
        return self.chosen.quality

    @property
    def last(self) -> bool:
        """Return whether no stage comes after it."""
        return self.index == self.count - 1


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
