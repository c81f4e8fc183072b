"""Routes of the domain: hosts, neighbours, schedule and status."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from anyio import to_thread
from fastapi import Request, Response

from cosched.access.principals import Scope
from cosched.api.documents import HostLoadView, HostView, NetworkView, PeerView, PlanView, Status
from cosched.portal.dependencies import AnyPrincipal, Portal, Services, needs
from cosched.portal.responses import NOT_MODIFIED, DocumentResponder
from cosched.portal.routes import api_router

__all__ = ["router"]

_HOSTS, _PLAN, _STATUS = (
    DocumentResponder[list[HostView]](list[HostView]),
    DocumentResponder[PlanView](PlanView),
    DocumentResponder[Status](Status),
)
router = api_router("domain", needs=needs(Scope.READ))


@router.get("/hosts", response_model=list[HostView], responses=NOT_MODIFIED)
def hosts(request: Request, services: Services, principal: AnyPrincipal) -> Response:
    """List the hosts of the domain."""
    return _HOSTS.tagged(request, list(services.domain.hosts(principal)))


@router.get("/hosts/loads")
def loads(services: Services) -> list[HostLoadView]:
    """List what owners and foreign jobs take of hosts: now, in the coming hours, and in plans.

    Hosts that nobody else was seen at are left out.
    """
    return services.loads.all()


@router.get("/peers")
def peers(services: Services) -> list[PeerView]:
    """List the neighbouring domains: what they offer, and what is exchanged with them."""
    return list(services.neighbours.peers())


@router.get("/network")
def network(services: Services) -> NetworkView | None:
    """Show what this domain's agent has done and its adviser has found.

    The answer is null where there is no agent.
    """
    return services.neighbours.network()


@router.get("/plan", response_model=PlanView, responses=NOT_MODIFIED)
def plan(request: Request, services: Services, principal: AnyPrincipal) -> Response:
    """Show the schedule in force: what runs and what is planned."""
    return _PLAN.tagged(request, services.domain.plan(principal))


@router.get("/status", response_model=Status, responses=NOT_MODIFIED)
async def status(request: Request, portal: Portal, principal: AnyPrincipal) -> Response:
    """Show the daemon's state in short.

    It answers at once even if core or database do not.
    """
    found = await to_thread.run_sync(portal.services.domain.status, principal, limiter=portal.watchers)
    return _STATUS.tagged(request, found)
