"""Reservations keep hosts for others; no task starts that is predicted to overlap one.

A task that runs on when a reservation begins is left to run: the reservation has its hosts when it has ended.
The resource manager places jobs that name no hosts, and knows nothing of reservations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.scheduling.availability import Unavailability, normalised_availability
from cosched.scheduling.decoding.decoder import spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["Reservation", "Reservations", "with_reservations", "without_distant_reservations"]


@dataclass(frozen=True, slots=True)
class Reservation:
    """Hosts kept for others.

    Attributes:
        id: unlike that of any other.
        hosts: by name, at least one.
        begin: epoch seconds.
        end: epoch seconds, later than `begin`.
        name: its purpose; may be empty.
        owner: the user who made it.
        created: when, epoch seconds.
        released: when it was given up, epoch seconds; None where it was not.
    """

    id: str
    hosts: tuple[str, ...]
    begin: float
    end: float
    name: str = ""
    owner: str = ""
    created: float = 0.0
    released: float | None = None

    def over(self, time: float) -> bool:
        """Return whether it keeps no host any more."""
        return self.released is not None or self.end <= time

    @property
    def title(self) -> str:
        """Return the reservation's name for people."""
        return self.name or self.id


class Reservations:
    """Known reservations; expired ones are dropped."""

    def __init__(self) -> None:
        self._known: dict[str, Reservation] = {}

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._known

    def put(self, reservation: Reservation) -> None:
        """Take one in."""
        self._known[reservation.id] = reservation

    def pop(self, identifier: str) -> Reservation | None:
        """Give one up; None where there is none."""
        return self._known.pop(identifier, None)

    def known(self) -> tuple[Reservation, ...]:
        """Return all, in the order in which they became known."""
        return tuple(self._known.values())

    def forget(self, time: float) -> None:
        """Drop expired reservations."""
        self._known = {name: each for name, each in self._known.items() if not each.over(time)}

    def live(self, time: float) -> list[Reservation]:
        """Return the reservations that are not over, the first to begin first."""
        found = [each for each in self._known.values() if not each.over(time)]
        return sorted(found, key=lambda each: (each.begin, each.id))

    def kept(self, time: float) -> dict[str, float]:
        """Return until when the hosts are kept that are so now, epoch seconds."""
        until: dict[str, float] = {}
        for each in self.live(time):
            # In the order in which they begin: one that begins before the others on a host end carries on from there.
            until |= {
                host: max(until.get(host, time), each.end) for host in each.hosts if each.begin <= until.get(host, time)
            }
        return until

    def needed(self, time: float) -> dict[str, float]:
        """Return the seconds until each reserved host is next needed, 0.0 for now.

        Hosts without a reservation are left out.
        """
        first: dict[str, float] = {}
        for each in self.live(time):
            for host in each.hosts:
                first.setdefault(host, max(each.begin - time, 0.0))
        return first

    def unavailability(self, hosts: Sequence[str], time: float) -> list[Unavailability]:
        """Return the live reservations as unavailability of these hosts, in seconds from `time`.

        Overlapping ones are not merged yet.
        """
        index = {name: place for place, name in enumerate(hosts)}
        return [
            Unavailability(index[host], max(each.begin - time, 0.0), each.end - time)
            for each in self.live(time)
            for host in each.hosts
            if host in index
        ]

    def on(self, hosts: Iterable[str], begin: float, end: float, time: float) -> list[Reservation]:
        """Return the reservations of any of these hosts between two times, epoch seconds."""
        wanted = set(hosts)
        return [each for each in self.live(time) if each.begin < end and each.end > begin and wanted & set(each.hosts)]


def with_reservations(problem: Problem, reservations: Reservations, time: float) -> Problem:
    """Return a problem with the origin `time` and the reservations to plan around."""
    unavailability = reservations.unavailability(problem.hosts, time)
    if not unavailability:
        return problem
    free, later = normalised_availability(problem.free, unavailability)
    return replace(problem, free=free, unavailability=later)


def without_distant_reservations(problem: Problem, *plans: Plan) -> Problem:
    """Return the problem without unavailability where all of it begins when these plans have ended.

    Most reservations are far ahead, and a problem whose hosts stay is decoded ten times quicker.
    """
    if not problem.unavailability:
        return problem
    without = replace(problem, unavailability=())
    first = min(period.begin for period in problem.unavailability)
    for plan in plans:
        ends = spans(without, plan)[1]
        if max((ends[task] for task in plan.order.tolist()), default=0.0) > first:
            return problem
    return without
