"""Where one more task would go in the schedule as it stands. Changes nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.decoder import decode, spans
from cosched.scheduling.free_times import FreeTimes
from cosched.scheduling.problem import Plan, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task
    from cosched.scheduling.schedule import Assignment

__all__ = ["Effect", "Place", "place"]

_TELLABLE = 0.1  # seconds; nobody minds less


@dataclass(frozen=True, slots=True)
class Effect:
    """What one more task does to those that wait: how many end later, by how much at most (s), how many too late."""

    delayed: int
    longest: float
    made_late: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task would run, in epoch seconds, and what that does to those that wait already."""

    start: float
    end: float
    hosts: tuple[str, ...]
    effect: Effect


def place(
    core: Coscheduler, task: Task, time: float, booked: Sequence[Task] = (), *, jumps: bool = True
) -> Place | None:
    """Return a new task's place in epoch seconds; None where it has no prediction or no host is up for it.

    It goes behind the queue; where it would miss its deadline there, before the tasks whose deadlines are later.
    Of the host counts it takes the one that ends first.

    Args:
        core: the domain.
        task: the new one.
        time: now, epoch seconds.
        booked: tasks that are not there yet and for which a place behind the queue is kept.
        jumps: whether it may go before others at all.
    """
    hosts = core.domain.up()
    row = _row(core, task, len(hosts))
    if row is None:
        return None
    deadline = math.inf if task.deadline is None else task.deadline - time
    problem, plan = _waiting(core, hosts, time)
    for other in booked:
        problem, plan = _book(problem, plan, _row(core, other, len(hosts)))
    extended = _with_one_more(problem, row, deadline)
    order = plan.order.tolist()
    ahead = [other for other in order if problem.deadline[other] <= deadline]
    new = len(problem.tasks)
    best = _soonest(extended, plan, order, new)
    effect = Effect(delayed=0, longest=0.0, made_late=0)
    if best.end > deadline and jumps:
        sooner = _soonest(extended, plan, ahead, new)
        if sooner.end < best.end:
            best = sooner
            behind = [other for other in order if problem.deadline[other] > deadline]
            counts = np.append(plan.counts, len(best.hosts))
            effect = _effect(problem, plan, extended, Plan(np.array([*ahead, new, *behind], dtype=np.int64), counts))
    return Place(time + best.start, time + best.end, best.hosts, effect)


def _effect(problem: Problem, plan: Plan, extended: Problem, changed: Plan) -> Effect:
    """Compare when the waiting tasks end under their plan and under one with the new task among them."""
    before = np.array(spans(problem, plan)[1])
    after = np.array(spans(extended, changed)[1])[: len(before)]
    later = after - before
    made_late = (before <= problem.deadline) & (after > problem.deadline)
    return Effect(
        delayed=int((later > _TELLABLE).sum()), longest=float(later.max(initial=0.0)), made_late=int(made_late.sum())
    )


def _row(core: Coscheduler, task: Task, hosts: int) -> NDArray[np.float64] | None:
    """Return the corrected run time by host count; None where none of so many hosts can run it."""
    if task.profile is None:
        return None
    row = np.full(hosts, math.inf)
    known = task.profile.seconds[:hosts]
    row[: len(known)] = np.asarray(known) * core.factors().get(task.correction, 1.0)
    return row if np.isfinite(row).any() else None


def _book(problem: Problem, plan: Plan, row: NDArray[np.float64] | None) -> tuple[Problem, Plan]:
    """Put one more task behind the queue, on the host count that ends first."""
    if row is None:
        return problem, plan
    new = len(problem.tasks)
    extended = _with_one_more(problem, row, -math.inf)  # nobody may go before it: its place has been promised
    count = len(_soonest(extended, plan, plan.order.tolist(), new).hosts)
    return extended, Plan(np.append(plan.order, new), np.append(plan.counts, count))


def _waiting(core: Coscheduler, hosts: Sequence[str], time: float) -> tuple[Problem, Plan]:
    forecast = core.forecast(time)
    if forecast is not None:
        return forecast[0], core.waiting.plan(forecast[0])
    free = core.taken(time)
    problem = Problem(
        tasks=(),
        hosts=tuple(hosts),
        classes=("",),
        host_class=np.zeros(len(hosts), dtype=np.int64),
        free=np.array([max(free.get(host, time) - time, 0.0) for host in hosts]),
        seconds=np.empty((1, 0, len(hosts))),
        release=np.empty(0),
        deadline=np.empty(0),
    )
    return problem, Plan(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def _with_one_more(problem: Problem, row: NDArray[np.float64], deadline: float) -> Problem:
    rows = np.broadcast_to(row, (len(problem.classes), 1, len(row)))
    return Problem(
        tasks=(*problem.tasks, ""),
        hosts=problem.hosts,
        classes=problem.classes,
        host_class=problem.host_class,
        free=problem.free,
        seconds=np.concatenate((problem.seconds, rows), axis=1),
        release=np.append(problem.release, 0.0),
        deadline=np.append(problem.deadline, deadline),
        depends_on=(*problem.depends_on, ()) if problem.depends_on else (),
    )


def _soonest(problem: Problem, plan: Plan, ahead: list[int], new: int) -> Assignment:
    """Return the place of the task `new` behind these, on the host count that ends first (ties: the smaller)."""
    ends = spans(problem, Plan(np.array(ahead, dtype=np.int64), np.append(plan.counts, 1)))[1]
    free = FreeTimes(problem.free.tolist())
    for other in ahead:
        free.take(int(plan.counts[other]), ends[other])
    seconds = problem.seconds[0, new].tolist()
    count = min(range(1, len(seconds) + 1), key=lambda count: (free.earliest(count) + seconds[count - 1], count))
    schedule = decode(problem, Plan(np.array([*ahead, new], dtype=np.int64), np.append(plan.counts, count)))
    return schedule.assignments[-1]
