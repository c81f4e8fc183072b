"""Hosts kept for others, over HTTP: all may see them, administrators make them and give them up."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from cosched.access.access import Access
from cosched.access.principal import Scope
from cosched.portal.answers import UNCHANGED, Answer
from cosched.portal.bodies import Form
from cosched.portal.documents import ReservationRequest, ReservationView
from cosched.portal.identity import Asker, needs, sender
from cosched.portal.interface import Service

__all__ = ["routes"]

_FORM = Form(
    ReservationRequest,
    "a reservation",
    {
        "hosts": {"minItems": 1},
        "name": {"maxLength": 100},
        "end": {"minimum": 0},
    },
)
_RESERVATIONS = Answer[list[ReservationView]](list[ReservationView])


def routes(service: Service, access: Access) -> APIRouter:
    """Return the routes.

    Args:
        service: does what is asked.
        access: keeps the audit log.
    """
    router = APIRouter(tags=["domain"])

    @router.get(
        "/reservations", dependencies=[needs(Scope.READ)], response_model=list[ReservationView], responses=UNCHANGED
    )
    def reservations(request: Request, asker: Asker) -> Response:
        """List the reservations that are not over, the first to begin first."""
        return _RESERVATIONS.tagged(request, list(service.reservations(asker)))

    @router.post(
        "/reservations",
        status_code=HTTPStatus.CREATED,
        dependencies=[needs(Scope.MANAGE)],
        openapi_extra=_FORM.description,
    )
    async def reserve(request: Request, asker: Asker) -> ReservationView:
        """Keep hosts for others for a while; for administrators."""
        wanted = _FORM.read(await request.body())
        return await run_in_threadpool(_reserve, asker, wanted, sender(request))

    def _reserve(asker: Asker, wanted: ReservationRequest, address: str) -> ReservationView:
        made = service.reserve(asker, wanted)
        access.log(asker, address, "hosts reserved", _detail(made))
        return made

    @router.delete(
        "/reservations/{reservation_id}", status_code=HTTPStatus.NO_CONTENT, dependencies=[needs(Scope.MANAGE)]
    )
    def release(request: Request, asker: Asker, reservation_id: Annotated[str, Path(max_length=64)]) -> Response:
        """Give a reservation up; for administrators."""
        access.log(asker, sender(request), "reservation released", _detail(service.release(asker, reservation_id)))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return router


def _detail(reservation: ReservationView) -> str:
    return f"{reservation.id} {reservation.name}: {', '.join(reservation.hosts)}".replace(" :", ":")
