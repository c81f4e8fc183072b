"""Routes of reservations: list, reserve, release."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from http import HTTPStatus
from typing import Annotated

from fastapi import Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from cosched.access.principals import Principal
from cosched.api.documents import ReservationRequest, ReservationView
from cosched.portal.dependencies import Manager, Portal, Reader, Services, sender
from cosched.portal.request_bodies import RequestBody
from cosched.portal.responses import NOT_MODIFIED, DocumentResponder
from cosched.portal.routes import api_router
from cosched.portal.state import PortalState

__all__ = ["release_hosts", "reserve_hosts", "router"]

_RESERVATION = RequestBody(
    ReservationRequest,
    "a reservation",
    {
        "hosts": {"minItems": 1},
        "name": {"maxLength": 100},
        "end": {"minimum": 0},
    },
)
_RESERVATIONS = DocumentResponder[list[ReservationView]](list[ReservationView])
router = api_router("domain")


@router.get("/reservations", response_model=list[ReservationView], responses=NOT_MODIFIED)
def reservations(request: Request, services: Services, principal: Reader) -> Response:
    """List the reservations that are not over, the first to begin first."""
    return _RESERVATIONS.tagged(request, list(services.reservations.reservations(principal)))


@router.post("/reservations", status_code=HTTPStatus.CREATED, openapi_extra=_RESERVATION.description)
async def reserve(request: Request, portal: Portal, principal: Manager) -> ReservationView:
    """Keep hosts for others for a while; for administrators."""
    wanted = _RESERVATION.read(await request.body())
    return await run_in_threadpool(reserve_hosts, portal, principal, wanted, sender(request))


def reserve_hosts(
    portal: PortalState, principal: Principal, wanted: ReservationRequest, address: str
) -> ReservationView:
    """Make a reservation and write it into the audit log."""
    made = portal.services.reservations.reserve(principal, wanted)
    portal.access.log(principal, address, "hosts reserved", _detail(made))
    return made


@router.delete("/reservations/{reservation_id}", status_code=HTTPStatus.NO_CONTENT)
def release(
    request: Request, portal: Portal, principal: Manager, reservation_id: Annotated[str, Path(max_length=64)]
) -> Response:
    """Give a reservation up; for administrators."""
    release_hosts(portal, principal, reservation_id, sender(request))
    return Response(status_code=HTTPStatus.NO_CONTENT)


def release_hosts(portal: PortalState, principal: Principal, reservation_id: str, address: str) -> None:
    """Give a reservation up and write it into the audit log."""
    released = portal.services.reservations.release(principal, reservation_id)
    portal.access.log(principal, address, "reservation released", _detail(released))


def _detail(reservation: ReservationView) -> str:
    return f"{reservation.id} {reservation.name}: {', '.join(reservation.hosts)}".replace(" :", ":")
