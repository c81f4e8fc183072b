"""Free room on shared hosts over time, beside running and planned tasks. Times are seconds from now.

Start at `SpareRoom`: which share fits onto a host, and until when. `kept_for` says why one that fits does not start.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from cosched.connector.hosts import HostShare

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cosched.coscheduler.places.hosts import DomainHosts
    from cosched.coscheduler.task import Task
    from cosched.scheduling.schedule import Assignment

__all__ = ["PlannedShare", "SpareRoom", "kept_for", "planned_shares"]

_NOTHING = HostShare()


class PlannedShare(NamedTuple):
    """A share of a host that a task is planned to take; times are seconds from now."""

    task: str
    host: str
    start: float
    end: float
    share: HostShare


class _Step(NamedTuple):
    """Free share of a host from a time on, until the next step or longer; `why`: who takes of it then."""

    time: float
    left: HostShare
    why: PlannedShare | None


class SpareRoom:
    """Free room of shared hosts beside running and planned tasks."""

    def __init__(
        self,
        sizes: Mapping[str, HostShare],
        held: Iterable[tuple[str, float, HostShare]],
        planned: Iterable[PlannedShare] = (),
    ) -> None:
        """Begin with the shares that are held and planned.

        Args:
            sizes: what each host has; others have nothing.
            held: host, seconds until its end and share of what is there.
            planned: what is to be taken.
        """
        self._sizes = sizes
        self._held: dict[str, list[tuple[float, HostShare]]] = {}
        for host, until, share in held:
            self._held.setdefault(host, []).append((until, share))
        self._planned: dict[str, list[PlannedShare]] = {}
        for each in planned:
            self._planned.setdefault(each.host, []).append(each)
        self._known: dict[str, list[_Step]] = {}

    def take(self, host: str, share: HostShare) -> None:
        """Take of a host now, for good."""
        self._held.setdefault(host, []).append((math.inf, share))
        self._known.pop(host, None)

    def plan(self, each: PlannedShare) -> None:
        """Plan to take of a host."""
        self._planned.setdefault(each.host, []).append(each)
        self._known.pop(each.host, None)

    def conflict(self, host: str, share: HostShare, seconds: float = math.inf) -> PlannedShare | None:
        """Return the first planned share that would not fit beside one more that is taken now for so long."""
        for step in self._steps(host):
            if step.why is not None and step.time < seconds and not share.within(step.left):
                return step.why
        return None

    def until(self, host: str, share: HostShare) -> float:
        """Return for how many seconds from now a share fits; 0 where it does not fit now."""
        return next((step.time for step in self._steps(host) if not share.within(step.left)), math.inf)

    def places(self, host: str, share: HostShare, most: int) -> list[float]:
        """Return for how many seconds each of several equal shares fits beside the others, the longest first.

        Args:
            host: where.
            share: something of a host.
            most: how many are of use.
        """
        found: list[float] = []
        for step in self._steps(host):
            fit = min(_times(share, step.left), most)
            if fit < most - len(found):
                found += [step.time] * (most - len(found) - fit)
        found += [math.inf] * (most - len(found))
        return [seconds for seconds in reversed(found) if seconds > 0]

    def roomiest(self, shares: Mapping[str, HostShare]) -> str | None:
        """Return the host that has most free cores now, of those where its share fits; None where there is none."""
        left = {host: self._steps(host)[0].left for host in shares}
        fitting = [host for host, share in shares.items() if share.within(left[host])]
        return max(fitting, key=lambda host: (left[host].cores, host), default=None)

    def _steps(self, host: str) -> list[_Step]:
        """Return the free shares of a host over time, a step for each planned task."""
        if (known := self._known.get(host)) is not None:
            return known
        held = self._held.get(host, [])
        planned = sorted(self._planned.get(host, ()), key=lambda each: each.start)
        left = self._sizes.get(host, _NOTHING)
        for _, share in held:
            left -= share
        ends = sorted([*held, *[(each.end, each.share) for each in planned]], key=lambda end: end[0])
        steps, over = [_Step(0.0, left, None)], 0
        for each in planned:
            while over < len(ends) and ends[over][0] <= each.start:
                left += ends[over][1]
                over += 1
            left -= each.share
            steps.append(_Step(max(each.start, 0.0), left, each))
        self._known[host] = steps
        return steps


def _times(share: HostShare, left: HostShare) -> int:
    """Return how many times a share fits into a free one."""
    pairs = ((share.cores, left.cores), (share.memory, left.memory), (share.gpus, left.gpus))
    return max(min(had // wanted for wanted, had in pairs if wanted), 0)


def planned_shares(
    places: Iterable[Assignment], tasks: Mapping[str, Task], domain: DomainHosts
) -> Iterator[PlannedShare]:
    """Yield what waiting tasks take of each of their hosts in a decoded plan."""
    for place in places:
        share = domain.share_of(domain.planned_shape(tasks[place.task], place).spec)
        for host in place.hosts:
            yield PlannedShare(place.task, host, place.start, place.end, domain.taken(host, share))


def kept_for(share: HostShare, seconds: float, left: Mapping[str, HostShare], room: SpareRoom) -> PlannedShare | None:
    """Return the planned task for which room is kept that others would fit into now.

    Args:
        share: what would be taken of one host.
        seconds: for how long it would be taken, from now.
        left: what is free of each host now.
        room: beside what is there and what others are planned to take.

    Returns:
        The first to start of those that would find too little, one for the host that is kept from then on the latest;
        None where room that is free now stays so for long enough, or where there is none.
    """
    found: list[PlannedShare] = []
    for host in (name for name, free in left.items() if share.within(free)):
        first = room.conflict(host, share, seconds)
        if first is None:
            return None
        found.append(first)
    return max(found, key=lambda each: each.start, default=None)
