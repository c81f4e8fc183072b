"""Programs that checkpoint are asked to stop where other hosts are worth a restart. Start at `Restarts.consider`.

A restart is tried on the plan first: the task as one more that waits, with what is left of its work, on the hosts that
it would have next. It is asked to stop where a waiting task would be late otherwise, or where it ends so much sooner
that this repays the restart, and nobody else is made late. One program at a time is being asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.elastic.checkpoints import after_checkpoint, restart_cost
from cosched.coscheduler.elastic.values import RestartRecord
from cosched.coscheduler.places.hosts import expected_end, heaviest_load
from cosched.coscheduler.places.licences import with_one_more
from cosched.coscheduler.planning.problem_builder import run_times
from cosched.coscheduler.planning.reschedule_trigger import load_text
from cosched.coscheduler.sharing.shares import share_user
from cosched.counts import plural
from cosched.durations import format_duration
from cosched.prediction.loads.host_load import LoadTrigger
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.host_counts import quicker_counts
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.attempts.lifecycle import AttemptLifecycle
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.elastic.values import Elastic, LeadStatus
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task
    from cosched.scheduling.problem import Problem

__all__ = ["Restarts"]

_NOTICEABLE = 0.1  # seconds; a shorter delay does not matter
_MOST_COUNTS = 8  # numbers of hosts that are looked at: each takes a decode of the whole plan or two


@dataclass(frozen=True, slots=True)
class _Restartable:
    """A running task that may be asked to stop."""

    task: Task
    elastic: Elastic
    lead: Attempt
    status: LeadStatus


@dataclass(frozen=True, slots=True)
class _Move:
    """A restart as it is planned.

    Attributes:
        hosts: that the task is to have next.
        behind: waiting task that goes before it; empty: none.
        end: of the task then, seconds from now.
        rescued: waiting tasks that are late without it and in time with it, in planned order.
    """

    hosts: int
    behind: str
    end: float
    rescued: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Trial:
    """The waiting tasks with a running one behind them, as if it had been asked to stop now.

    Attributes:
        problem: in seconds from now; the running task is the last of it.
        plan: of the waiting tasks alone.
        ends: of the waiting tasks as things are, seconds from now.
        counts: numbers of hosts on which the running task might go on.
    """

    problem: Problem
    plan: Plan
    ends: NDArray[np.float64]
    counts: list[int]

    def ends_with(self, place: int, count: int) -> NDArray[np.float64]:
        """Return all ends with the running task at a place of the order, on so many hosts."""
        order = np.insert(self.plan.order, place, len(self.ends))
        classes = None if self.plan.classes is None else np.append(self.plan.classes, -1)
        return np.array(spans(self.problem, Plan(order, np.append(self.plan.counts, count), classes))[1])


class Restarts:
    """Asks programs that checkpoint to stop, and lets those go on that do not."""

    def __init__(
        self,
        settings: CoreSettings,
        state: CoreState,
        queue: TaskQueue,
        lifecycle: AttemptLifecycle,
        planning_view: PlanningView,
    ) -> None:
        self._settings = settings.elastic
        self._off_loaded = settings.trigger is LoadTrigger.ACT  # whether programs are asked to leave loaded hosts
        self._state = state
        self._queue = queue
        self._lifecycle = lifecycle
        self._view = planning_view
        self._next_look: dict[str, float] = {}  # task → when it is looked at again

    def snapshot(self) -> dict[str, float]:
        """Return when each task is looked at again, epoch seconds."""
        return dict(self._next_look)

    def load(self, next_look: Mapping[str, float]) -> None:
        """Go on from a snapshot."""
        self._next_look = dict(next_look)

    def tend(self, time: float) -> None:
        """Let programs go on, or have them ended, that have not stopped within their grace."""
        for name in self._next_look.keys() - self._state.elastic.keys():
            del self._next_look[name]
        for each in self._running():
            if each.lead.leave_by is None or time < each.lead.leave_by:
                continue
            known = each.task.status.restarts or RestartRecord()
            if each.elastic.force:
                self._state.put(each.task.with_status(restarts=replace(known, forced=known.forced + 1, spent=None)))
                why = f"ended by force, for it had not stopped within its grace ({each.status.why})"
                self._lifecycle.cancels.give_up(each.lead, why, time)
                self._state.resizes = self._state.resizes.with_force()
                continue
            status = replace(each.status, deaf=True, revision=each.status.revision + 1)
            self._state.put_attempt(replace(each.lead, leave_by=None, lead=status, needed_by=""))
            self._state.put(each.task.with_status(restarts=replace(known, unheeded=known.unheeded + 1)))
            self._state.replan()

    def consider(self, time: float) -> None:
        """Ask the first program to stop for which a restart is worth it, unless one is stopping."""
        running = list(self._running())
        if any(each.lead.leave_by is not None for each in running):
            return
        for each in running:
            if each.status.deaf or each.lead.started is None:
                continue
            terms = self._settings.of(each.task.spec.application, each.task.owner)
            rested = each.lead.started + max(terms.settle, terms.payback * restart_cost(each.task).seconds)
            if time < max(self._next_look.get(each.task.id, 0.0), rested):
                continue
            self._next_look[each.task.id] = time + terms.settle
            if (move := self._best_move(each, time)) is not None:
                self._ask(each, move, time)
                return

    def _running(self) -> Iterator[_Restartable]:
        for name in self._state.elastic:
            task, lead = self._state.tasks[name], self._state.attempt_of(name)
            if lead is None or lead.state is not AttemptState.RUNNING or task.spec.elastic is None:
                continue
            if lead.lead is not None and lead.lead.restarts:
                yield _Restartable(task, task.spec.elastic, lead, lead.lead)

    def _ask(self, running: _Restartable, move: _Move, time: float) -> None:
        lead, task, elastic = running.lead, running.task, running.elastic
        assert lead.started is not None
        if move.rescued:
            more = f" and {len(move.rescued) - 1} more" if len(move.rescued) > 1 else ""
            why = f"task {move.rescued[0]}{more} would be late without its hosts"
        else:
            sooner = expected_end(lead, time) - time - move.end
            why = f"on {plural(move.hosts, 'host')} it ends {format_duration(sooner)} sooner"
            if self._is_loaded(lead):
                why += f"; {load_text(lead.hosts, self._state.hosts.loads)}"
        status = replace(
            running.status,
            revision=running.status.revision + 1,
            why=why,
            next_hosts=move.hosts,
            behind=move.behind,
        )
        stopped = time - lead.started + restart_cost(task).stop
        lead = replace(lead, leave_by=time + elastic.grace, predicted=stopped, lead=status)
        self._state.put_attempt(replace(lead, needed_by=move.rescued[0] if move.rescued else ""))
        self._state.replan()

    def _best_move(self, running: _Restartable, time: float) -> _Move | None:
        """Return the restart that has most tasks in time and ends soonest; None where none is worth it."""
        trial, end = self._trial(running, time), expected_end(running.lead, time) - time
        if trial is None:
            return None
        task, waiting, deadline = running.task, trial.problem.tasks[:-1], trial.problem.deadline[:-1]
        terms, cost = self._settings.of(task.spec.application, task.owner), restart_cost(task).seconds
        due, late = math.inf if task.due is None else task.due - time, trial.ends > deadline
        order = trial.plan.order.tolist()
        places = [0, *[place + 1 for place, row in enumerate(order) if late[row]][-1:]]
        stays = not terms.lending or (not self._off_loaded and self._is_loaded(running.lead))
        best: _Move | None = None
        for place in places:
            for count in trial.counts:
                *others, mine = trial.ends_with(place, count).tolist()
                still_late = np.array(others) > deadline
                if (still_late & ~late).any() or (mine > end and (mine > due or self._state.successors(task.id))):
                    continue
                rescued = tuple([waiting[row] for row in order if late[row] and not still_late[row]])
                if not all(self._queue.staged(self._state.tasks[name], time) for name in rescued):
                    continue
                if not rescued:
                    delayed = (np.array(others) > trial.ends + _NOTICEABLE).any()
                    pays = end - mine > _NOTICEABLE and end - mine + cost >= terms.payback * cost
                    if delayed or not pays or stays:
                        continue
                behind = waiting[order[place - 1]] if place else ""
                if best is None or (-len(rescued), mine) < (-len(best.rescued), best.end):
                    best = _Move(count, behind, mine, rescued)
        return best

    def _is_loaded(self, lead: Attempt) -> bool:
        return heaviest_load(lead.hosts, self._state.hosts.loads) is not None

    def _trial(self, running: _Restartable, time: float) -> _Trial | None:
        """Return the plan to try a restart on.

        None where nothing is known of it, its task is about to end, or no host is up.
        """
        task, lead = running.task, running.lead
        if lead.predicted is None or lead.started is None or lead.started + lead.predicted <= time:
            return None
        if not self._state.hosts.up():
            return None
        problem = self._view.problem(time)
        if problem is None:
            problem = self._view.nothing_waiting(time)
        if problem.packing is not None or task.spec.licences:
            return None
        nothing = Plan(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        plan = self._view.plan(problem, time) if problem.tasks else nothing
        cost, reserved = restart_cost(task), self._state.reservations.kept(time)
        stopped = task.with_status(restarts=replace(after_checkpoint(task, lead, time), reading=cost.reading))
        rows = run_times(stopped, self._view.assumptions(time), problem.classes, len(problem.hosts))
        room = self._state.host_room().left(share_user(task))
        most = len(lead.hosts) + int(min(room, len(problem.hosts)))
        own = [row for row, host in enumerate(problem.hosts) if host in lead.hosts and host not in reserved]
        free = problem.free.copy()
        free[own] = np.minimum(free[own], cost.stop)
        whole = replace(
            problem,
            tasks=(*problem.tasks, ""),
            free=free,
            seconds=np.concatenate((problem.seconds, rows[:, np.newaxis]), axis=1),
            release=np.append(problem.release, cost.stop),
            deadline=np.append(problem.deadline, math.inf),
            depends_on=(*problem.depends_on, ()) if problem.depends_on else (),
            weight=None,  # nothing here is judged by its objective
            waited=None,
            licences=problem.licences and with_one_more(problem.licences, task.spec),
        )
        ends = np.array(spans(problem, plan)[1]) if problem.tasks else np.empty(0)
        counts = quicker_counts(rows.min(axis=0)[:most].tolist(), _MOST_COUNTS)
        return _Trial(whole, plan, ends, counts) if counts else None
