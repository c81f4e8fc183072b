"""Reservations keep hosts for others: they are checked, made, shown and released here.

Start at `ReservationService`.
"""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING

from cosched.access.principals import require_administrator
from cosched.api.deadlines import check_deadline
from cosched.api.documents import ReservationView
from cosched.api.problems import NotFoundError
from cosched.api.times import format_time
from cosched.coscheduler.events import HostsReserved, ReservationReleased
from cosched.coscheduler.places.hosts import expected_end
from cosched.coscheduler.reservations import Reservation
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Collection

    from cosched.access.principals import Principal
    from cosched.api.documents import ReservationRequest
    from cosched.app.core_access import CoreClient
    from cosched.coscheduler.core import Coscheduler

__all__ = [
    "LONGEST_NAME",
    "MOST_RESERVATIONS",
    "ReservationService",
    "new_reservation",
    "reservation_view",
    "reservation_views",
]

_ACTION = "reserve and release hosts"

LONGEST_NAME = 100
MOST_RESERVATIONS = 1000
"""That are not over, at once."""


class ReservationService:
    """Answers for reservations. Methods may block; any thread may call them."""

    def __init__(self, core: CoreClient) -> None:
        self._core = core

    def reserve(self, principal: Principal, request: ReservationRequest) -> ReservationView:
        """Keep hosts for others.

        Raises:
            ForbiddenError: the principal is no administrator.
            UserError: the request is at fault.
        """
        require_administrator(principal, _ACTION)
        hosts, count = self._core.ask(lambda core, time: (set(core.domain.hosts), len(core.reservations.live(time))))
        now = self._core.now()
        reservation = new_reservation(request, principal.name, now, hosts, count)
        self._core.apply(HostsReserved(now, reservation))
        return self._view(principal, reservation.id)

    def reservations(self, principal: Principal) -> list[ReservationView]:
        """Return the reservations that are not over, the first to begin first."""
        return self._core.ask(partial(reservation_views, principal))

    def release(self, principal: Principal, identifier: str) -> ReservationView:
        """Give a reservation up, and return what it was.

        Raises:
            ForbiddenError: the principal is no administrator.
            NotFoundError: the reservation is over, or never was.
        """
        require_administrator(principal, _ACTION)
        known = self._view(principal, identifier)
        self._core.apply(ReservationReleased(self._core.now(), identifier))
        return known

    def _view(self, principal: Principal, identifier: str) -> ReservationView:
        return self._core.ask(lambda core, time: reservation_view(principal, core, time, identifier))


def new_reservation(
    request: ReservationRequest, owner: str, now: float, hosts: Collection[str], there: int
) -> Reservation:
    """Make the wanted reservation.

    Args:
        request: the request as received.
        owner: the user who asks.
        now: seconds since the epoch.
        hosts: all hosts of the domain.
        there: how many reservations there are.

    Raises:
        UserError: no such host, no such time, a name that cannot be shown, too many.
    """
    if there >= MOST_RESERVATIONS:
        raise UserError(f"there are {there} reservations already: release some first")
    if not request.hosts:
        raise UserError("no host is named: name at least one")
    unknown = [host for host in request.hosts if host not in hosts]
    if unknown:
        raise UserError(f"the domain has no host {unknown[0][:80]!r}: `cosched host list` shows those it has")
    if len(request.name) > LONGEST_NAME or not request.name.isprintable():
        raise UserError(f"the name is at most {LONGEST_NAME} characters that can be printed: choose another one")
    end = check_deadline(request.end, now, "end of the reservation")
    begin = now if request.start is None else request.start
    if not begin < end:
        raise UserError(f"it would end {format_time(end)}, not after it begins: give a later end")
    return Reservation(
        id=secrets.token_hex(4),
        hosts=tuple(sorted(set(request.hosts))),
        begin=max(begin, now),
        end=end,
        name=request.name,
        owner=owner,
        created=now,
    )


def reservation_views(principal: Principal, core: Coscheduler, time: float) -> list[ReservationView]:
    """Return the reservations that are not over, the first to begin first."""
    return [_reservation_view(principal, core, each, time) for each in core.reservations.live(time)]


def reservation_view(principal: Principal, core: Coscheduler, time: float, identifier: str) -> ReservationView:
    """Return one.

    Raises:
        NotFoundError: it is over, or never was.
    """
    for each in core.reservations.live(time):
        if each.id == identifier:
            return _reservation_view(principal, core, each, time)
    raise NotFoundError(f"there is no reservation {identifier[:80]!r}: `cosched host reservations` shows what there is")


def _reservation_view(
    principal: Principal, core: Coscheduler, reservation: Reservation, time: float
) -> ReservationView:
    hosts, begin = set(reservation.hosts), reservation.begin
    live = [each for each in core.attempts.values() if not each.worker]
    into = [each.task for each in live if hosts & set(each.reckoned_hosts) and expected_end(each, time) > begin]
    shown_tasks = (task for task in into if task in core.tasks and principal.may_see(core.tasks[task].owner))
    return ReservationView(
        id=reservation.id,
        name=reservation.name,
        hosts=reservation.hosts,
        start=reservation.begin,
        end=reservation.end,
        owner=reservation.owner,
        created=reservation.created,
        tasks=tuple(shown_tasks),
    )
