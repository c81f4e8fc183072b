"""Routes for administrators: notices, the configuration in force, health."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from http import HTTPStatus
from typing import Annotated

from anyio import to_thread
from fastapi import Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from cosched.access.principals import Principal
from cosched.api.documents import ConfigurationEntry, HealthReport, NoticeRequest, NoticeView
from cosched.api.times import format_time
from cosched.app.domain_notices import LONGEST_NOTICE
from cosched.portal.dependencies import Manager, Portal, Reader, Services, sender
from cosched.portal.request_bodies import RequestBody
from cosched.portal.routes import api_router
from cosched.portal.state import PortalState

__all__ = ["remove_notice", "router", "write_notice"]

_NOTICE = RequestBody(
    NoticeRequest, "a notice", {"text": {"minLength": 1, "maxLength": LONGEST_NOTICE}, "until": {"minimum": 0}}
)
router = api_router("administration")


@router.get("/notices")
def notices(services: Services, _principal: Reader) -> list[NoticeView]:
    """List the notices that all pages show now, the oldest first."""
    return services.notices.notices()


@router.post("/notices", status_code=HTTPStatus.CREATED, openapi_extra=_NOTICE.description)
async def add_notice(request: Request, portal: Portal, principal: Manager) -> NoticeView:
    """Show a line on all pages until a time; for administrators."""
    wanted = _NOTICE.read(await request.body())
    return await run_in_threadpool(write_notice, portal, principal, wanted, sender(request))


def write_notice(portal: PortalState, principal: Principal, wanted: NoticeRequest, address: str) -> NoticeView:
    """Write a notice, and that into the audit log."""
    made = portal.services.notices.write(principal, wanted)
    portal.access.log(principal, address, "notice written", f"{made.id} until {format_time(made.until)}: {made.text}")
    return made


@router.delete("/notices/{notice_id}", status_code=HTTPStatus.NO_CONTENT)
def delete_notice(
    request: Request, portal: Portal, principal: Manager, notice_id: Annotated[str, Path(max_length=64)]
) -> Response:
    """Show a notice no more; for administrators."""
    remove_notice(portal, principal, notice_id, sender(request))
    return Response(status_code=HTTPStatus.NO_CONTENT)


def remove_notice(portal: PortalState, principal: Principal, notice_id: str, address: str) -> None:
    """Remove a notice, and write that into the audit log."""
    removed = portal.services.notices.remove(principal, notice_id)
    portal.access.log(principal, address, "notice removed", f"{removed.id}: {removed.text}")


@router.get("/configuration")
def configuration(services: Services, principal: Manager) -> list[ConfigurationEntry]:
    """List every key in force with its origin, without secrets; for administrators."""
    return services.administration.configuration(principal)


@router.get("/health")
async def health(portal: Portal, principal: Manager) -> HealthReport:
    """Show what each part of the daemon does, its processes and its last mistakes; for administrators.

    It answers at once even if core or database do not.
    """
    look = portal.services.administration.health
    return await to_thread.run_sync(look, principal, limiter=portal.watchers)
