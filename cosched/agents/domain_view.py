"""`DomainView` tells the agent which tasks are late here and which hosts are free."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.agents.protocol.advertised_rooms import advertised_rooms
from cosched.agents.protocol.advertisement import FARTHEST, AdvertisedHostClass, availability_steps, shared_class
from cosched.coscheduler.places.hosts import expected_end
from cosched.coscheduler.places.room_over_time import RoomUse, free_for_good
from cosched.coscheduler.planning.what_if import predict_placement
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cosched.connector.hosts import HostShare
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task

__all__ = ["DomainView", "ExpectedEnd"]


@dataclass(frozen=True, slots=True)
class ExpectedEnd:
    """A waiting task with a deadline, and its planned end here (infinite for never).

    Both times are epoch seconds.
    """

    task: Task
    deadline: float
    end: float

    @property
    def late(self) -> bool:
        """Return whether it will miss its deadline."""
        return self.end > self.deadline


class DomainView:
    """Asks the core; changes nothing."""

    def __init__(self, core: Coscheduler, hardware: str) -> None:
        """Set up.

        Args:
            core: core of the domain.
            hardware: resource model of hosts for which the manager names none.
        """
        self._core = core
        self._hardware = hardware

    def hosts(self) -> int:
        """Return how many hosts the domain has, up or not."""
        return len(self._core.domain.hosts)

    def next_number(self) -> int:
        """Return the number of the next task that is taken in."""
        return self._core.next_number

    def task(self, name: str) -> Task | None:
        """Return a live task."""
        return self._core.tasks.get(name)

    def transit(self) -> list[Task]:
        """Return guests that cannot run here and wait for another domain."""
        return [self._core.tasks[name] for name in self._core.in_transit]

    def waits(self, name: str) -> bool:
        """Return whether a task waits here, so that it could be handed over."""
        task = self._core.tasks.get(name)
        if task is None or task.status.state is not TaskState.QUEUED or task.status.held_by:
            return False
        if self._core.predecessors(name):
            return False
        return self._core.attempt_of(name) is None

    def ends(self, time: float) -> dict[str, float]:
        """Return the expected ends of live tasks here, epoch seconds, as far as known."""
        live = self._core.attempts.values()
        found = {attempt.task: expected_end(attempt, time) for attempt in live if not attempt.worker}
        forecast = self._core.planning_view.forecast(time)
        if forecast is not None:
            found |= {spot.task: time + spot.end for spot in forecast[1].assignments}
        return found

    def expected(self, time: float) -> list[ExpectedEnd]:
        """Return the waiting tasks that have deadlines, in the plan's order.

        What comes after tasks of ours stays with them until they have completed. What may not begin yet, or what no
        other domain may have, stays, too.
        """
        waiting = [self._core.tasks[name] for name in self._core.plan.tasks]
        asked = [
            (task, task.spec.deadline)
            for task in waiting
            if task.spec.deadline is not None
            and not task.stays
            and (task.spec.begin or 0.0) <= time
            and self._core.staged(task, time)
            and not self._core.predecessors(task.id)
        ]
        if not asked:
            return []
        ends = self.ends(time)
        return [ExpectedEnd(task, deadline, ends.get(task.id, math.inf)) for task, deadline in asked]

    def place(self, task: Task, time: float, booked: Sequence[Task]) -> float:
        """Return when one more task would end here without making others late.

        It is epoch seconds, infinite for never.
        """
        spot = predict_placement(self._core, task, time, booked)
        if spot is not None and spot.effect.made_late:
            spot = predict_placement(self._core, task, time, booked, jumps=False)
        return math.inf if spot is None else spot.end

    def classes(self, time: float, booked: Sequence[Task]) -> tuple[AdvertisedHostClass, ...]:
        """Return free hosts over time by class, after the plan and all bookings; of shared ones their rooms."""
        if self._core.domain.shared:
            return self._shared_classes(time, booked)
        free = dict.fromkeys(self._core.domain.up(), 0.0)
        free |= {host: end - time for host, end in self._core.planning_view.taken(time).items() if host in free}
        forecast = self._core.planning_view.forecast(time)
        for spot in () if forecast is None else forecast[1].assignments:
            free |= {host: max(free[host], spot.end) for host in spot.hosts}
        for task in booked:
            spot_booked = predict_placement(self._core, task, time)
            if spot_booked is not None:
                free |= {host: max(free.get(host, 0.0), spot_booked.end - time) for host in spot_booked.hosts}
        of_class = self._by_class(free)
        return tuple(
            AdvertisedHostClass(hardware, availability_steps(min(free[host], FARTHEST) for host in hosts))
            for hardware, hosts in of_class.items()
        )

    def _by_class(self, hosts: Iterable[str]) -> dict[str, list[str]]:
        """Return hosts by the resource model of their class, sorted by that."""
        kinds, found = self._core.domain.classes(), dict[str, list[str]]()
        for host in hosts:
            found.setdefault(kinds[host] or self._hardware, []).append(host)
        return dict(sorted(found.items()))

    def _shared_classes(self, time: float, booked: Sequence[Task]) -> tuple[AdvertisedHostClass, ...]:
        domain = self._core.domain
        uses: dict[str, list[RoomUse]] = {host: [] for host in domain.up()}

        def use(hosts: Iterable[str], begin: float, end: float, share: HostShare | None) -> None:
            for host in hosts:
                if host in uses:
                    part = domain.size(host) if share is None or not domain.parted(host) else share
                    uses[host].append(RoomUse(begin, end, part))

        for host, end in self._core.planning_view.taken(time).items():
            use((host,), 0.0, end - time, None)
        for host, until, share in domain.held(self._core.attempts.values(), time):
            use((host,), 0.0, until - time, share)
        forecast = self._core.planning_view.forecast(time)
        for spot in () if forecast is None else forecast[1].assignments:
            shape = domain.planned_shape(self._core.tasks[spot.task], spot)
            use(spot.hosts, spot.start, spot.end, domain.share_of(shape.spec))
        for task in booked:
            place = predict_placement(self._core, task, time)
            if place is not None:
                shape = task.shaped(place.cores, [domain.hosts[host] for host in place.hosts])
                use(place.hosts, place.start - time, place.end - time, domain.share_of(shape.spec))
        return tuple(
            shared_class(
                hardware,
                advertised_rooms(
                    [(min(begin, FARTHEST), share) for begin, share in free_for_good(domain.size(host), uses[host])]
                    for host in hosts
                ),
                domain.memory_per_core or 0,
            )
            for hardware, hosts in self._by_class(uses).items()
        )
