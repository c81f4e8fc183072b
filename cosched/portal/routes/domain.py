"""Routes of the domain: hosts, neighbours, schedule, status, reservations, past runs and the log."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from cosched.access.authentication import Authenticator
from cosched.access.principals import Scope
from cosched.api.documents import (
    Accuracy,
    HostView,
    NetworkView,
    PeerView,
    PlanPoint,
    PlanView,
    RecordView,
    ReservationRequest,
    ReservationView,
    RunView,
    SearchPoint,
    Status,
)
from cosched.app.services import DomainServices
from cosched.portal.dependencies import AnyPrincipal, needs, sender
from cosched.portal.request_bodies import RequestBody
from cosched.portal.responses import NOT_MODIFIED, DocumentResponder

__all__ = ["domain_routes", "history_routes", "recording_routes", "reservation_routes"]


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


def reservation_routes(services: DomainServices, access: Authenticator) -> APIRouter:
    """Return the routes.

    Args:
        services: of the domain.
        access: keeps the audit log.
    """
    router = APIRouter(tags=["domain"])

    @router.get(
        "/reservations", dependencies=[needs(Scope.READ)], response_model=list[ReservationView], responses=NOT_MODIFIED
    )
    def reservations(request: Request, principal: AnyPrincipal) -> Response:
        """List the reservations that are not over, the first to begin first."""
        return _RESERVATIONS.tagged(request, list(services.reservations.reservations(principal)))

    @router.post(
        "/reservations",
        status_code=HTTPStatus.CREATED,
        dependencies=[needs(Scope.MANAGE)],
        openapi_extra=_RESERVATION.description,
    )
    async def reserve(request: Request, principal: AnyPrincipal) -> ReservationView:
        """Keep hosts for others for a while; for administrators."""
        wanted = _RESERVATION.read(await request.body())
        return await run_in_threadpool(_reserve, principal, wanted, sender(request))

    def _reserve(principal: AnyPrincipal, wanted: ReservationRequest, address: str) -> ReservationView:
        made = services.reservations.reserve(principal, wanted)
        access.log(principal, address, "hosts reserved", _detail(made))
        return made

    @router.delete(
        "/reservations/{reservation_id}", status_code=HTTPStatus.NO_CONTENT, dependencies=[needs(Scope.MANAGE)]
    )
    def release(
        request: Request, principal: AnyPrincipal, reservation_id: Annotated[str, Path(max_length=64)]
    ) -> Response:
        """Give a reservation up; for administrators."""
        access.log(
            principal,
            sender(request),
            "reservation released",
            _detail(services.reservations.release(principal, reservation_id)),
        )
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return router


def _detail(reservation: ReservationView) -> str:
    return f"{reservation.id} {reservation.name}: {', '.join(reservation.hosts)}".replace(" :", ":")


_JSON_LINES = "application/jsonl"


def recording_routes(services: DomainServices, access: Authenticator) -> APIRouter:
    """Return the route of the core's recorded events.

    Args:
        services: of the domain.
        access: keeps the audit log.
    """
    router = APIRouter(tags=["domain"])

    @router.get(
        "/recording",
        dependencies=[needs(Scope.MANAGE)],
        response_class=StreamingResponse,
        responses={200: {"content": {_JSON_LINES: {"schema": {"type": "string"}}}}},
    )
    def recording(request: Request, principal: AnyPrincipal) -> Response:
        """Return the core's last events, one JSON object a line, with all names; for administrators."""
        blocks = services.recordings.blocks(principal)
        access.log(principal, sender(request), "recording saved", "")
        return StreamingResponse(blocks, media_type=_JSON_LINES)

    return router


_RUNS, _LOG = DocumentResponder[list[RunView]](list[RunView]), DocumentResponder[list[RecordView]](list[RecordView])
_PLANS, _SEARCH = (
    DocumentResponder[list[PlanPoint]](list[PlanPoint]),
    DocumentResponder[list[SearchPoint]](list[SearchPoint]),
)
_ACCURACY = DocumentResponder[list[Accuracy]](list[Accuracy])


def history_routes(services: DomainServices) -> APIRouter:
    """Return the routes."""
    router = APIRouter(dependencies=[needs(Scope.READ)])

    @router.get("/tasks/{task_id}/plans", tags=["tasks"], response_model=list[PlanPoint], responses=NOT_MODIFIED)
    def plans(request: Request, principal: AnyPrincipal, task_id: str) -> Response:
        """Say where a task was planned as the plan changed, the oldest first."""
        services.tasks.task(principal, task_id)  # whoever may not see it gets no further
        return _PLANS.tagged(request, list(services.history.planned(task_id)))

    @router.get("/plan/search", tags=["domain"], response_model=list[SearchPoint], responses=NOT_MODIFIED)
    def search(request: Request) -> Response:
        """Say how the search's plan became better, the oldest first."""
        return _SEARCH.tagged(request, list(services.history.search()))

    @router.get("/runs", tags=["domain"], response_model=list[RunView], responses=NOT_MODIFIED)
    def runs(
        request: Request,
        principal: AnyPrincipal,
        since: Annotated[float, Query(ge=0, le=1e11, description="Only what ended after this time.")] = 0.0,
    ) -> Response:
        """List what has run, on which hosts: the schedule's past; the last 4,000 attempts at most."""
        return _RUNS.tagged(request, list(services.history.runs(principal, since)))

    @router.get("/accuracy", tags=["domain"], response_model=list[Accuracy], responses=NOT_MODIFIED)
    def accuracy(request: Request) -> Response:
        """Say how well run times were predicted, by application and hardware."""
        return _ACCURACY.tagged(request, list(services.history.accuracy()))

    @router.get("/log", tags=["domain"], response_model=list[RecordView], responses=NOT_MODIFIED)
    def log(
        request: Request,
        principal: AnyPrincipal,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    ) -> Response:
        """List what has happened, newest first; of other users' tasks only for operators."""
        return _LOG.tagged(request, list(services.history.log(principal, limit, offset)))

    return router


_HOSTS, _PLAN, _STATUS = (
    DocumentResponder[list[HostView]](list[HostView]),
    DocumentResponder[PlanView](PlanView),
    DocumentResponder[Status](Status),
)


def domain_routes(services: DomainServices) -> APIRouter:
    """Make the routes of hosts, plan, status and neighbours."""
    router = APIRouter(tags=["domain"], dependencies=[needs(Scope.READ)])

    @router.get("/hosts", response_model=list[HostView], responses=NOT_MODIFIED)
    def hosts(request: Request, principal: AnyPrincipal) -> Response:
        """List the hosts of the domain."""
        return _HOSTS.tagged(request, list(services.domain.hosts(principal)))

    @router.get("/peers")
    def peers() -> list[PeerView]:
        """List the neighbouring domains: what they offer, and what is exchanged with them."""
        return list(services.neighbours.peers())

    @router.get("/network")
    def network() -> NetworkView | None:
        """Say what this domain's agent has done, and what its adviser found; null where there is no agent."""
        return services.neighbours.network()

    @router.get("/plan", response_model=PlanView, responses=NOT_MODIFIED)
    def plan(request: Request, principal: AnyPrincipal) -> Response:
        """Show the schedule in force: what runs and what is planned."""
        return _PLAN.tagged(request, services.domain.plan(principal))

    @router.get("/status", response_model=Status, responses=NOT_MODIFIED)
    def status(request: Request, principal: AnyPrincipal) -> Response:
        """Show the daemon's state in short."""
        return _STATUS.tagged(request, services.domain.status(principal))

    return router
