"""Tasks that leave now for hosts that they share: a plan becomes dispatches.

Start at `starts_on_shared_hosts`. The plan is decoded only as far as it decides who leaves. Whoever leaves fits beside
what attempts and others hold in fact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.coscheduler.dispatching.immediate_starts import NOW, ImmediateStart, may_start
from cosched.coscheduler.places.licences import LicenceTimeline
from cosched.scheduling.decoding.decoder import dependency_order
from cosched.scheduling.decoding.rooms import rooms_of
from cosched.scheduling.decoding.stairs import free_licences
from cosched.scheduling.packing import scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.decoding.rooms import Room
    from cosched.scheduling.packing import Packing
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["starts_on_shared_hosts"]

_DEPTH = 32  # tasks that wait for hosts and keep a place for later; those behind only take what they can have now
_GAPS = 64  # gaps before planned tasks that are tried at an event


class _Request(NamedTuple):
    """Hosts and shares of a planned task.

    Attributes:
        task: its index.
        hosts: how many.
        demand: amounts of each host, in the decoder's units (`packing.scaled`).
        seconds: run time by class of host.
        cores: of each host, as people count them.
    """

    task: int
    hosts: int
    demand: list[int]
    seconds: list[float]
    cores: int


def starts_on_shared_hosts(
    problem: Problem, packing: Packing, plan: Plan, ready: Callable[[str], bool], *, late: float = 0.0
) -> list[ImmediateStart]:
    """Choose the tasks that leave now.

    First those that are planned to start now. Then, in planned order, those that fit into a gap: they end before the
    plan needs what they take. So a task that waits for hosts blocks nobody, and nobody delays it.

    Args:
        problem: what waits.
        packing: its packing.
        plan: the plan in force.
        ready: whether a task may leave yet.
        late: seconds that each may begin later and be in nobody's way; others are left out.
    """
    able = may_start(problem)
    if not able.any():
        return []
    departures = _Departures(problem, scaled(packing), plan, able, packing.demand[plan.counts, 0].tolist())
    departures.follow(ready)
    departures.fill(ready)
    return [each for each in departures.leaving if departures.may_be_late(each, late)] if late else departures.leaving


class _Departures:
    """Follows a plan from its first task on, and keeps the free share of each host."""

    def __init__(
        self, problem: Problem, packing: Packing, plan: Plan, able: NDArray[np.bool_], cores: list[int]
    ) -> None:
        self.leaving: list[ImmediateStart] = []
        self._problem = problem
        self._able = able.tolist()
        self._order = dependency_order(problem, plan.order.tolist())
        hosts, demand = packing.hosts[plan.counts], packing.demand[plan.counts]
        seconds = packing.seconds[plan.counts]
        self._columns = hosts.tolist(), demand.tolist(), seconds.tolist(), cores
        self._rooms = rooms_of(problem, packing)
        self._free_licences, self._licence_uses = free_licences(problem), LicenceTimeline.of(problem)
        self._in_use: dict[int, list[tuple[float, float, Sequence[int]]]] = {}  # host → begin, end, amounts
        self._free = np.where((problem.free <= NOW)[:, np.newaxis], packing.capacity, 0)
        for host, until, taken in packing.held:
            self._use([host], 0.0, until, taken)
        if packing.held:
            np.subtract.at(self._free, [each.host for each in packing.held], [each.taken for each in packing.held])
        self._capacity = packing.capacity.tolist()
        self._gone = {period.host: period.begin for period in reversed(problem.unavailability)}
        self._kinds = _RequestKinds(able, hosts, demand)
        self._waiting: list[tuple[int, float]] = []  # tasks that are placed later, with their planned ends
        self._unplaced: list[int] = []

    def _request(self, task: int) -> _Request:
        hosts, demand, seconds, cores = self._columns
        return _Request(task, hosts[task], demand[task], seconds[task], cores[task])

    def follow(self, ready: Callable[[str], bool]) -> None:
        """Place tasks in order, until none of those behind could start now."""
        problem, kinds = self._problem, self._kinds
        offer = _RoomByKind(kinds.demands, np.array([room.at(NOW) for room in self._rooms.all]))
        before = problem.depends_on or ((),) * len(problem.tasks)
        release, ends = problem.release.tolist(), [0.0] * len(problem.tasks)
        changed = True
        for number, task in enumerate(self._order):
            if changed and not kinds.any_suits(offer.counts):
                self._unplaced += self._order[number:]
                return
            request, kind = self._request(task), kinds.take(task)
            changed = kinds.is_last(kind)
            lacks = kind < 0 or offer.counts[kind] < request.hosts or self._licensed_from(task) > NOW
            if len(self._waiting) >= _DEPTH and lacks:
                self._unplaced.append(task)
                continue
            earliest = max([release[task], self._licensed_from(task), *[ends[other] for other in before[task]]])
            start, end, rooms = self._rooms.first_to_end(request.seconds, request.demand, request.hosts, earliest)
            if not rooms:  # no host that stays has room for it
                continue
            ends[task] = end
            hosts = [self._rooms.all[room].host for room in rooms]
            if self._free_licences is not None:
                self._free_licences.take(task, start, end)
            if start > NOW or not self._leaves(request, hosts, end - start, ready):
                self._waiting.append((task, end))
                self._use(hosts, start, end, request.demand)
                self._licence_uses.place(problem.tasks[task], start, end)
            self._rooms.take(rooms, request.demand, start, end)
            for room in rooms:
                changed |= offer.change(room, self._rooms.all[room].at(NOW))

    def fill(self, ready: Callable[[str], bool]) -> None:
        """Have tasks leave for gaps: before what is planned, and for those not placed yet before all that could be."""
        offer, kinds = _RoomByKind(self._kinds.demands, self._free), self._kinds
        suits = kinds.suiting(offer.counts)
        tries, too_long = _GAPS, dict.fromkeys(range(len(suits)), math.inf)
        placed = [(task, end) for task, end in self._waiting if self._able[task]]
        unplaced = [(task, math.inf) for task in self._unplaced if self._able[task]]
        for task, end in (*placed, *unplaced) if any(suits) else ():
            kind = kinds.of[task]
            if not suits[kind]:
                continue
            request, name = self._request(task), self._problem.tasks[task]
            quickest = min(request.seconds)
            if quickest >= too_long[kind] or not ready(name):
                continue
            tries -= 1
            if tries < 0:
                return
            first = {room.host: room for room in reversed(self._rooms.all)} if end == math.inf else {}
            hosts, seconds = self._gap(request, quickest if end == math.inf else end, first)
            others = self._free_licences if end == math.inf else None
            if hosts and not self._licence_uses.free(name, seconds, others):
                continue
            if hosts and self._leaves(request, hosts, seconds, ready):
                for host in hosts:
                    offer.change(host, self._free[host])
                suits = kinds.suiting(offer.counts)
            elif end == math.inf:
                too_long[kind] = quickest

    def _gap(self, request: _Request, most: float, first: dict[int, Room]) -> tuple[list[int], float]:
        """Return hosts with room from now on until the task ends, of these the fullest, and its seconds.

        Args:
            request: the task.
            most: seconds in which it must end.
            first: the rooms of hosts whose free places are not to be used either, as others may count on them.
        """
        wanted = np.array(request.demand)
        fits = np.flatnonzero((self._free >= wanted).all(axis=1)).tolist()
        classes = self._problem.host_class.tolist()
        for seconds in sorted({each for each in request.seconds if each <= most and math.isfinite(each)}):
            able = [
                host
                for host in fits
                if request.seconds[classes[host]] <= seconds and self._stays_free(host, request, 0.0, seconds, first)
            ]
            if len(able) >= request.hosts:
                able.sort(key=lambda host: (int((self._free[host] - wanted).sum()), host))
                return able[: request.hosts], seconds
        return [], 0.0

    def _stays_free(self, host: int, request: _Request, begin: float, end: float, first: dict[int, Room]) -> bool:
        """Return whether a host has room for a task between two times, beside planned tasks."""
        if self._gone.get(host, math.inf) < end:
            return False
        used, room = self._in_use.get(host, []), first.get(host)
        times = {begin, *[since for since, _, _ in used if begin < since < end]}
        if room is not None:
            times |= {time for time in room.times() if begin < time < end}
        for time in times:
            left = list(self._capacity[host])
            for since, until, amounts in used:
                if since <= time < until:
                    left = [had - taken for had, taken in zip(left, amounts, strict=True)]
            if room is not None:
                left = [had - kept for had, kept in zip(left, room.at(time), strict=True)]
            if any(had < wanted for had, wanted in zip(left, request.demand, strict=True)):
                return False
        return True

    def may_be_late(self, start: ImmediateStart, late: float) -> bool:
        """Return whether a task that leaves could end so many seconds later, beside all that is planned then."""
        task, end = self._problem.tasks.index(start.task), start.seconds + late
        request, number = self._request(task), {name: host for host, name in enumerate(self._problem.hosts)}
        return all(self._stays_free(number[host], request, start.seconds, end, {}) for host in start.hosts)

    def _leaves(self, request: _Request, hosts: list[int], seconds: float, ready: Callable[[str], bool]) -> bool:
        """Have a task leave for hosts; return whether it does: it may, and they have room in fact."""
        name = self._problem.tasks[request.task]
        wanted = np.array(request.demand)
        if not self._able[request.task] or not (self._free[hosts] >= wanted).all() or not ready(name):
            return False
        self._free[hosts] -= wanted
        self._use(hosts, 0.0, seconds, request.demand)
        self._licence_uses.place(name, 0.0, seconds)
        names = tuple(sorted([self._problem.hosts[host] for host in hosts]))
        self.leaving.append(ImmediateStart(name, names, seconds, request.cores))
        return True

    def _licensed_from(self, task: int) -> float:
        return 0.0 if self._free_licences is None else self._free_licences.free_from(task)

    def _use(self, hosts: Iterable[int], begin: float, end: float, amounts: Sequence[int]) -> None:
        for host in hosts:
            self._in_use.setdefault(host, []).append((begin, end, amounts))


class _RequestKinds:
    """Kinds of requests: tasks that ask for the same have one kind.

    Attributes:
        of: kind of each task that may start.
        demands: (kinds, R) amounts.
    """

    def __init__(self, able: NDArray[np.bool_], hosts: NDArray[np.int64], demand: NDArray[np.int64]) -> None:
        code = hosts.copy()
        for column in demand.T:
            code = code * (int(column.max()) + 1) + column
        _, first, kind = np.unique(code[able], return_index=True, return_inverse=True)
        tasks = np.flatnonzero(able)
        self.of: dict[int, int] = dict(zip(tasks.tolist(), kind.tolist(), strict=True))
        self.demands = demand[tasks[first]]
        self._hosts = hosts[tasks[first]]
        self._left: list[int] = np.bincount(kind, minlength=len(first)).tolist()

    def take(self, task: int) -> int:
        """Return a task's kind, -1 where it may not start, and count it no more."""
        kind = self.of.get(task, -1)
        if kind >= 0:
            self._left[kind] -= 1
        return kind

    def is_last(self, kind: int) -> bool:
        """Return whether no more tasks of a kind are left."""
        return kind >= 0 and not self._left[kind]

    def suiting(self, counts: NDArray[np.int64]) -> list[bool]:
        """Return for which kinds enough hosts have room."""
        found: list[bool] = (counts >= self._hosts).tolist()
        return found

    def any_suits(self, counts: NDArray[np.int64]) -> bool:
        """Return whether a task is left for which enough hosts have room."""
        return any(left and suits for left, suits in zip(self._left, self.suiting(counts), strict=True))


class _RoomByKind:
    """Room for each kind of request.

    Attributes:
        counts: (kinds,) on how many hosts there is room.
    """

    def __init__(self, demands: NDArray[np.int64], amounts: NDArray[np.int64]) -> None:
        self._demands = demands
        self._fits = np.all(amounts[np.newaxis] >= demands[:, np.newaxis], axis=2)
        self.counts = np.sum(self._fits, axis=1)

    def change(self, host: int, amounts: Sequence[int] | NDArray[np.int64]) -> bool:
        """Take note of what a host has now; return whether that suits other kinds than before."""
        fits = (np.asarray(amounts) >= self._demands).all(axis=1)
        changes = fits != self._fits[:, host]
        if not changes.any():
            return False
        self.counts += fits.astype(np.int64) - self._fits[:, host]
        self._fits[:, host] = fits
        return True
