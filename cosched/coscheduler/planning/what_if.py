"""A what-if places one more task in the plan and counts the tasks it delays.

Start at `predict_placement`; nothing is changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.places.hosts import expected_end
from cosched.coscheduler.places.licences import with_one_more
from cosched.coscheduler.places.packing import Choice, place_requests, with_shapes
from cosched.coscheduler.planning.problem_builder import alternative_times
from cosched.coscheduler.reservations import with_reservations
from cosched.coscheduler.sharing.host_limits import fewest_charged
from cosched.coscheduler.sharing.shares import share_user
from cosched.scheduling.decoding.decoder import soonest, spans
from cosched.scheduling.host_counts import best_seconds
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.planning.problem_builder import PlanningAssumptions
    from cosched.coscheduler.task import Task
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment

__all__ = ["ExtendedQueue", "PredictedPlacement", "QueueDelay", "extend_queue", "predict_placement"]

_NOTICEABLE = 0.1  # seconds; a shorter delay does not matter


@dataclass(frozen=True, slots=True)
class QueueDelay:
    """Effect of a new task on waiting ones: tasks delayed, longest delay (s), tasks late."""

    delayed: int
    longest: float
    made_late: int


@dataclass(frozen=True, slots=True)
class PredictedPlacement:
    """Predicted place of a task, in epoch seconds, and its effect on waiting ones.

    Attributes:
        cores: of a task with alternatives: those of each host in the one chosen; 0 for others.
    """

    start: float
    end: float
    hosts: tuple[str, ...]
    effect: QueueDelay
    cores: int = 0


@dataclass(frozen=True, slots=True)
class ExtendedQueue:
    """The waiting tasks with a new one, the last of the problem.

    Attributes:
        before: the problem without it.
        plan: of the others.
        problem: with it; seconds from now.
        ahead: the others that go before it, in planned order.
        behind: those that go after it.
    """

    before: Problem
    plan: Plan
    problem: Problem
    ahead: list[int]
    behind: list[int]

    @property
    def new(self) -> int:
        """The new task's index."""
        return len(self.before.tasks)

    def with_place(self, choice: int) -> Plan:
        """Return the plan of all, with the new task on so many hosts, or so much of them."""
        order = np.array([*self.ahead, self.new, *self.behind], dtype=np.int64)
        return Plan(order, np.append(self.plan.counts, choice), _with_any_class(self.plan))


def predict_placement(
    core: Coscheduler, task: Task, time: float, booked: Sequence[Task] = (), *, jumps: bool = True
) -> PredictedPlacement | None:
    """Predict where and when a new task would run; None where nothing can be predicted.

    Of the host counts it takes the one that ends first, as a search will where hosts are idle. Times are epoch seconds.
    Arguments as of `extend_queue`.
    """
    queue = extend_queue(core, task, time, booked, jumps=jumps)
    if queue is None:
        return None
    best = _soonest(queue.problem, queue.plan, queue.ahead, queue.new)
    effect = QueueDelay(delayed=0, longest=0.0, made_late=0)
    if queue.behind:
        changed = queue.with_place(_choice(queue.problem, best))
        effect = _queue_delay(queue.before, queue.plan, queue.problem, changed)
    cores = core.domain.planned_shape(task, best).spec.cores
    return PredictedPlacement(time + best.start, time + best.end, best.hosts, effect, cores if task.alternatives else 0)


def extend_queue(
    core: Coscheduler, task: Task, time: float, booked: Sequence[Task] = (), *, jumps: bool = True
) -> ExtendedQueue | None:
    """Return the waiting tasks with a new one; None where nothing can be predicted.

    There is no prediction without a profile or a usable host, nor behind a task of which nobody can say when it ends.
    The new one goes where the core would insert it, see `Coscheduler.overtaken_by`.

    Args:
        core: the domain.
        task: the new one.
        time: now, epoch seconds.
        booked: tasks that are not there yet and for which a place behind the queue is kept.
        jumps: whether it may go before others; else it is placed behind all.
    """
    if not core.domain.up():
        return None
    by_kind = any(each.spec.constrained for each in (task, *booked))
    problem, plan = _waiting(core, time, by_kind=by_kind)
    if core.domain.shared:
        problem = core.planning_view.packed(problem, time, (task, *booked))
    if any(each.spec.licences for each in (task, *booked)):
        problem = core.planning_view.licensed(problem, time, (task, *booked))
    assumptions = replace(core.planning_view.assumptions(time, by_kind=by_kind), handover=0.0)
    rows = _run_times(core, task, problem, assumptions)
    if rows is None:
        return None
    earliest = _earliest(core, task, problem, plan, time)
    if earliest is None:
        return None
    deadline = math.inf if task.spec.deadline is None else task.spec.deadline - time
    for other in booked:
        problem, plan = _with_booked(core, other, problem, plan, _run_times(core, other, problem, assumptions))
    extended = _with_one_more(core, task, problem, rows, deadline, earliest)
    order = plan.order.tolist()
    later = set(islice(reversed(core.plan.tasks), core.overtaken_by(task))) if jumps else set()
    ahead = [other for other in order if problem.tasks[other] not in later]  # what is booked, too
    return ExtendedQueue(problem, plan, extended, ahead, [other for other in order if problem.tasks[other] in later])


def _earliest(core: Coscheduler, task: Task, problem: Problem, plan: Plan, time: float) -> float | None:
    """Return the seconds until a new task may start; None if unknown.

    It waits for its begin, for its predecessors, and for as many hosts as it needs where its user has too many.
    """
    latest = 0.0 if task.spec.begin is None else max(task.spec.begin - time, 0.0)
    room = core.host_room()
    if room.limited:
        handover = core.planning_view.assumptions(time).handover
        end_of = partial(expected_end, now=time, handover=handover)
        latest = max(latest, room.suffices_at(share_user(task), fewest_charged(task, core.domain), end_of) - time)
    before = [name for name in task.spec.after if name in core.tasks]
    if not before:
        return latest
    planned = dict(zip(problem.tasks, spans(problem, plan)[1], strict=True))
    for name in before:
        end = planned.get(name)
        if end is None:
            expected = core.planning_view.expected_end(name, time)
            if expected is None:
                return None
            end = expected - time
        latest = max(latest, end)
    return latest


def _queue_delay(problem: Problem, plan: Plan, extended: Problem, changed: Plan) -> QueueDelay:
    """Compare the waiting tasks' ends under their plan and under one with the new task."""
    before = np.array(spans(problem, plan)[1])
    after = np.array(spans(extended, changed)[1])[: len(before)]
    delay = after - before
    made_late = (before <= problem.deadline) & (after > problem.deadline)
    return QueueDelay(
        delayed=int((delay > _NOTICEABLE).sum()), longest=float(delay.max(initial=0.0)), made_late=int(made_late.sum())
    )


def _run_times(
    core: Coscheduler, task: Task, problem: Problem, assumptions: PlanningAssumptions
) -> NDArray[np.float64] | None:
    """Return run times by alternative, class and host count in seconds; None where these hosts cannot run it."""
    if task.profile is None or core.licences.beyond(task.spec):
        return None
    rows = _within_share(core, task, alternative_times(task, assumptions, problem.classes, len(problem.hosts)))
    quickest = rows.min(axis=0)
    alone = replace(
        problem,
        tasks=("",),
        seconds=quickest[:, np.newaxis],
        release=np.zeros(1),
        deadline=np.zeros(1),
        depends_on=(),
        licences=None,
    )
    return rows if np.isfinite(best_seconds(alone)).any() else None


def _within_share(core: Coscheduler, task: Task, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return run times by alternative, class and host count that are infinite where its user may not have so many."""
    room = core.host_room()
    if not room.limited:
        return rows
    parts = [core.domain.part(core.domain.share_of(shape.spec)) for shape in task.shapes()]
    charged = np.array(parts)[:, np.newaxis] * np.arange(1, rows.shape[2] + 1)
    return np.where((charged > room.most(share_user(task)))[:, np.newaxis], np.inf, rows)


def _with_booked(
    core: Coscheduler, task: Task, problem: Problem, plan: Plan, rows: NDArray[np.float64] | None
) -> tuple[Problem, Plan]:
    """Put one more task behind the queue, on the host count that ends first."""
    if rows is None:
        return problem, plan
    new = len(problem.tasks)
    # No task may go before it: its place has been promised.
    extended = _with_one_more(core, task, problem, rows, -math.inf)
    count = _choice(extended, _soonest(extended, plan, plan.order.tolist(), new))
    return extended, Plan(np.append(plan.order, new), np.append(plan.counts, count), _with_any_class(plan))


def _with_any_class(plan: Plan) -> NDArray[np.int64] | None:
    """Return the classes of a plan with one more task, which takes hosts of any."""
    return None if plan.classes is None else np.append(plan.classes, -1)


def _waiting(core: Coscheduler, time: float, *, by_kind: bool) -> tuple[Problem, Plan]:
    forecast = core.planning_view.forecast(time, by_kind=by_kind)
    if forecast is not None:
        # It may be without reservations that begin behind what waits: one more task could run into them.
        return with_reservations(forecast[0], core.reservations, time), core.planning_view.plan(forecast[0], time)
    nothing = Plan(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    return core.planning_view.nothing_waiting(time, by_kind=by_kind), nothing


def _choice(problem: Problem, place: Assignment) -> int:
    """Return how a plan says that the last task of a problem takes so many hosts, or so much of them."""
    packing, hosts = problem.packing, len(place.hosts)
    if packing is None:
        return hosts
    first = int(packing.first[-2])
    shapes = zip(packing.hosts[first:].tolist(), packing.demand[first:].tolist(), strict=True)
    return first + [(count, tuple(demand)) for count, demand in shapes].index((hosts, place.taken))


def _with_one_more(
    core: Coscheduler,
    task: Task,
    problem: Problem,
    rows: NDArray[np.float64],
    deadline: float,
    earliest: float = 0.0,
) -> Problem:
    packing = problem.packing
    return replace(
        problem,
        tasks=(*problem.tasks, ""),
        seconds=np.concatenate((problem.seconds, rows.min(axis=0)[:, np.newaxis]), axis=1),
        release=np.append(problem.release, earliest),
        deadline=np.append(problem.deadline, deadline),
        depends_on=(*problem.depends_on, ()) if problem.depends_on else (),
        weight=None,  # nothing here is judged by its objective
        waited=None,
        packing=None if packing is None else with_shapes(packing, Choice.of(place_requests(task, core.domain), rows)),
        licences=problem.licences and with_one_more(problem.licences, task.spec),
    )


def _soonest(problem: Problem, plan: Plan, ahead: list[int], new: int) -> Assignment:
    """Return the place of `new` behind these tasks, on the count that ends first.

    Of counts that end at the same time, the smaller one is taken.
    """
    known = Plan(plan.order, np.append(plan.counts, 1), _with_any_class(plan))
    place = soonest(problem, known, ahead, new)
    assert place is not None, "reservations end, and some host count can be used"
    return place
