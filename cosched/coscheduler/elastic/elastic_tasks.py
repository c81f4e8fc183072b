"""Elastic tasks that run: their workers on promised hosts, loans of idle hosts, and orders to leave.

Start at `ElasticTasks.tend`, which brings the workers to what they should be, whatever was lost or came late, and at
`follow_plan`, which lends hosts and takes them back. A host is free when its worker's job has ended, never because a
program said so.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

import numpy as np

from cosched.connector.hosts import HostShare
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.changes import DispatchAttempt
from cosched.coscheduler.dispatching.planned_starts import PlanInForce
from cosched.coscheduler.elastic.bad_hosts import BadHosts
from cosched.coscheduler.elastic.promises import Promises
from cosched.coscheduler.elastic.restarts import Restarts
from cosched.coscheduler.elastic.setbacks import Setbacks
from cosched.coscheduler.elastic.shared_host_loans import SharedHostLoans
from cosched.coscheduler.elastic.whole_host_loans import WholeHostLoans
from cosched.coscheduler.elastic.wishes import staying, unwanted, wish_taken
from cosched.coscheduler.elastic.work_done import WorkDone, running_elastic
from cosched.coscheduler.elastic.workers import failed_unasked
from cosched.coscheduler.events import (
    HostsWished,
    LeadAnnounced,
    OverheadsMeasured,
    ResizeWished,
    SpeedsMeasured,
    WorkerDrained,
    WorkerRefused,
    WorkReported,
)
from cosched.coscheduler.places.hosts import expected_end
from cosched.coscheduler.recording.snapshot import ElasticSnapshot
from cosched.coscheduler.sharing.shares import share_user
from cosched.scheduling.elastic.idle_loans import lend_idle_hosts
from cosched.scheduling.elastic.tasks import ElasticProgress, ElasticTask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cosched.coscheduler.attempts.lifecycle import AttemptLifecycle
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.elastic.host_loans import HostLoans
    from cosched.coscheduler.elastic.resize_counts import ResizeCounts
    from cosched.coscheduler.elastic.values import ElasticSettings
    from cosched.coscheduler.elastic.work_done import RunningElastic
    from cosched.coscheduler.events import LeadEvent
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task
    from cosched.scheduling.schedule import Assignment

__all__ = ["ElasticTasks"]

_NEWEST = 0.3  # weight of the last drain in the learnt seconds
_SOON = 0.9  # of the drain: a host that is already being left is taken before one that is not
_GOING_ON = (AttemptState.SUBMITTING, AttemptState.SUBMITTED, AttemptState.RUNNING)
_WORKER_LEAVES = "its host is needed"


class ElasticTasks:
    """Has workers of running elastic tasks started and ended."""

    def __init__(
        self,
        settings: CoreSettings,
        state: CoreState,
        queue: TaskQueue,
        lifecycle: AttemptLifecycle,
        planning_view: PlanningView,
    ) -> None:
        self._settings = settings.elastic
        self._instance = UUID(settings.instance)
        self._state = state
        self._queue = queue
        self._lifecycle = lifecycle
        self._planning_view = planning_view
        self._restarts = Restarts(settings, state, queue, lifecycle, planning_view)
        self.work = WorkDone(settings, state, planning_view)
        self._promises = Promises(state, self.work)
        self.setbacks = Setbacks()
        self.bad_hosts = BadHosts(settings, state, planning_view, self.work)
        self.drain = ElasticSnapshot().drain

    def snapshot(self) -> ElasticSnapshot:
        """Return all that is remembered beside the attempts."""
        return ElasticSnapshot(
            dict(self.work.records),
            self.drain,
            self._restarts.snapshot(),
            dict(self.setbacks.records),
            dict(self.bad_hosts.slow.records),
            dict(self.bad_hosts.links.records),
            dict(self.bad_hosts.links.statistics),
            self._state.resizes,
        )

    def load(self, snapshot: ElasticSnapshot) -> None:
        """Go on from a snapshot."""
        self.work.records, self.drain = dict(snapshot.work), snapshot.drain
        self.setbacks.records = dict(snapshot.setbacks)
        self.bad_hosts.load(snapshot)
        self._restarts.load(snapshot.next_look)
        self._state.resizes = snapshot.resizes

    def _terms(self, task: Task) -> ElasticSettings:
        return self._settings.of(task.spec.application, task.owner)

    def _learn(self, worker: Attempt, time: float) -> None:
        """Learn from a worker that has ended: how long it took to leave, or that it ended by itself."""
        self._state.resizes = self._state.resizes.with_end(worker, time)
        task = self._state.tasks.get(worker.task)
        if task is None or task.spec.elastic is None:
            return
        lead = self._state.attempt_of(task.id)
        if lead is not None:
            self._put_lead(lead)
        if worker.leave_by is not None:
            took = max(time - (worker.leave_by - task.spec.elastic.grace), 0.0)
            self.drain += _NEWEST * (took - self.drain)
        elif worker.state is AttemptState.COMPLETED:
            self._take_as_wish(task.id)
        elif task.id in self.work.records and failed_unasked(worker):
            self.setbacks.note(worker, self._terms(task).settle, time)

    def _take_as_wish(self, name: str) -> None:
        """Give a task no more hosts than it has: a worker that ends by itself with code 0 has found no work."""
        running = running_elastic(self._state, name)
        if running is None or self._lifecycle.workers.ending(name):
            return
        enough = 1 + len(staying(running.workers))
        self._state.put_attempt(replace(running.lead, lead=replace(running.status, enough=enough)))

    def handle(self, event: LeadEvent) -> None:
        """Take the word of a lead; of one that has ended or is being ended it does not count."""
        lead = self._state.attempts.get(event.attempt)
        if lead is None or lead.lead is None or lead.state is AttemptState.CANCELLING:
            return
        match event:
            case LeadAnnounced():
                status = replace(lead.lead, address=event.address, drains=event.drains)
                self._state.put_attempt(replace(lead, lead=status))
            case HostsWished() | ResizeWished():
                if (status := wish_taken(lead.lead, event)) != lead.lead:
                    self._state.put_attempt(replace(lead, lead=status))
            case WorkReported():
                self.work.report(lead, event)
            case SpeedsMeasured() | OverheadsMeasured():
                self.bad_hosts.report(lead, event)
            case WorkerDrained() | WorkerRefused():
                uuid = self._state.workers.get(lead.task, {}).get(event.worker)
                worker = None if uuid is None else self._state.attempts[uuid]
                if worker is None or worker.leave_by is None or worker.state is AttemptState.CANCELLING:
                    return
                if isinstance(event, WorkerDrained):
                    self._lifecycle.cancels.give_up(worker, worker.reason or _WORKER_LEAVES, event.time)
                else:
                    self._state.put_attempt(replace(worker, reason=event.reason))

    def tend(self, time: float) -> None:
        """End the workers that must go, and reckon how far the tasks have come."""
        for ended in self._lifecycle.workers.take_ended():
            self._learn(ended, time)
        for name in self.work.records.keys() - self._state.elastic.keys():
            del self.work.records[name]
        self._restarts.tend(time)
        for name in self._state.elastic:
            running = running_elastic(self._state, name)
            if running is None:
                self.work.records.pop(name, None)
                continue
            ending = running.lead.state is AttemptState.CANCELLING or self._lifecycle.workers.ending(name)
            self._end_workers(running, time, ending=ending)
            if not ending and running.lead.state is AttemptState.RUNNING and not running.status.gathers:
                self.work.reckon(running, time)
        self.setbacks.keep(self.work.records)
        self.bad_hosts.keep(self.work.records)

    def _end_workers(self, running: RunningElastic, time: float, *, ending: bool) -> None:
        for worker in running.workers:
            if worker.state is AttemptState.CANCELLING:
                continue
            if ending:
                self._lifecycle.cancels.give_up(worker, "its lead ends", time)
            elif worker.leave_by is not None and (time >= worker.leave_by or not running.status.drains):
                if running.status.drains:
                    self._state.resizes = self._state.resizes.with_force()
                self._lifecycle.cancels.give_up(worker, worker.reason or _WORKER_LEAVES, time)

    def start_workers(self, time: float) -> None:
        """Start a worker on each promised host that has none."""
        for name in self._state.elastic:
            running = running_elastic(self._state, name)
            if running is None or not self._may_grow(running, time):
                continue
            for host in self._without_worker(running, time):
                if self._lifecycle.room(running.task.owner, time) >= 1:
                    self._start(name, host, time, loan=False)

    def _without_worker(self, running: RunningElastic, time: float) -> list[str]:
        """Return the promised hosts on which a worker is missing and can run as long as its lead."""
        mine = {worker.hosts[0] for worker in running.workers if not worker.loan}
        without = [host for host in running.status.promised if host not in mine]
        if not without:
            return []
        if running.task.profile is not None:  # who leaves for one of these is there until its job has ended
            without = without[: max(len(running.task.profile.seconds) - 1 - len(running.workers), 0)]
        if (enough := running.status.enough) is not None:
            without = without[: max(enough - 1 - len(staying(running.workers)), 0)]
        # A held lead's hosts may have gone to others meanwhile, and reservations may have come.
        usable = set(self._state.hosts.mine()) - self._taken()
        reserved, left = self._state.reservations.needed(time), expected_end(running.lead, time) - time
        return [host for host in without if host in usable and reserved.get(host, math.inf) >= left]

    def _taken(self) -> set[str]:
        """Return the hosts on which nothing is left for workers that are missing on promised hosts."""
        live = self._state.attempts.values()
        if not self._state.hosts.shared:
            return {host for each in live for host in each.hosts}
        whole = {host for each in live if each.share is None for host in each.hosts}
        over = [host for host, left in self._state.hosts.left(live).items() if not HostShare().within(left)]
        return whole.union(over)

    def follow_plan(
        self, planned: Sequence[Assignment] | PlanInForce | None, ready: Callable[[str], bool], time: float
    ) -> None:
        """Take lent hosts back that the plan needs, and lend those that it leaves idle; where they are shared, parts.

        Args:
            planned: the first tasks of the plan on each host; starts in seconds from now. Those that have left count
                no more. Where hosts are shared, the plan; it counts while nothing has left. None under a policy whose
                plan does not say when hosts are needed: then none are lent.
            ready: whether a task may leave.
            time: epoch seconds.
        """
        for running in self.work.running():
            badness = self.bad_hosts.links.badness(running.task.id)
            for worker in unwanted(running.workers, running.status.wished, badness):
                self._order_to_leave(worker, "its program has no use for so many hosts", time)
            self._promises.keep_to_wishes(running, badness, self._order_to_leave, time)
        if planned is None:
            for worker in self._lent():
                if worker.leave_by is None:
                    self._order_to_leave(worker, "its host is needed for a task that no plan places", time)
            return
        self._restarts.consider(time)
        look: HostLoans
        if isinstance(planned, PlanInForce) or self._state.hosts.shared:
            known = planned if isinstance(planned, PlanInForce) else None
            look = SharedHostLoans(self._state, self._queue, self._planning_view, known, self.drain, time)
        else:
            look = WholeHostLoans(self._state, self._queue, self._planning_view, planned, time)
        for worker, reason, task in look.needed_back(self._lent(), ready):
            self._order_to_leave(replace(worker, needed_by=task), reason, time)
        cost = self._state.corrections.dispatch_latency.seconds + self.drain
        self.bad_hosts.leave(look.others, cost, time, self._may_grow, self._order_to_leave)
        if idle := look.idle_hosts:
            self._lend(look, idle, time)

    def _lend(self, look: HostLoans, idle: Sequence[str], time: float) -> None:
        """Lend idle hosts, or idle parts of shared ones."""
        tasks: list[ElasticProgress] = []
        allowed: dict[str, list[str]] = {}
        for running in self.work.running():
            if (progress := self._progress(running, time)) is not None:
                tasks.append(progress)
                allowed[running.task.id] = self._allowed(running, idle, time)
        if not tasks:
            return
        payback = {name: self._terms(self._state.tasks[name]).payback for name in allowed}
        for name, chosen in lend_idle_hosts(tasks, look.idle(allowed), payback).items():
            for host in chosen:
                task = self._state.tasks[name]
                if min(self._room(task), self._lifecycle.room(task.owner, time)) >= 1:
                    self._start(name, host, time, loan=True)

    def _allowed(self, running: RunningElastic, idle: Iterable[str], time: float) -> list[str]:
        """Return the idle hosts of its lead's class that a task may be lent, those near its own first."""
        classes, name = self._planning_view.classes(), running.task.id
        kind = classes.get(running.lead.hosts[0], "")
        alike = [host for host in idle if classes.get(host, "") == kind]
        ranks, avoided = self.bad_hosts.ranks(name, alike), self.bad_hosts.avoided(name, time)
        offering = set(self._state.hosts.offering(running.task.spec.needs)) - avoided
        return sorted(offering.intersection(alike), key=lambda host: (ranks[host], host))

    @property
    def resizes(self) -> ResizeCounts:
        """How often elastic tasks grew and shrank since the start."""
        return self._state.resizes

    def lent_hosts(self) -> dict[str, float]:
        """Return the hosts that are lent, in whole or in part, and the seconds in which they can be free.

        Among them are those that workers are being taken from: who waits for several hosts counts on them still.
        """
        lent: dict[str, float] = {}
        for name in self._state.elastic:
            for worker in self._state.workers_of(name):
                if worker.loan:
                    lent[worker.hosts[0]] = max(lent.get(worker.hosts[0], 0.0), worker.predicted or 0.0)
        return lent

    def _lent(self) -> list[Attempt]:
        return [
            each
            for name in self._state.elastic
            for each in self._state.workers_of(name)
            if each.loan and each.state is not AttemptState.CANCELLING
        ]

    def _may_grow(self, running: RunningElastic, time: float) -> bool:
        """Return whether a worker can be started now: its lead is there, and workers stay."""
        if running.lead.state not in _GOING_ON or self._lifecycle.workers.ending(running.task.id):
            return False
        if running.elastic.needs_lead and not running.status.address:
            return False
        if self.setbacks.pauses(running.task.id, time):
            return False
        return time >= self._lifecycle.paused_until and self._lifecycle.room(running.task.owner, time) >= 1

    def _room(self, task: Task) -> float:
        """Return for how many more workers of a task its user may take hosts, or parts of them."""
        part = self._state.hosts.part(self._state.hosts.share_of(task.spec))
        return self._state.host_room().left(share_user(task)) / part

    def _progress(self, running: RunningElastic, time: float) -> ElasticProgress | None:
        """Return how far a task that may be lent hosts has come; None for one that may not."""
        work = self.work.records.get(running.task.id)
        leaving = any(each.leaves for each in running.workers)
        promised = not self._without_worker(running, time)  # hosts that are down get none: others may stand in for them
        if not self._terms(running.task).lending or running.elastic.restart:
            return None
        if work is None or leaving or not promised or time < work.settled or not self._may_grow(running, time):
            return None
        seconds = self.work.seconds(running)
        held, able = 1 + len(running.workers), np.flatnonzero(np.isfinite(seconds)) + 1
        wishes = (running.status.wished, running.status.enough)
        wished = min([len(seconds), *[each for each in wishes if each is not None]])
        mine = {each.hosts[0] for each in running.workers if not each.loan}
        away = len(set(running.status.promised) - mine)
        most = min(int(able[-1]) - away, held + int(min(self._room(running.task), len(seconds))), wished)
        least = int(able[0])
        if not least <= held <= most:
            return None
        latency = self._state.corrections.dispatch_latency.seconds
        task = ElasticTask(running.task.id, tuple(seconds), least, most, least, latency, self.drain, self.drain)
        left = self.work.left(running, seconds)
        if held < (floor := running.status.floor):  # its user foresees work of which its program tells nothing yet
            left, task = 1.0, replace(task, most=min(most, floor))
        return ElasticProgress(task, left, held) if left > 0 else None

    def _start(self, name: str, host: str, time: float, *, loan: bool) -> None:
        """Start a worker of a running task on a host."""
        lead = self._state.attempt_of(name)
        assert lead is not None
        assert lead.lead is not None
        number = lead.lead.workers + 1
        uuid = str(uuid5(self._instance, f"{lead.uuid}/{number}"))
        share = self._state.hosts.share_of(self._state.tasks[name].spec)
        worker = Attempt(
            uuid,
            name,
            (host,),
            1,
            self.drain if loan else None,
            created=time,
            part=self._state.hosts.part(share) if loan else 0.0,  # the lead is charged for promised hosts
            worker=number,
            loan=loan,
        )
        if share is not None:
            worker = replace(worker, **asdict(share))
        self._put_lead(lead, workers=number)
        self._state.put_attempt(worker)
        self._state.resizes = self._state.resizes.with_start(worker)
        self._state.decide(DispatchAttempt(worker, self._state.tasks[name].as_worker(number, lead.lead.address)))
        self.work.settle(name, time)
        self._state.replan()

    def _order_to_leave(self, worker: Attempt, reason: str, time: float) -> None:
        running = running_elastic(self._state, worker.task)
        assert running is not None
        self._put_lead(running.lead)
        soon = _SOON * (self.drain if worker.predicted is None else worker.predicted)
        worker = replace(worker, leave_by=time + running.elastic.grace, reason=reason, predicted=soon)
        self._state.put_attempt(worker)
        self._state.replan()
        self.work.settle(worker.task, time)
        if not running.status.drains:
            self._lifecycle.cancels.give_up(worker, reason, time)

    def _put_lead(self, lead: Attempt, workers: int | None = None) -> None:
        """Note that what the workers are to do has changed."""
        assert lead.lead is not None
        count = lead.lead.workers if workers is None else workers
        status = replace(lead.lead, workers=count, revision=lead.lead.revision + 1)
        self._state.put_attempt(replace(lead, lead=status))
