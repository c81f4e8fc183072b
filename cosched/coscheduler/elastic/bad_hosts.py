"""Workers leave bad hosts: those whose owners take more than of their lead's, and those on which they are slow.

A lent host is given back. For a promised one another is promised, idle or lent to the task; where there is none, the
worker stays. Start at `BadHosts.leave`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cosched.coscheduler.changes import LogEntry
from cosched.coscheduler.elastic.slow_workers import SlowWorkers
from cosched.coscheduler.elastic.wishes import staying
from cosched.coscheduler.elastic.work_done import running_elastic
from cosched.coscheduler.places.hosts import expected_end
from cosched.coscheduler.planning.reschedule_trigger import load_text
from cosched.coscheduler.task import AttemptState
from cosched.prediction.host_load import LoadTrigger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.coscheduler.attempts import AttemptLifecycle
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.elastic.work_done import RunningElastic, WorkDone
    from cosched.coscheduler.events import SpeedsMeasured
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Attempt
    from cosched.prediction.host_load import HostLoad

__all__ = ["BadHosts", "OtherHosts", "slow_text"]


class OtherHosts(NamedTuple):
    """Hosts that workers could go to. Durations are seconds.

    Attributes:
        idle: for how long each idle host is not needed; those that are promised are taken out.
        needed: in how long each host is needed by others; those that are not are left out.
        cost: of leaving a host and beginning on another one.
    """

    idle: dict[str, float]
    needed: Mapping[str, float]
    cost: float


class BadHosts:
    """Has workers of running elastic tasks leave bad hosts.

    Attributes:
        slow: which workers are slow.
    """

    def __init__(
        self,
        settings: CoreSettings,
        state: CoreState,
        lifecycle: AttemptLifecycle,
        planning_view: PlanningView,
        work: WorkDone,
    ) -> None:
        self.slow = SlowWorkers()
        self._acts = settings.trigger is LoadTrigger.ACT
        self._settings = settings.elastic
        self._state = state
        self._lifecycle = lifecycle
        self._planning_view = planning_view
        self._work = work

    def report(self, lead: Attempt, event: SpeedsMeasured) -> None:
        """Take the word of a lead for how quick its workers are; of those that leave it does not count."""
        hosts = {0: lead.hosts[0]} | {each.worker: each.hosts[0] for each in staying(self._state.workers_of(lead.task))}
        speeds = {hosts[worker]: speed for worker, speed in event.speeds if worker in hosts}
        self.slow.report(lead.task, speeds, event.time)

    def leave(
        self,
        others: OtherHosts,
        time: float,
        may_grow: Callable[[RunningElastic, float], bool],
        order: Callable[[Attempt, str, float], None],
    ) -> None:
        """Have workers leave.

        Args:
            others: where they could go.
            time: epoch seconds.
            may_grow: whether a worker of a task can be started now.
            order: has a worker on a lent host leave, for a reason.
        """
        if not self._acts or not (self._state.hosts.loads or self.slow.records):
            return
        for name in self._state.elastic:
            running, work = running_elastic(self._state, name), self._work.records.get(name)
            if running is None or work is None or time < work.settled:
                continue
            for worker, reason in self._badly_placed(running, others.cost, time):
                if worker.loan:
                    order(worker, reason, time)
                    self._note(worker, reason, time)
                elif (instead := self._instead(name, others, time, may_grow)) is not None:
                    others.idle.pop(instead, None)
                    self._promise_instead(worker, instead, reason, time, order)
                    self._note(worker, f"{reason}; {instead} is promised instead", time)

    def _badly_placed(self, running: RunningElastic, cost: float, time: float) -> list[tuple[Attempt, str]]:
        """Return the workers that should leave, and why each of them."""
        loads, terms = self._state.hosts.loads, self._settings.of(running.task.spec.application, running.task.owner)
        usual, slow = _lost(running.lead.hosts[0], loads), self.slow.slow(running.task.id, terms.settle)
        left = expected_end(running.lead, time) - time
        found: list[tuple[Attempt, str]] = []
        for worker in running.workers:
            (host,) = worker.hosts
            if worker.leaves:
                continue
            if _lost(host, loads) > usual:
                found.append((worker, load_text(worker.hosts, loads)))
            elif (part := slow.get(host, 1.0)) < 1 and left * (1 - part) >= terms.payback * cost:
                found.append((worker, slow_text(host, part)))
        return found

    def _instead(
        self, name: str, others: OtherHosts, time: float, may_grow: Callable[[RunningElastic, float], bool]
    ) -> str | None:
        """Return a host that can be promised to a running task in place of a bad one; an idle one before a lent one."""
        running = running_elastic(self._state, name)
        assert running is not None
        kinds, left = self._planning_view.classes(), expected_end(running.lead, time) - time
        kind, loads = kinds.get(running.lead.hosts[0], ""), self._state.hosts.loads
        bad = self.slow.avoided(name, time) | set(self.slow.slow(name, 0.0))
        usual, offering = _lost(running.lead.hosts[0], loads), set(self._state.hosts.offering(running.task.spec.needs))

        def serves(host: str) -> bool:
            stays = others.needed.get(host, math.inf) >= left
            return stays and host not in bad and kinds.get(host, "") == kind and _lost(host, loads) <= usual

        idle = [host for host in others.idle if host in offering and serves(host)] if may_grow(running, time) else []
        lent = [
            each.hosts[0]
            for each in staying(running.workers)
            if each.loan and each.state is AttemptState.RUNNING and serves(each.hosts[0])
        ]
        return min(idle, default=min(lent, default=None))

    def _promise_instead(
        self, worker: Attempt, host: str, reason: str, time: float, order: Callable[[Attempt, str, float], None]
    ) -> None:
        """Promise a host in place of a worker's, which leaves."""
        running = running_elastic(self._state, worker.task)
        assert running is not None
        before = self._lifecycle.times_longer(running.task, running.lead.reckoned_hosts, self._state.hosts.loads)
        promised = tuple(host if each == worker.hosts[0] else each for each in running.status.promised)
        self._state.put_attempt(replace(running.lead, lead=replace(running.status, promised=promised)))
        for each in running.workers:
            if each.hosts == (host,):  # it was lent; the lead is charged for it now
                self._state.put_attempt(replace(each, loan=False, part=0.0, predicted=None))
        # It leaves as from a loan, which the lead is not charged for any more, nor anybody else.
        order(replace(worker, loan=True), reason, time)
        moved = running_elastic(self._state, worker.task)
        assert moved is not None
        now = self._lifecycle.times_longer(moved.task, moved.lead.reckoned_hosts, self._state.hosts.loads)
        self._work.go_on(moved, now / before, time)

    def _note(self, worker: Attempt, line: str, time: float) -> None:
        """Write down that a worker leaves, and have its task keep away from the host where it was slow."""
        self._state.note(LogEntry(time, "host left", worker.task, line))
        (host,) = worker.hosts
        if host in self.slow.slow(worker.task, 0.0):
            self.slow.leave(worker.task, host, time)


def _lost(host: str, loads: Mapping[str, HostLoad]) -> float:
    """Return which part of a host its owner is expected to take."""
    return loads[host].lost if host in loads else 0.0


def slow_text(host: str, part: float) -> str:
    """Say how slow a worker is on its host."""
    return f"its worker on {host} computes {part:.0%} of what its others do"
