"""Advertised services: free hosts over time for each class, and the tasks a domain accepts."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from cosched.scheduling.decoding.free_hosts import IdenticalFreeHosts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cosched.prediction.profile import Profile

__all__ = [
    "AdvertisedHostClass",
    "AdvertisedService",
    "AvailabilityStep",
    "EndEstimate",
    "availability_steps",
    "debited",
    "estimate_end",
]

_MAX_STEPS = 64


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
        free: growing in both; the last step has all hosts that are up.
    """

    hardware: str
    free: tuple[AvailabilityStep, ...]

    def __post_init__(self) -> None:
        if any(a.after > b.after or a.hosts >= b.hosts for a, b in pairwise(self.free)):
            raise ValueError(f"free hosts of {self.hardware} do not grow with time")

    @property
    def hosts(self) -> int:
        """Number of hosts of this class that are up."""
        return self.free[-1].hosts if self.free else 0

    def times(self) -> list[float]:
        """Return when each host becomes free, ascending, in seconds."""
        found: list[float] = []
        for step in self.free:
            found += [step.after] * (step.hosts - len(found))
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

    The end is in seconds from now.
    """

    end: float
    hosts: int
    host_class: int


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


def estimate_end(service: AdvertisedService, profile_on: Callable[[str, int], Profile | None]) -> EndEstimate | None:
    """Return the earliest end on any of a service's classes; None where nothing is known.

    Args:
        service: as it stands now (age counted in).
        profile_on: the task's profile by name of a resource model and number of hosts.
    """
    best: EndEstimate | None = None
    for place, host_class in enumerate(service.classes):
        profile = profile_on(host_class.hardware, host_class.hosts)
        if profile is None:
            continue
        free = host_class.times()
        for count, seconds in enumerate(profile.seconds[: len(free)], start=1):
            end = max(free[count - 1] - service.age, 0.0) + seconds
            if math.isfinite(end) and (best is None or end < best.end):
                best = EndEstimate(end, count, place)
    return best


def debited(service: AdvertisedService, taken: EndEstimate) -> AdvertisedService:
    """Return the service with a task's hosts taken until its end.

    So a domain is not chosen for all tasks at once.
    """
    host_class = service.classes[taken.host_class]
    free = IdenticalFreeHosts(host_class.times())
    free.take(taken.hosts, taken.end + service.age)
    classes = list(service.classes)
    classes[taken.host_class] = replace(host_class, free=availability_steps(free.ascending))
    return replace(service, classes=tuple(classes))
