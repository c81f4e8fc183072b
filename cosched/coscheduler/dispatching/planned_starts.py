"""The tasks of the current plan that start now, by the domain's policy.

Start at `PlannedStarts.now`. Limits of owners, licences and neighbours' words come after it, in the dispatcher.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from cosched.coscheduler.dispatching.immediate_starts import (
    ImmediateStart,
    RunTimeTable,
    first_on_idle_hosts,
    gaps_on_lent_hosts,
    starts_in_order,
    starts_now,
)
from cosched.coscheduler.places.departures import starts_on_shared_hosts
from cosched.coscheduler.places.licences import LicenceTimeline
from cosched.coscheduler.reservations import without_distant_reservations
from cosched.coscheduler.sharing.array_limits import array_room
from cosched.scheduling.host_counts import best_seconds
from cosched.scheduling.policies import ImmediatePolicy, UserCountPolicy, find_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.state import CoreState
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment

__all__ = ["PlanInForce", "PlannedStarts"]


class PlanInForce(NamedTuple):
    """Waiting tasks of shared hosts and their plan, beside some attempts; making it takes a while where many wait.

    Attributes:
        problem: what waits, in seconds from now.
        plan: of it.
        attempts: the live ones.
        gaps: tasks that would leave now if no place were lent.
    """

    problem: Problem
    plan: Plan
    attempts: tuple[Attempt, ...]
    gaps: tuple[ImmediateStart, ...] = ()

    def holds(self, attempts: Iterable[Attempt]) -> bool:
        """Return whether these are the same attempts, none of them changed."""
        now = tuple(attempts)
        return len(now) == len(self.attempts) and all(map(operator.is_, now, self.attempts))


class PlannedStarts:
    """Chooses the tasks that leave now."""

    def __init__(self, settings: CoreSettings, state: CoreState, queue: TaskQueue, view: PlanningView) -> None:
        self._policy = find_policy(settings.policy)
        self._seed = settings.seed
        self._state = state
        self._queue = queue
        self._view = view

    def order_by_priority(self, time: float) -> None:
        """Put the tasks of each user into the order of their priorities, where any has one."""
        if self._state.prioritised and not isinstance(self._policy, ImmediatePolicy):
            self._queue.adopt(self._view.by_priority(time))

    def now(
        self, lent: Mapping[str, float], time: float
    ) -> tuple[list[ImmediateStart], Sequence[Assignment] | PlanInForce | None]:
        """Return the tasks that leave now, and the plan's next ones.

        The latter are None where no hosts are to be lent beside the plan. Where hosts are shared it is the plan before
        any task leaves: who lends parts of them looks at all of it.

        Args:
            lent: hosts that elastic tasks give back when a task needs them, and the seconds that this takes.
            time: epoch seconds.
        """
        if not self._queue.planned:
            return [], ()
        domain, taken = self._state.hosts, self._view.taken(time)
        idle = [host for host in domain.up() if host not in taken]
        if domain.shared and idle:
            idle = list(set(idle) - domain.full(self._state.attempts.values()))
        problem = self._view.problem(time) if idle or lent else None
        if problem is None:
            return [], ()
        ready = partial(self.ready, time=time)
        if problem.packing is not None:
            plan = self._view.plan(problem, time)
            starts = starts_on_shared_hosts(problem, problem.packing, plan, ready)
            places = self._gaps_on_lent_places(problem, plan, starts, lent, time) if lent else ()
            return starts, PlanInForce(problem, plan, tuple(self._state.attempts.values()), places)
        run_times, kept = RunTimeTable.of(problem), self._state.reservations.needed(time)
        if isinstance(self._policy, UserCountPolicy):
            may_leave = partial(self._queue.may_leave, time=time)
            return starts_in_order(self._arrivals(problem, self._policy, time), idle, may_leave, run_times, kept), None
        plan = self._view.plan(problem, time)
        first, behind = first_on_idle_hosts(without_distant_reservations(problem, plan), plan, [*idle, *lent])
        starts = starts_now(first, idle, ready, run_times, kept, behind, LicenceTimeline.of(problem))
        if lent:
            left, gone = {each.task for each in starts}, {host for each in starts for host in each.hosts}
            licences = LicenceTimeline.of(problem)
            still_idle, stays = [host for host in idle if host not in gone], _not_of(left, ready)
            gaps = gaps_on_lent_hosts(first, still_idle, lent, stays, run_times, kept, behind, licences)
            return starts, [*gaps, *first]
        return starts, first

    def _gaps_on_lent_places(
        self, problem: Problem, plan: Plan, starts: Sequence[ImmediateStart], lent: Mapping[str, float], time: float
    ) -> tuple[ImmediateStart, ...]:
        """Return the tasks that would leave now if no place were lent, and still can once the places are free."""
        alone = self._view.without_loans(problem, time)
        assert alone.packing is not None
        left, late = {each.task for each in starts}, max(lent.values())
        ready = partial(self.ready, time=time)
        return tuple(
            each
            for each in starts_on_shared_hosts(alone, alone.packing, plan, ready, late=late)
            if each.task not in left and not lent.keys().isdisjoint(each.hosts)
        )

    def ready(self, task: str, time: float) -> bool:
        """Return whether a task of the plan may leave: it is staged, and nothing holds it back."""
        searched = not self._policy.searched or self._queue.staged(self._state.tasks[task], time)
        return searched and self._queue.may_leave(task, time)

    def _arrivals(self, problem: Problem, policy: UserCountPolicy, time: float) -> list[tuple[str, int]]:
        """Return the queue of a first-come-first-served policy; a host count is chosen once and kept.

        Only who may leave is in it, else it would block the queue: who comes after others arrives with the end of the
        last of them. Each user's tasks are in order of priority and arrival, users take turns by their shares.
        """
        plan, tasks, arrived = self._queue.plan, self._state.tasks, []
        counts = dict(zip(plan.tasks, plan.counts, strict=True))
        best, live = best_seconds(problem), self._state.live_by_array.copy()
        for place, name in enumerate(problem.tasks):  # the queue's order
            if not self._queue.may_leave(name, time) or array_room(tasks[name], live) < 1:
                continue
            live[tasks[name].spec.array] += 1
            row = best[place]
            if not 1 <= counts[name] <= len(row):
                counts[name] = policy.host_count(row, f"{self._seed}/{tasks[name].number}")
            arrived.append(place)
        self._queue.adopt(plan.with_counts(counts))
        in_turn = self._view.in_turn(problem, arrived, time)
        return [(problem.tasks[place], counts[problem.tasks[place]]) for place in in_turn]


def _not_of(tasks: set[str], ready: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return `ready` with the answer no for these tasks."""
    return lambda task: task not in tasks and ready(task)
