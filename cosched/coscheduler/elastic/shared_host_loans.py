"""Which lent places on shared hosts the plan needs back, and which are idle.

A place is the share of one host that a worker takes. The plan is fixed when it is looked at: what it leaves of a host
beside all that is there is idle until the first planned task would find too little. Start at `SharedHostLoans`, made
anew at each look; where each host is one task's, see `whole_host_loans.py`.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cosched.connector.hosts import HostShare
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.dispatching.immediate_starts import NOW
from cosched.coscheduler.elastic.bad_hosts import OtherHosts
from cosched.coscheduler.elastic.host_loans import NeededBack
from cosched.coscheduler.places.spare_room import PlannedShare, SpareRoom, planned_shares
from cosched.coscheduler.reservations import without_distant_reservations
from cosched.scheduling.decoding.decoder import decode, dependency_order
from cosched.scheduling.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.dispatching.planned_starts import PlanInForce
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import TaskSpec
    from cosched.scheduling.problem import Problem
    from cosched.scheduling.schedule import Assignment

__all__ = ["SharedHostLoans", "SharedPlaces", "first_places"]

_FIRST = 32  # tasks of a plan that are decoded first, then four times as many
_AHEAD = 60.0  # seconds for which it must be known who starts where; loans are shorter where tasks come later


class SharedHostLoans:
    """Places on shared hosts at one look at the plan."""

    def __init__(
        self,
        state: CoreState,
        queue: TaskQueue,
        view: PlanningView,
        known: PlanInForce | None,
        drain: float,
        time: float,
    ) -> None:
        """Look at the plan.

        Args:
            state: hosts, attempts and reservations.
            queue: what waits.
            view: the plan.
            known: the plan as it was before any task left, to be taken where none has; None where it is not known.
            drain: seconds that leaving takes: what is needed sooner is not lent, so that nobody starts later for it.
            time: now, epoch seconds.
        """
        self._drain = drain
        self._state = state
        self._queue = queue
        self._view = view
        self._known = known
        self._time = time
        self._reserved = state.reservations.needed(time)
        self._sizes = {host: state.hosts.size(host) for host in state.hosts.mine()}
        self._anywhere: list[PlannedShare] = []  # room for tasks whose hosts the manager chooses
        self._gaps: list[PlannedShare] = []  # for tasks that would leave before all others, if nothing were lent

    @cached_property
    def _planned(self) -> list[PlannedShare]:
        """Shares that waiting tasks are planned to take, but for the last in the plan that start later than matters."""
        if (planned := self._in_force()) is None:
            return []
        longest = max([each.predicted or 0.0 for each in self._state.attempts.values() if each.loan], default=0.0)
        places = first_places(*planned, max(_AHEAD, self._drain, longest))
        return list(planned_shares(places, self._state.tasks, self._state.hosts))

    def _in_force(self) -> tuple[Problem, Plan] | None:
        """Return what waits and its plan; None where nothing does."""
        known = self._known
        if known is None or not known.holds(self._state.attempts.values()):
            return self._view.planned(self._time)
        return without_distant_reservations(known.problem, known.plan), known.plan

    def needed_back(self, lent: Sequence[Attempt], ready: Callable[[str], bool]) -> list[NeededBack]:
        """Return the workers that leave lent places now, and why.

        Those leave that would be in the way of what starts within the seconds that leaving takes, the last ones first.

        Args:
            lent: the workers on lent places, in order; none that is being ended.
            ready: whether a waiting task may leave.
        """
        staying = [worker for worker in lent if worker.leave_by is None]
        self._anywhere = list(self._placed_anywhere(staying))
        soon = self._soon(staying, ready) if staying else []
        self._gaps = list(self._in_gaps({each.task for each in soon}))
        if not staying:
            return []
        room = SpareRoom(self._sizes, self._held(lent=False), [*soon, *self._gaps, *self._anywhere])
        found: list[NeededBack] = []
        for worker in staying:
            (host,) = worker.hosts
            share = self._state.hosts.taken(host, worker.share)
            if self._reserved.get(host, math.inf) <= (worker.predicted or 0.0):
                found.append(NeededBack(worker, f"{host} is reserved for others"))
            elif (first := room.conflict(host, share)) is None:
                room.take(host, share)
            elif first.task:
                found.append(NeededBack(worker, f"task {first.task} starts on {host}", first.task))
            else:
                found.append(NeededBack(worker, "its place is needed for a task that no plan places"))
        return found

    @property
    def idle_hosts(self) -> list[str]:
        """The hosts with a free core."""
        full = self._state.hosts.full(self._state.attempts.values())
        return [host for host in self._sizes if host not in full]

    def others(self, task: str) -> OtherHosts:
        """Return the hosts that workers of a task could go to: those on which it has none."""
        room, spec = self._room(), self._state.tasks[task].spec
        lead = self._state.attempt_of(task)
        mine = set() if lead is None else set(lead.reckoned_hosts)
        idle = {
            host: seconds for host in self._sizes if host not in mine and (seconds := self._until(room, host, spec))
        }
        stay = {host: room.until(host, HostShare()) for host in self._sizes if host not in mine}
        return OtherHosts(idle, {**dict.fromkeys(mine, 0.0), **stay, **idle})

    def idle(self, allowed: Mapping[str, Sequence[str]]) -> SharedPlaces:
        """Return the places that can be lent.

        Args:
            allowed: the hosts that may be lent to each task, by its name, the preferred ones first.
        """
        domain, now = self._state.hosts, SpareRoom(self._sizes, self._held(lent=True))
        shares: dict[str, dict[str, HostShare]] = {}
        for task, hosts in allowed.items():
            share = domain.share_of(self._state.tasks[task].spec)
            taken = {host: domain.taken(host, share) for host in hosts if host in self._sizes}
            shares[task] = {host: each for host, each in taken.items() if now.until(host, each) > 0}
        # Where nothing is free now, as where many wait, the plan need not be decoded.
        return SharedPlaces(self._room() if any(shares.values()) else now, shares, self._drain)

    def _until(self, room: SpareRoom, host: str, spec: TaskSpec) -> float:
        return room.until(host, self._state.hosts.taken(host, self._state.hosts.share_of(spec)))

    def _room(self) -> SpareRoom:
        """Return the room beside all that is there and planned; lent places that stay are reckoned to stay for good."""
        shut = self._view.shut(self._time)
        sizes = {host: size for host, size in self._sizes.items() if host not in shut}
        reserved = [
            PlannedShare("", host, seconds, math.inf, sizes[host])
            for host, seconds in self._reserved.items()
            if host in sizes
        ]
        return SpareRoom(sizes, self._held(lent=True), [*self._planned, *self._gaps, *self._anywhere, *reserved])

    def _held(self, *, lent: bool) -> list[tuple[str, float, HostShare]]:
        """Return all shares that are held: host, seconds until its end, share.

        Args:
            lent: with lent places; those that stay have no end.
        """
        domain, time = self._state.hosts, self._time
        handover = self._state.corrections.dispatch_latency.seconds
        rest = [each for each in self._state.attempts.values() if not each.loan]
        found = [(each.host, each.until - time, each.share) for each in domain.held(rest, time, handover)]
        whole = domain.occupied(rest, time, handover)
        found += [(host, until - time, domain.taken(host, None)) for host, until in whole.items()]
        for each in self._state.attempts.values() if lent else ():
            if each.loan and each.takes_hosts:
                stays = each.leave_by is None and each.state is not AttemptState.CANCELLING
                until = math.inf if stays else each.predicted or 0.0
                found += [(host, until, domain.taken(host, each.share)) for host in each.hosts]
        return found

    def _soon(self, staying: Iterable[Attempt], ready: Callable[[str], bool]) -> list[PlannedShare]:
        """Return the shares of tasks that start within the seconds in which workers can leave their hosts."""
        leaving: dict[str, float] = {}
        for worker in staying:
            leaving[worker.hosts[0]] = max(leaving.get(worker.hosts[0], 0.0), worker.predicted or 0.0)
        within: dict[str, float] = {}
        for each in self._planned:
            within[each.task] = max(within.get(each.task, 0.0), leaving.get(each.host, 0.0))
        may_leave = {each.task for each in self._planned if each.start <= within[each.task] + NOW}
        may_leave = {task for task in may_leave if ready(task)}
        return [each for each in self._planned if each.task in may_leave]

    def _in_gaps(self, soon: Collection[str]) -> Iterator[PlannedShare]:
        """Yield the shares of tasks that would leave now, if nothing were lent, and are not planned to start soon."""
        domain = self._state.hosts
        for start in self._known.gaps if self._known is not None else ():
            if start.task in soon or start.task not in self._queue.planned:
                continue
            shape = self._state.tasks[start.task].shaped(start.cores, [domain.hosts[host] for host in start.hosts])
            share = domain.share_of(shape.spec)
            for host in start.hosts:
                yield PlannedShare(start.task, host, 0.0, start.seconds, domain.taken(host, share))

    def _placed_anywhere(self, staying: Iterable[Attempt]) -> Iterable[PlannedShare]:
        """Yield room for tasks whose hosts the manager chooses: beside lent places, or in place of some."""
        domain = self._state.hosts
        wanted: list[TaskSpec] = []
        for each in self._state.attempts.values():
            if not (each.hosts or each.started):
                wanted += [self._state.tasks[each.task].spec] * each.count
        for name in self._queue.unmodelled(self._time, len(self._sizes)):
            wanted += [self._state.tasks[name].spec] * self._state.tasks[name].spec.count
        if not wanted:
            return
        without, beside = (SpareRoom(self._sizes, self._held(lent=False)) for _ in range(2))
        for worker in staying:
            beside.take(worker.hosts[0], domain.taken(worker.hosts[0], worker.share))
        for spec in wanted:
            shares = {host: domain.taken(host, domain.share_of(spec)) for host in self._sizes}
            host = beside.roomiest(shares) or without.roomiest(shares)
            if host is not None:
                for room in (beside, without):
                    room.take(host, shares[host])
                yield PlannedShare("", host, 0.0, math.inf, shares[host])


def first_places(problem: Problem, plan: Plan, ahead: float) -> Sequence[Assignment]:
    """Decode a plan on shared hosts as far as tasks may start within so many seconds from now.

    Where thousands wait, few do: what is left of hosts for good falls with each task that is placed, and the rest of
    the plan counts no more once nobody of it would find enough.
    """
    packing, order = problem.packing, np.array(dependency_order(problem, plan.order.tolist()), dtype=np.int64)
    assert packing is not None, "hosts are shared"
    number, first = {host: place for place, host in enumerate(problem.hosts)}, _FIRST
    while True:
        places = decode(problem, Plan(order[:first], plan.counts, plan.classes)).assignments
        if first >= len(order) or problem.unavailability:
            return places if first >= len(order) else decode(problem, plan).assignments
        left = np.where((problem.free <= ahead)[:, np.newaxis], packing.capacity, 0)
        for held in packing.held:
            if held.until > ahead:
                left[held.host] -= held.taken
        for place in places:
            if place.end > ahead:
                left[[number[host] for host in place.hosts]] -= place.taken
        wanted = np.unique(packing.demand[plan.counts[order[first:]]], axis=0)
        if not (left[np.newaxis] >= wanted[:, np.newaxis]).all(axis=2).any():
            return places
        first *= 4


class SharedPlaces:
    """Places that can be lent, of another share for each task."""

    def __init__(self, room: SpareRoom, shares: Mapping[str, Mapping[str, HostShare]], least: float) -> None:
        """Begin with the idle room of each host.

        Args:
            room: what is left beside all that is there and planned.
            shares: what a worker of each task takes of each host that may be lent to it, the preferred ones first.
            least: seconds for which a place must be idle.
        """
        self._least = least
        self._room = room
        self._shares = shares

    def of(self, task: str, most: int) -> list[tuple[str, float]]:
        """Return the hosts of places for so many workers of a task, and their seconds; the longest first."""
        found = [
            (host, seconds)
            for host, share in self._shares[task].items()
            for seconds in self._room.places(host, share, most)
            if seconds >= self._least
        ]
        return sorted(found, key=lambda place: -place[1])[:most]

    def take(self, task: str, hosts: Iterable[str]) -> None:
        """Lend places of these hosts to a task; a host may be named several times."""
        for host in hosts:
            self._room.take(host, self._shares[task][host])
