"""Advertised rooms: how much of hosts that tasks share is free over time, in cores, memory and GPUs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from cosched.connector.hosts import HostShare

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["AdvertisedRoom", "RoomStep", "advertised_rooms", "debited_rooms"]

_MAX_ROOMS = 64  # of a class, that differ
_MAX_STEPS = 16  # of a room
_PLENTY = 1 << 30  # MiB: as much as a task may ask for


@dataclass(frozen=True, slots=True)
class RoomStep:
    """Free cores, memory (MiB) and GPUs of a host, for good from `after` seconds on."""

    after: float
    cores: int
    memory: int
    gpus: int

    @property
    def share(self) -> HostShare:
        """The amounts."""
        return HostShare(self.memory, self.cores, self.gpus)


@dataclass(frozen=True, slots=True)
class AdvertisedRoom:
    """A number of hosts of which the same is free.

    Attributes:
        hosts: how many.
        steps: growing with time; the last one has all of a host.
    """

    hosts: int
    steps: tuple[RoomStep, ...]

    def __post_init__(self) -> None:
        if not self.steps or any(a.after > b.after or not a.share.within(b.share) for a, b in pairwise(self.steps)):
            raise ValueError("what is free of hosts does not grow with time")

    @property
    def size(self) -> HostShare:
        """All that each of the hosts has."""
        return self.steps[-1].share

    def free_from(self, share: HostShare | None) -> float:
        """Return when each host has a share free for good, in seconds; for None, when it is wholly free.

        It is infinite where the hosts have less.
        """
        if share is None:
            return self.steps[-1].after
        return next((step.after for step in self.steps if share.within(step.share)), math.inf)

    def at(self, time: float) -> HostShare:
        """Return what is free of each host after so many seconds."""
        return next((step.share for step in reversed(self.steps) if step.after <= time), HostShare())


def advertised_rooms(hosts: Iterable[Sequence[tuple[float, HostShare]]]) -> tuple[AdvertisedRoom, ...]:
    """Return the rooms of hosts.

    At most 64 of at most 16 steps: beyond that less is told than is free, so that nothing is promised too early.

    Args:
        hosts: of each the times, ascending from now, and what is free of it from each on.
    """
    return _few(Counter(_steps(each) for each in hosts))


def debited_rooms(
    rooms: Iterable[AdvertisedRoom], share: HostShare | None, hosts: int, end: float
) -> tuple[AdvertisedRoom, ...]:
    """Return the rooms once a task has so much (None: all) of some hosts until `end`, in seconds.

    It takes those that have room first; of these, those on which it leaves the fewest cores.
    """
    found, left = Counter[tuple[RoomStep, ...]](), hosts

    def place(room: AdvertisedRoom) -> tuple[float, int]:
        begin = room.free_from(share)
        return begin, room.at(begin).cores

    for room in sorted(rooms, key=place):
        count = min(left, room.hosts) if math.isfinite(room.free_from(share)) else 0
        left -= count
        if count:
            found[_without(room, share, end)] += count
        if room.hosts > count:
            found[room.steps] += room.hosts - count
    return _few(found)


def _few(hosts: Counter[tuple[RoomStep, ...]]) -> tuple[AdvertisedRoom, ...]:
    """Return a room for each kind of steps; where these are too many, two like ones become one."""
    rooms = [AdvertisedRoom(count, steps) for steps, count in hosts.items()]
    rooms.sort(key=lambda room: [(step.after, -step.cores, -step.memory, -step.gpus) for step in room.steps])
    while len(rooms) > _MAX_ROOMS:
        rooms = [_merged(rooms[place : place + 2]) for place in range(0, len(rooms), 2)]
    return tuple(rooms)


def _without(room: AdvertisedRoom, share: HostShare | None, end: float) -> tuple[RoomStep, ...]:
    """Return a room's steps with a share taken until `end`."""
    taken = room.size if share is None else share
    steps = [(step.after, _difference(step.share, taken)) for step in room.steps if step.after < end]
    later = [(step.after, step.share) for step in room.steps if step.after > end]
    return _steps([*steps, (end, room.at(end)), *later])


def _difference(had: HostShare, taken: HostShare) -> HostShare:
    return HostShare(max(had.memory - taken.memory, 0), max(had.cores - taken.cores, 0), max(had.gpus - taken.gpus, 0))


def _steps(free: Sequence[tuple[float, HostShare]]) -> tuple[RoomStep, ...]:
    """Return times and free shares as steps, without those that have no core; the last one stays."""
    last = len(free) - 1
    found = [
        RoomStep(after, share.cores, min(share.memory, _PLENTY), share.gpus)
        for place, (after, share) in enumerate(free)
        if share.cores or place == last
    ]
    while len(found) > _MAX_STEPS:
        found = [step for place, step in enumerate(found) if place % 2 == (len(found) - 1) % 2]
    return tuple(found)


def _merged(rooms: Sequence[AdvertisedRoom]) -> AdvertisedRoom:
    """Return rooms as one that has at each time what each of them has."""
    times = sorted({step.after for room in rooms for step in room.steps})
    least = [(time, _least([room.at(time) for room in rooms])) for time in times]
    return AdvertisedRoom(sum(room.hosts for room in rooms), _steps(least))


def _least(shares: Sequence[HostShare]) -> HostShare:
    return HostShare(
        min(each.memory for each in shares), min(each.cores for each in shares), min(each.gpus for each in shares)
    )
