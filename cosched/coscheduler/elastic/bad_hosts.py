"""Workers leave bad hosts: those whose owners take more than of their lead's, and those on which they are slow.

They leave clusters with slow links, too, as a whole. A lent host is given back. For a promised one another is promised,
idle or lent to the task; where there is none, the worker stays. Start at `BadHosts.leave`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import LogEntry
from cosched.coscheduler.elastic.cluster_links import ClusterLinks, cluster_ranks
from cosched.coscheduler.elastic.slow_workers import SlowWorkers
from cosched.coscheduler.elastic.wishes import staying
from cosched.coscheduler.elastic.work_done import running_elastic
from cosched.coscheduler.events import SpeedsMeasured
from cosched.coscheduler.places.hosts import expected_end
from cosched.coscheduler.places.owner_loads import slowdown_by_owners
from cosched.coscheduler.planning.reschedule_trigger import load_text
from cosched.prediction.efficiency import WorkerStatistics
from cosched.prediction.loads.host_load import LoadTrigger

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.elastic.work_done import RunningElastic, WorkDone
    from cosched.coscheduler.events import OverheadsMeasured
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.recording.snapshot import ElasticSnapshot
    from cosched.coscheduler.state import CoreState
    from cosched.prediction.loads.host_load import HostLoad

__all__ = ["BadHosts", "OtherHosts", "link_text", "slow_text"]

_PERIOD = 180.0  # seconds in which a lead should have told of all clusters: the paper's monitoring period


class OtherHosts(NamedTuple):
    """Hosts that workers of a task could go to. Durations are seconds.

    Attributes:
        idle: for how long each idle host is not needed; those that are promised are taken out.
        needed: in how long each host is needed by others; those that are not are left out.
    """

    idle: dict[str, float]
    needed: Mapping[str, float]


class _BadlyPlaced(NamedTuple):
    """A worker that should leave, why, and the cluster that it leaves for its link; empty where it does not."""

    worker: Attempt
    reason: str
    cluster: str = ""


class BadHosts:
    """Has workers of running elastic tasks leave bad hosts.

    Attributes:
        slow: which workers are slow.
        links: which clusters have slow links.
    """

    def __init__(
        self,
        settings: CoreSettings,
        state: CoreState,
        planning_view: PlanningView,
        work: WorkDone,
    ) -> None:
        self.slow = SlowWorkers()
        self.links = ClusterLinks()
        self._acts = settings.trigger is LoadTrigger.ACT
        self._settings = settings.elastic
        self._state = state
        self._interruption = settings.interruption
        self._planning_view = planning_view
        self._work = work

    def load(self, snapshot: ElasticSnapshot) -> None:
        """Go on from a snapshot."""
        self.slow.records = dict(snapshot.speeds)
        self.links.records, self.links.statistics = dict(snapshot.links), dict(snapshot.overheads)

    def keep(self, tasks: Container[str]) -> None:
        """Forget all tasks but these."""
        self.slow.keep(tasks)
        self.links.keep(tasks)

    def report(self, lead: Attempt, event: SpeedsMeasured | OverheadsMeasured) -> None:
        """Take the word of a lead for its workers' speeds or overheads; of those that leave it does not count."""
        hosts = {0: lead.hosts[0]} | {each.worker: each.hosts[0] for each in staying(self._state.workers_of(lead.task))}
        if isinstance(event, SpeedsMeasured):
            speeds: dict[str, float] = {}
            for worker, speed in event.speeds:
                if worker in hosts:  # a shared host with several of them is as quick as the quickest
                    speeds[hosts[worker]] = max(speed, speeds.get(hosts[worker], 0.0))
            self.slow.report(lead.task, speeds, event.time)
            return
        clusters, slow = self._state.hosts.clusters(), self.slow.now(lead.task)
        statistics = []
        for each in event.overheads:
            if (host := hosts.get(each.worker)) is not None:
                overhead, cluster = min(each.idle + each.intra + each.inter, 1.0), clusters.get(host, "")
                inter = min(each.inter, overhead)
                statistics.append(WorkerStatistics(each.worker, host, cluster, slow.get(host, 1.0), overhead, inter))
        stays = clusters.get(lead.hosts[0], "")
        self.links.report(lead.task, statistics, stays, self._settings.link_limit, event.time)

    def avoided(self, task: str, time: float) -> set[str]:
        """Return the hosts that a task keeps away from, those of clusters with slow links among them."""
        away = {**self.links.avoided(task, time), **self.links.now(task)} if self._acts else {}
        far = {host for host, cluster in self._state.hosts.clusters().items() if cluster in away} if away else set()
        return far | self.slow.avoided(task, time).keys()

    def ranks(self, task: str, idle: Iterable[str]) -> dict[str, int]:
        """Return the rank of each idle host for a running task that grows: those near its own come first."""
        lead = self._state.attempt_of(task)
        own = [] if lead is None else [lead.hosts[0]]
        held = own + [each.hosts[0] for each in staying(self._state.workers_of(task))]
        return cluster_ranks(idle, held, self._state.hosts.clusters())

    def leave(
        self,
        others: Callable[[str], OtherHosts],
        cost: float,
        time: float,
        may_grow: Callable[[RunningElastic, float], bool],
        order: Callable[[Attempt, str, float], None],
    ) -> None:
        """Have workers leave.

        Args:
            others: returns where workers of a task could go.
            cost: seconds that leaving a host and beginning on another one take.
            time: epoch seconds.
            may_grow: whether a worker of a task can be started now.
            order: has a worker on a lent host leave, for a reason.
        """
        if not self._acts or not (self._state.hosts.loads or self.slow.records or self.links.records):
            return
        for name in self._state.elastic:
            running, work = running_elastic(self._state, name), self._work.records.get(name)
            if running is None or work is None or time < work.settled:
                continue
            settle = self._settings.of(running.task.spec.application, running.task.owner).settle
            # A cluster whose link seems slow has the first claim on other hosts, once that is proved.
            doubtful = bool(self.links.now(name).keys() - self.links.proved(name, settle).keys())
            for each in self._badly_placed(running, cost, time):
                if not (each.worker.loan or each.cluster) and (doubtful or self._waits(running, each.worker, time)):
                    continue
                if each.worker.loan:
                    order(each.worker, each.reason, time)
                    self._note(each, each.reason, time)
                elif (instead := self._instead(name, there := others(name), time, may_grow)) is not None:
                    there.idle.pop(instead, None)
                    self._promise_instead(each.worker, instead, each.reason, time, order)
                    self._note(each, f"{each.reason}; {instead} is promised instead", time)

    def _waits(self, running: RunningElastic, worker: Attempt, time: float) -> bool:
        """Return whether a slow worker stays until each cluster has been heard of, for a period at most.

        Speeds show sooner than links: without it slow workers take the hosts that a cluster with a slow link needs
        more. The paper's coordinator hears of both at once, and judges the cluster first (section 3.3).
        """
        heard = {each.cluster for each in self.links.statistics.get(running.task.id, ())}
        since = self.slow.records[running.task.id].since if running.task.id in self.slow.records else {}
        if not heard or time >= since.get(worker.hosts[0], -math.inf) + _PERIOD:
            return False
        clusters = self._state.hosts.clusters()
        working = [each.hosts[0] for each in staying(running.workers) if each.state is AttemptState.RUNNING]
        return bool({clusters.get(host, "") for host in working} - heard - {""})

    def _badly_placed(self, running: RunningElastic, cost: float, time: float) -> list[_BadlyPlaced]:
        """Return the workers that should leave, and why each of them."""
        loads, terms = self._state.hosts.loads, self._settings.of(running.task.spec.application, running.task.owner)
        usual, slow = _lost(running.lead.hosts[0], loads), self.slow.proved(running.task.id, terms.settle)
        left, clusters = expected_end(running.lead, time) - time, self._state.hosts.clusters()
        links = self.links.proved(running.task.id, terms.settle)
        # One at a time: without it others may communicate less.
        severed = max(links, key=lambda name: (links[name], name), default="")
        if severed and left * links[severed] < terms.payback * cost:
            severed = ""
        found: list[_BadlyPlaced] = []
        for worker in running.workers:
            (host,) = worker.hosts
            if worker.leaves:
                continue
            if _lost(host, loads) > usual:
                found.append(_BadlyPlaced(worker, load_text(worker.hosts, loads)))
            elif severed and clusters.get(host) == severed:
                found.append(_BadlyPlaced(worker, link_text(severed, links[severed]), severed))
            elif (part := slow.get(host, 1.0)) < 1 and left * (1 - part) >= terms.payback * cost:
                found.append(_BadlyPlaced(worker, slow_text(host, part)))
        return sorted(found, key=lambda each: not each.cluster)  # those of the cluster first: other hosts may be few

    def _instead(
        self, name: str, others: OtherHosts, time: float, may_grow: Callable[[RunningElastic, float], bool]
    ) -> str | None:
        """Return a host that can be promised to a running task in place of a bad one; an idle one before a lent one."""
        running = running_elastic(self._state, name)
        assert running is not None
        kinds, left = self._planning_view.classes(), expected_end(running.lead, time) - time
        kind, loads = kinds.get(running.lead.hosts[0], ""), self._state.hosts.loads
        bad = self.avoided(name, time) | self.slow.proved(name, 0.0).keys()
        ranks = self.ranks(name, self._state.hosts.hosts)
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
        nearest = min(idle, key=lambda host: (ranks[host], host), default=None)
        return nearest or min(lent, key=lambda host: (ranks[host], host), default=None)

    def _promise_instead(
        self, worker: Attempt, host: str, reason: str, time: float, order: Callable[[Attempt, str, float], None]
    ) -> None:
        """Promise a host in place of a worker's, which leaves."""
        running = running_elastic(self._state, worker.task)
        assert running is not None
        before = self._slowdown(running)
        promised = tuple(host if each == worker.hosts[0] else each for each in running.status.promised)
        self._state.put_attempt(replace(running.lead, lead=replace(running.status, promised=promised)))
        for each in staying(running.workers):
            if each.hosts == (host,):  # it was lent; the lead is charged for it now
                self._state.resizes = self._state.resizes.with_loan_over(each, time)
                self._state.put_attempt(replace(each, loan=False, part=0.0, predicted=None))
                break  # a shared host may have several
        # It leaves as from a loan, which the lead is not charged for any more, nor anybody else.
        order(replace(worker, loan=True), reason, time)
        moved = running_elastic(self._state, worker.task)
        assert moved is not None
        self._work.go_on(moved, self._slowdown(moved) / before, time)

    def _slowdown(self, running: RunningElastic) -> float:
        hosts, loads = running.lead.reckoned_hosts, self._state.hosts.loads
        return slowdown_by_owners(running.task, hosts, loads, self._interruption)

    def _note(self, left: _BadlyPlaced, line: str, time: float) -> None:
        """Log that a worker leaves, and let its task avoid the bad host or link."""
        task, (host,) = left.worker.task, left.worker.hosts
        self._state.note(LogEntry(time, "host left", task, line))
        if left.cluster:
            if left.cluster not in self.links.avoided(task, time):  # once for all of its workers
                self.links.leave(task, left.cluster, time)
        elif host in self.slow.proved(task, 0.0) and host not in self.slow.avoided(task, time):
            self.slow.leave(task, host, time)


def _lost(host: str, loads: Mapping[str, HostLoad]) -> float:
    """Return which part of a host its owner is expected to take."""
    return loads[host].lost if host in loads else 0.0


def slow_text(host: str, part: float) -> str:
    """Say how slow a worker is on its host."""
    return f"its worker on {host} computes {part:.0%} of what its others do"


def link_text(cluster: str, part: float) -> str:
    """Say how slow the link of a cluster is."""
    return f"the workers in cluster {cluster} spend {part:.0%} of their time on communication with other clusters"
