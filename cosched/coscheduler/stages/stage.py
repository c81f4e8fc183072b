"""A tunable application is a chain of tasks, one for each stage; start at `StageInChain`.

Each stage comes after the one before it. A way through the application says what every stage runs and on how many
hosts; the tasks of a chain have one way together, and may change it until a stage in which it differs has left.
After Chang, Karamcheti and Kedem, "Exploiting Application Tunability for Efficient, Predictable Parallel Resource
Management" (MILAN).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.prediction.profile import Profile

__all__ = ["NO_WORK", "StageInChain", "StageInWay", "StageWork"]

NO_WORK = -1
"""Stands for the work of a stage that a way has not, as others have more stages."""


@dataclass(frozen=True, slots=True)
class StageWork:
    """Work of a stage in one or several ways: command, hosts, prediction.

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
        due: epoch seconds by which its model has it end; infinite for any time, and until its turn begins.
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
class StageInChain:
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
