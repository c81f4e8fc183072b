"""Progress of running elastic tasks, and their expected ends by it. Start at `WorkDone.reckon`.

Work is counted in seconds of a run on the promised hosts: hosts beyond these do more of it in the same time, hosts
whose owners are there less.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.elastic.checkpoints import LEAST_TOLD, by_report
from cosched.coscheduler.elastic.values import WorkRecord
from cosched.coscheduler.places.owner_loads import slowdown_by_owners
from cosched.coscheduler.planning.problem_builder import run_times

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.elastic.values import Elastic, LeadStatus
    from cosched.coscheduler.events import WorkReported
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task
    from cosched.prediction.loads.host_load import HostLoad

__all__ = ["RunningElastic", "WorkDone", "running_elastic"]

_LEAST_CHANGE = 0.02  # of the seconds left, by which an expected end must have moved to be written down


class RunningElastic(NamedTuple):
    """An elastic task that runs."""

    task: Task
    elastic: Elastic
    lead: Attempt
    status: LeadStatus
    workers: tuple[Attempt, ...]


def running_elastic(state: CoreState, name: str) -> RunningElastic | None:
    """Return an elastic task with its lead; None before it has one."""
    task, lead = state.tasks[name], state.attempt_of(name)
    if lead is None or lead.lead is None or task.spec.elastic is None:
        return None
    return RunningElastic(task, task.spec.elastic, lead, lead.lead, state.workers_of(name))


class WorkDone:
    """Keeps the work that is done of each elastic task that runs.

    Attributes:
        records: by the name of the task.
    """

    def __init__(self, settings: CoreSettings, state: CoreState, planning_view: PlanningView) -> None:
        self.records: dict[str, WorkRecord] = {}
        self._settings = settings.elastic
        self._interruption = settings.interruption
        self._state = state
        self._planning_view = planning_view

    def running(self) -> Iterator[RunningElastic]:
        """Yield the elastic tasks that have a lead."""
        for name in self._state.elastic:
            if (running := running_elastic(self._state, name)) is not None:
                yield running

    def report(self, lead: Attempt, event: WorkReported) -> None:
        """Take a program's word for how much of its work is done."""
        work, running = self.records.get(lead.task), running_elastic(self._state, lead.task)
        if work is None or running is None or event.fraction < LEAST_TOLD:
            return  # it tells too little of how long all takes
        work = self._advanced(running, work, event.time)
        if running.elastic.restart:
            if abs(event.fraction - running.status.told) < LEAST_TOLD:
                return  # what counts is written down, end and pace together
            found = by_report(running.task, work, event.fraction)
            self.records[lead.task] = found.work
            pace = running.status.told_pace if found.pace is None else found.pace
            self._state.put_attempt(replace(lead, lead=replace(running.status, told=event.fraction, told_pace=pace)))
            return
        self.records[lead.task] = replace(work, total=max(work.done, 1e-3) / min(event.fraction, 1.0))

    def reckon_with_loads(self, earlier: Mapping[str, HostLoad], time: float) -> None:
        """Expect running tasks to go on as their hosts' loads are now; what they have done stays done.

        Args:
            earlier: the loads that were reckoned with so far.
            time: now, epoch seconds.
        """
        for running in self.running():
            lead, hosts = running.lead, running.lead.reckoned_hosts
            if lead.state is AttemptState.RUNNING and lead.leave_by is None:
                before = slowdown_by_owners(running.task, hosts, earlier, self._interruption)
                now = slowdown_by_owners(running.task, hosts, self._state.hosts.loads, self._interruption)
                self.go_on(running, now / before, time)

    def go_on(self, running: RunningElastic, slower: float, time: float) -> None:
        """Have a task go on at another pace, so many times slower than so far."""
        if slower == 1 or (work := self.records.get(running.task.id)) is None:
            return
        self.records[running.task.id] = self._advanced(running, work, time)
        status = running.status.at_pace(running.status.pace * slower, time)
        lead = replace(running.lead, lead=status)
        self._state.put_attempt(lead)
        self.reckon(running._replace(lead=lead, status=status), time)

    def reckon(self, running: RunningElastic, time: float) -> None:
        """Update the work done, and the task's expected end by it."""
        lead, name = running.lead, running.task.id
        work = self.records.get(name)
        if work is None:
            ran = max(time - (lead.started if lead.started is not None else time), 0.0)
            settled = time + self._pause(running.task)
            # After a restart of the daemon what is predicted is at the pace that was found, and work is at none.
            total = ran + ((lead.predicted or 0.0) - ran) / running.status.pace
            work = WorkRecord(ran, time, total, settled=settled)
        work = self.records[name] = self._advanced(running, work, time)
        left = max(work.total - work.done, 0.0) * running.status.pace
        predicted, ahead = time - (time if lead.started is None else lead.started) + left, max(left, 1.0)
        if lead.leave_by is not None:
            return  # it has been asked to stop: its hosts are reckoned to be free then
        if not left and predicted > (lead.predicted or 0.0):
            return  # it outruns what was foretold of it: an end that followed the clock would say so to nobody
        if lead.predicted is not None and abs(predicted - lead.predicted) > max(_LEAST_CHANGE * ahead, 0.5):
            self._state.put_attempt(replace(lead, predicted=predicted))
            self._state.replan()

    def promise_anew(self, before: RunningElastic, now: RunningElastic, time: float) -> None:
        """Count a task's work in seconds on other promised hosts, and promise the end on these.

        Args:
            before: the task with its earlier promise; it has a record.
            now: with the new one.
            time: epoch seconds.
        """
        work, seconds = self._advanced(before, self.records[now.task.id], time), self.seconds(now)
        longer = _on(seconds, len(now.lead.reckoned_hosts)) / _on(seconds, len(before.lead.reckoned_hosts))
        work = self.records[now.task.id] = replace(work, done=work.done * longer, total=work.total * longer)
        begun = time if now.lead.started is None else now.lead.started
        by_work = time - begun + max(work.total - work.done, 0.0) * now.status.pace
        promised = max(by_work, now.task.status.predicted or 0.0)  # work of which nothing is told yet may come
        self._state.put(now.task.with_status(predicted=promised, hosts=now.lead.reckoned_hosts))
        self.reckon(now, time)

    def settle(self, name: str, time: float) -> None:
        """Lend a task nothing for a while after its hosts have changed."""
        if (work := self.records.get(name)) is not None:
            settled = max(work.settled, time + self._pause(self._state.tasks[name]))
            self.records[name] = replace(work, settled=settled)

    def _pause(self, task: Task) -> float:
        return self._settings.of(task.spec.application, task.owner).settle

    def left(self, running: RunningElastic, seconds: Sequence[float]) -> float:
        """Return which part of a task's work is left; 0 where its run time on the promised hosts is not known.

        Args:
            running: with a record.
            seconds: see `seconds`.
        """
        work, whole = self.records[running.task.id], _on(seconds, len(running.lead.reckoned_hosts))
        return max(work.total - work.done, 0.0) / whole if 0 < whole < math.inf else 0.0

    def seconds(self, running: RunningElastic) -> list[float]:
        """Return the task's run times on 1, 2, … hosts of its lead's class, and with that host's load.

        It runs there: whether its host has what it needs, or is told of at all, is no question any more.
        """
        domain, host = self._state.hosts, running.lead.hosts[0]
        kind, load = domain.classes().get(host, ""), domain.loads.get(host)
        count = 1 if running.task.profile is None else len(running.task.profile.seconds)
        loads = {} if load is None else {kind: ((load, count),)}
        assumptions = self._planning_view.assumptions(running.lead.created)
        assumptions = replace(assumptions, handover=0.0, kinds={}, avoided={}, loads=loads)
        found: list[float] = run_times(running.task, assumptions, [kind], count)[0].tolist()
        return found

    def _advanced(self, running: RunningElastic, work: WorkRecord, time: float) -> WorkRecord:
        """Return the work as it is now: hosts beyond the promised ones do more of it in the same time."""
        passed = time - work.time
        if passed <= 0:
            return work
        width = 1 + sum(each.state is AttemptState.RUNNING for each in running.workers)
        promised = len(running.lead.reckoned_hosts)
        speed = 1.0
        if width != promised and not running.elastic.restart:
            seconds = self.seconds(running)
            whole, now = _on(seconds, promised), _on(seconds, width)
            speed = whole / now if now and math.isfinite(whole) else 0.0
        return replace(work, done=work.done + passed * speed / running.status.pace, time=time)


def _on(seconds: Sequence[float], hosts: int) -> float:
    """Return the run time on so many hosts: of those that it can use, the best number."""
    return min(seconds[:hosts], default=math.inf)
