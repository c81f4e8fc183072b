"""Advertised services: free hosts over time for each class, and the tasks a domain accepts.

Where tasks share hosts, a class tells of its rooms too: neighbours that know only whole hosts take half-free ones for
full.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from cosched.agents.protocol.advertised_rooms import AdvertisedRoom, debited_rooms
from cosched.connector.hosts import HostShare
from cosched.coscheduler.handovers import spec_of
from cosched.coscheduler.places.hosts import share_of
from cosched.scheduling.decoding.free_hosts import IdenticalFreeHosts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cosched.coscheduler.handovers import DocumentShape, TaskDocument
    from cosched.prediction.profile import Profile

__all__ = [
    "FARTHEST",
    "SINCE",
    "AdvertisedHostClass",
    "AdvertisedService",
    "AvailabilityStep",
    "EndEstimate",
    "availability_steps",
    "debited",
    "estimate_end",
    "shared_class",
]

SINCE = "schema"
"""Key of a field's metadata: the edition of the schema that has it, where neighbours with an earlier one do without."""

FARTHEST = 3155760000.0
"""Seconds: agent.xsd has no moment that is farther away, and a letter with one is refused as a whole."""

_MAX_STEPS = 64
_LATER: dict[str, Any] = {SINCE: 2}
_LONGEST_ESCAPE, _LONGEST_STEP = 6, 128  # bytes of a character of a name in XML, and of an element without its name


@dataclass(frozen=True, slots=True)
class AvailabilityStep:
    """A number of hosts that are free together from `after` seconds on."""

    after: float
    hosts: int


@dataclass(frozen=True, slots=True)
class AdvertisedHostClass:
    """Hosts of one kind.

    Attributes:
        hardware: name of their resource model.
        free: growing in both; the last step has all hosts that are up. Hosts count that are wholly free.
        rooms: the same hosts, with what is free of each; empty where tasks do not share them.
        memory_per_core: MiB that a task there has with each core if it names no memory.
    """

    hardware: str
    free: tuple[AvailabilityStep, ...]
    rooms: tuple[AdvertisedRoom, ...] = field(default=(), metadata=_LATER)
    memory_per_core: int | None = field(default=None, metadata=_LATER)

    def __post_init__(self) -> None:
        if any(a.after > b.after or a.hosts >= b.hosts for a, b in pairwise(self.free)):
            raise ValueError(f"free hosts of {self.hardware} do not grow with time")
        if self.rooms and sum(room.hosts for room in self.rooms) != self.hosts:
            raise ValueError(f"the rooms of {self.hardware} are not those of its hosts")

    @property
    def hosts(self) -> int:
        """Number of hosts of this class that are up."""
        return self.free[-1].hosts if self.free else 0

    def times(self, share: HostShare | None = None, most: int | None = None) -> list[float]:
        """Return when each host becomes free, or free enough for a share of it, ascending, in seconds.

        Hosts that have less than the share are left out, and those behind the first `most`.
        """
        most = self.hosts if most is None else most
        found: list[float] = []
        if share is None or not self.rooms:
            for step in self.free:
                found += [step.after] * (min(step.hosts, most) - len(found))
            return found
        for time, hosts in sorted((room.free_from(share), room.hosts) for room in self.rooms):
            if time < math.inf:
                found += [time] * min(hosts, most - len(found))
        return found

    def cores(self, time: float) -> tuple[int, int]:
        """Return how many cores are free for good after so many seconds, and how many there are; 0 where none says."""
        free = sum(room.at(time).cores * room.hosts for room in self.rooms)
        return free, sum(room.size.cores * room.hosts for room in self.rooms)

    def waits(self) -> list[tuple[float, int]]:
        """Return after how many seconds hosts become free, each with how many; of rooms the cores of hosts."""
        if not self.rooms:
            return [(time, 1) for time in self.times()]
        found = []
        for room in self.rooms:
            before = 0
            for step in room.steps:
                found.append((step.after, (step.cores - before) * room.hosts))
                before = step.cores
        return found


@dataclass(frozen=True, slots=True)
class AdvertisedService:
    """A domain's service, as it stood `age` seconds ago.

    Attributes:
        domain: name of the domain.
        age: seconds since the domain made it; times inside count from then.
        distance: hops from who tells of it; 0: its own.
        classes: its hosts.
        applications: names of the applications it runs for others; empty: any.
        commands: whether it runs commands as they are given.
        manager: kind of its resource manager; empty where it does not say.
    """

    domain: str
    age: float
    distance: int
    classes: tuple[AdvertisedHostClass, ...]
    applications: tuple[str, ...] = ()
    commands: bool = False
    manager: str = ""

    @property
    def most_bytes(self) -> int:
        """Bytes that it has in a letter at most."""
        names = [self.domain, self.manager, *self.applications, *(each.hardware for each in self.classes)]
        steps = sum(len(each.free) + sum(1 + len(room.steps) for room in each.rooms) for each in self.classes)
        return _LONGEST_ESCAPE * sum(map(len, names)) + _LONGEST_STEP * (len(names) + steps)

    def takes(self, application: str, manager: str) -> bool:
        """Return whether it runs a task for others by what it says.

        Args:
            application: name of its catalogue entry; empty where a command runs as it is.
            manager: manager for which the user's own file is written; empty where there is none.
        """
        if manager:
            return self.commands and self.manager == manager
        return self.commands or not self.applications or application in self.applications


@dataclass(frozen=True, slots=True)
class EndEstimate:
    """An estimate of a task's end in a domain, with its hosts.

    The end is in seconds from now; `share` is what it takes of each host, None for the whole.
    """

    end: float
    hosts: int
    host_class: int
    share: HostShare | None = None


class _Way(NamedTuple):
    """A number of hosts on which a task can run, its share of each (None: the whole), and its run time."""

    hosts: int
    share: HostShare | None
    seconds: float


def availability_steps(free: Iterable[float]) -> tuple[AvailabilityStep, ...]:
    """Return the steps of hosts that become free at these times (seconds, not below 0).

    At most 64: beyond that the later of two times stands for both, so that nothing is promised too early.
    """
    alike = Counter(free)  # of hundreds of hosts most are free now
    found: list[AvailabilityStep] = []
    count = alike.total() - sum(number for time, number in alike.items() if time > 0.0)
    if count:
        found.append(AvailabilityStep(0.0, count))
    for time in sorted(time for time in alike if time > 0.0):
        count += alike[time]
        found.append(AvailabilityStep(time, count))
    while len(found) > _MAX_STEPS:
        found = [step for place, step in enumerate(found) if place % 2 == (len(found) - 1) % 2]
    return tuple(found)


def shared_class(hardware: str, rooms: tuple[AdvertisedRoom, ...], memory_per_core: int) -> AdvertisedHostClass:
    """Return the class of hosts that tasks share."""
    whole = availability_steps(time for room in rooms for time in [room.free_from(None)] * room.hosts)
    return AdvertisedHostClass(hardware, whole, rooms, memory_per_core)


def estimate_end(
    service: AdvertisedService, document: TaskDocument, profile_on: Callable[[str, int], Profile | None]
) -> EndEstimate | None:
    """Return the earliest end on any of a service's classes; None where nothing is known.

    Args:
        service: as it stands now (age counted in).
        document: the task.
        profile_on: its profile by name of a resource model and number of hosts.
    """
    best: EndEstimate | None = None
    for place, host_class in enumerate(service.classes):
        profile = profile_on(host_class.hardware, host_class.hosts)
        if profile is None:
            continue
        free: dict[HostShare | None, list[float]] = {}
        ways = _ways(document, profile, host_class)
        most = max((way.hosts for way in ways), default=0)  # a class has 65,536 hosts, if its domain likes
        for count, share, seconds in ways:
            if share not in free:
                free[share] = host_class.times(share, most)
            if count <= len(free[share]):
                end = max(free[share][count - 1] - service.age, 0.0) + seconds
                if math.isfinite(end) and (best is None or end < best.end):
                    best = EndEstimate(end, count, place, share)
    return best


def _ways(document: TaskDocument, profile: Profile, host_class: AdvertisedHostClass) -> list[_Way]:
    """Return on how many hosts of a class, with which share of each, a task could run, and for how long."""
    if document.shapes and host_class.rooms:
        return [
            _Way(shape.hosts, _share_of_shape(document, shape, host_class.memory_per_core or 0), shape.seconds)
            for shape in document.shapes
        ]
    share = share_of(spec_of(document, 0.0), host_class.memory_per_core or 0) if host_class.rooms else None
    return [_Way(count, share, seconds) for count, seconds in enumerate(profile.seconds, start=1)]


def _share_of_shape(document: TaskDocument, shape: DocumentShape, memory_per_core: int) -> HostShare | None:
    """Return what a task takes of each host in one of its shapes; None for the whole."""
    if document.exclusive:
        return None
    ranks = shape.cores if document.processes else 1
    cores = shape.cores * (document.cores_per_process or 1)
    memory = document.memory or ranks * (document.memory_per_process or 0) or cores * memory_per_core
    return HostShare(memory, cores, document.gpus or ranks * (document.gpus_per_process or 0))


def debited(service: AdvertisedService, taken: EndEstimate) -> AdvertisedService:
    """Return the service with a task's hosts, or what it takes of them, taken until its end.

    So a domain is not chosen for all tasks at once.
    """
    classes, host_class = list(service.classes), service.classes[taken.host_class]
    until = min(taken.end + service.age, FARTHEST)
    if host_class.rooms:
        rooms = debited_rooms(host_class.rooms, taken.share, taken.hosts, until)
        left = shared_class(host_class.hardware, rooms, host_class.memory_per_core or 0)
    else:
        free = IdenticalFreeHosts(host_class.times())
        free.take(taken.hosts, until)
        left = replace(host_class, free=availability_steps(free.ascending))
    classes[taken.host_class] = left
    return replace(service, classes=tuple(classes))
