"""What would save a task that is planned to end after its deadline: others held, its place in the queue, a deadline.

Start at `rescues`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from cosched.coscheduler.core import Coscheduler
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule

__all__ = ["Rescue", "RescueKind", "rescues"]

_MOST_TRIED = 8  # tasks in its way; a plan is made without each
_MOST_TOLD = 3
_LEAST_HELP = 0.2  # of the lateness: what helps less is not worth a sentence
_LEAST_MARGIN, _MARGIN = 5.0, 0.02  # of a deadline that can be met: seconds, and part of the time until its end


class RescueKind(StrEnum):
    """What is to be done."""

    HOLD = "hold"
    """Hold another task that is planned before it on its hosts."""
    FIRST = "first"
    """Let it come before all others that wait."""
    DEADLINE = "deadline"
    """Give it a deadline that can be met."""


@dataclass(frozen=True, slots=True)
class Rescue:
    """One thing that would have a late task end sooner, or in time.

    Attributes:
        kind: what is to be done.
        end: when it would end then, epoch seconds; of `DEADLINE` the deadline.
        saves: whether that is in time.
        task: of `HOLD`: the task to hold.
        made_late: how many other tasks would miss deadlines that they meet now; the one that is held is not counted.
    """

    kind: RescueKind
    end: float
    saves: bool
    task: str = ""
    made_late: int = 0


def rescues(core: Coscheduler, name: str, problem: Problem, schedule: Schedule, time: float) -> tuple[Rescue, ...]:
    """Return what would help a waiting task that is planned to be late, the best first; () for one in time.

    Args:
        core: on its thread.
        name: the task; in the plan.
        problem: as the present plan was decoded from it.
        schedule: the present plan.
        time: the problem's origin, epoch seconds.
    """
    deadline = core.tasks[name].spec.deadline
    end = next(each.end for each in schedule.assignments if each.task == name)
    if deadline is None or time + end <= deadline:
        return ()
    trial = _Trial(core, name, problem, schedule, time)
    found = [
        Rescue(kind, time + ends[name], ends[name] <= trial.deadline, moved, trial.made_late(ends, moved))
        for kind, moved, ends in trial.orders()
        if ends[name] <= max(trial.deadline, end - _LEAST_HELP * (end - trial.deadline))
    ]
    found.sort(key=lambda each: (not each.saves, each.made_late, each.kind is RescueKind.FIRST, each.end))
    meets = time + end + max(_LEAST_MARGIN, _MARGIN * end)
    return (*found[:_MOST_TOLD], Rescue(RescueKind.DEADLINE, meets, saves=True))


class _Trial:
    """Other orders of the waiting tasks, each decoded."""

    def __init__(self, core: Coscheduler, name: str, problem: Problem, schedule: Schedule, time: float) -> None:
        self._problem = problem
        self._plan = core.plan.for_problem(problem)
        self._place = problem.tasks.index(name)
        self._ends = {each.task: each.end for each in schedule.assignments}
        # Those of the problem are a little earlier: plans leave some time in hand.
        self._deadlines = {
            each: math.inf if (deadline := core.tasks[each].spec.deadline) is None else deadline - time
            for each in problem.tasks
        }
        mine = next(each for each in schedule.assignments if each.task == name)
        before = set(core.predecessors(name))  # without them it never starts
        self._in_its_way = [
            each.task
            for each in sorted(schedule.assignments, key=lambda each: -each.end)
            if each.start < mine.start and each.task not in before and not set(mine.hosts).isdisjoint(each.hosts)
        ]
        self.deadline = self._deadlines[name]

    def orders(self) -> Iterator[tuple[RescueKind, str, dict[str, float]]]:
        """Give what was done, the task that was moved, and the ends of all tasks then, seconds after the origin."""
        order = self._plan.order
        for name in self._in_its_way[:_MOST_TRIED]:
            moved = self._problem.tasks.index(name)
            # As the last of all it is in nobody's way, as if it were held.
            yield RescueKind.HOLD, name, self._decoded(np.append(order[order != moved], moved))
        if self._in_its_way:
            yield RescueKind.FIRST, "", self._decoded(np.insert(order[order != self._place], 0, self._place))

    def made_late(self, ends: dict[str, float], moved: str) -> int:
        """Count the tasks that would become late; the one that was moved is not planned then."""
        return sum(
            self._ends[name] <= deadline < ends[name] for name, deadline in self._deadlines.items() if name != moved
        )

    def _decoded(self, order: NDArray[np.int64]) -> dict[str, float]:
        plan = Plan(order, self._plan.counts, self._plan.classes)
        return {each.task: each.end for each in decode(self._problem, plan).assignments}
