"""What would save a task that is planned to end after its deadline: others held, its place, other hosts, a deadline.

Start at `rescues`; `other_hosts` needs a prediction that the core has not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.edits import why_unchangeable
from cosched.coscheduler.planning.problem_builder import run_times
from cosched.scheduling.decoding.decoder import decode, soonest
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Schedule

__all__ = ["Rescue", "RescueKind", "other_hosts", "rescues"]

_MOST_TRIED = 8  # tasks in its way; a plan is made without each
_MOST_TOLD = 3
_LEAST_HELP = 0.2  # of the lateness: what helps less is not worth a sentence
_LEAST_MARGIN, _MARGIN = 5.0, 0.02  # of a deadline that can be met: seconds, and part of the time until its end


class RescueKind(StrEnum):
    """Kinds of rescue."""

    HOLD = "hold"
    """Hold another task that is planned before it on its hosts."""
    FIRST = "first"
    """Let it come before all others that wait."""
    HOSTS = "hosts"
    """Give it another number of hosts."""
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
        hosts: of `HOSTS`: how many.
    """

    kind: RescueKind
    end: float
    saves: bool
    task: str = ""
    made_late: int = 0
    hosts: int = 0


def rescues(core: Coscheduler, name: str, problem: Problem, schedule: Schedule, time: float) -> tuple[Rescue, ...]:
    """Return what would help a waiting task that is planned to be late, the best first; () for one in time.

    Only what can be done here: a task that comes from another domain is given another deadline there.

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
        if trial.helps(ends)
    ]
    found.sort(key=lambda each: (not each.saves, each.made_late, each.kind is RescueKind.FIRST, each.end))
    if why_unchangeable(core.tasks[name]):
        return tuple(found[:_MOST_TOLD])
    meets = time + end + max(_LEAST_MARGIN, _MARGIN * end)
    return (*found[:_MOST_TOLD], Rescue(RescueKind.DEADLINE, meets, saves=True))


def other_hosts(core: Coscheduler, task: Task, time: float) -> Rescue | None:
    """Return the number of hosts on which a late task would end first in its place; None where none is of help.

    Where tasks share hosts there is no answer: there it is a question of cores, too.

    Args:
        core: on its thread.
        task: the waiting task with a profile of all host counts that it could be given.
        time: now, epoch seconds.
    """
    forecast = core.planning_view.forecast(time)
    if forecast is None or task.id not in forecast[0].tasks or task.spec.deadline is None or why_unchangeable(task):
        return None
    problem, schedule = forecast
    planned = next(each for each in schedule.assignments if each.task == task.id)
    waits_for_others = problem.depends_on and problem.depends_on[problem.tasks.index(task.id)]
    if problem.packing is not None or waits_for_others or time + planned.end <= task.spec.deadline:
        return None
    trial = _Trial(core, task.id, problem, schedule, time)
    rows = run_times(task, core.planning_view.assumptions(time), problem.classes, len(problem.hosts))
    count, ends = trial.on_best_count(rows)
    if count in (0, len(planned.hosts)) or not trial.helps(ends):
        return None
    end = ends[task.id]
    return Rescue(
        RescueKind.HOSTS, time + end, end <= trial.deadline, made_late=trial.made_late(ends, task.id), hosts=count
    )


class _Trial:
    """Other orders of the waiting tasks, or other hosts of one, each decoded."""

    def __init__(self, core: Coscheduler, name: str, problem: Problem, schedule: Schedule, time: float) -> None:
        self._name = name
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
        self._holdable = [each for each in self._in_its_way if not why_unchangeable(core.tasks[each])]
        self.deadline = self._deadlines[name]

    def orders(self) -> Iterator[tuple[RescueKind, str, dict[str, float]]]:
        """Give what was done, the task that was moved, and the ends of all tasks then, seconds after the origin."""
        order = self._plan.order
        for name in self._holdable[:_MOST_TRIED]:
            moved = self._problem.tasks.index(name)
            # As the last of all it is in nobody's way, as if it were held.
            yield RescueKind.HOLD, name, self._decoded(np.append(order[order != moved], moved))
        if self._in_its_way:
            yield RescueKind.FIRST, "", self._decoded(np.insert(order[order != self._place], 0, self._place))

    def on_best_count(self, rows: NDArray[np.float64]) -> tuple[int, dict[str, float]]:
        """Return the number of hosts with which the task ends first in its place, and the ends of all tasks then.

        Args:
            rows: (classes, hosts) its run times; with 0 hosts none can be used.
        """
        plan, place = self._plan, self._place
        seconds = self._problem.seconds.copy()
        seconds[:, place] = rows
        problem = replace(self._problem, seconds=seconds)
        classes = None if plan.classes is None else plan.classes.copy()
        if classes is not None:
            classes[place] = -1  # any of them
        order = plan.order.tolist()
        best = soonest(problem, plan, order[: order.index(place)], place)
        if best is None:
            return 0, {}
        counts = plan.counts.copy()
        counts[place] = len(best.hosts)
        return len(best.hosts), _ends(problem, Plan(plan.order, counts, classes))

    def helps(self, ends: dict[str, float]) -> bool:
        """Return whether the task would be in time, or much less late."""
        end = self._ends[self._name]
        return ends[self._name] <= max(self.deadline, end - _LEAST_HELP * (end - self.deadline))

    def made_late(self, ends: dict[str, float], moved: str) -> int:
        """Count the tasks that would become late; the one that was moved is not planned then."""
        return sum(
            self._ends[name] <= deadline < ends[name] for name, deadline in self._deadlines.items() if name != moved
        )

    def _decoded(self, order: NDArray[np.int64]) -> dict[str, float]:
        return _ends(self._problem, Plan(order, self._plan.counts, self._plan.classes))


def _ends(problem: Problem, plan: Plan) -> dict[str, float]:
    return {each.task: each.end for each in decode(problem, plan).assignments}
