"""The portal's pages: HTML rendered here, kept up to date by the API's event stream and a small script.

A page that changes while it is looked at is made of parts (blocks `part_…` of its template): when something happens the
script asks for them anew with `?part=…`. Forms work without the script, too.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations of dependencies when it takes them.

from fastapi import APIRouter, Depends, Request

from cosched.api.times import reader_zone
from cosched.app.credential_service import CredentialService
from cosched.app.services import DomainServices
from cosched.portal.dependencies import csrf_checked
from cosched.portal.pages import account, domain, models, schedule, static_files, submit, task, tasks
from cosched.portal.pages.rendering import Renderer, zone_of

__all__ = ["routes"]


def routes(services: DomainServices, renderer: Renderer, grants: CredentialService) -> APIRouter:
    """Return the routes of all pages: none changes anything for a form without the page's CSRF token."""
    router = APIRouter(include_in_schema=False, dependencies=[Depends(csrf_checked), Depends(_use_readers_zone)])
    router.include_router(static_files.static_routes())
    router.include_router(submit.routes(services, renderer))
    router.include_router(tasks.routes(services, renderer))
    router.include_router(tasks.bulk_action_routes(services))
    router.include_router(task.routes(services, renderer))
    router.include_router(schedule.routes(services, renderer))
    router.include_router(domain.routes(services, renderer))
    router.include_router(account.routes(grants, renderer))
    router.include_router(models.routes(services, renderer))
    return router


async def _use_readers_zone(request: Request) -> None:
    """Show times in the reader's zone, those of refusals from further down too."""
    reader_zone.set(zone_of(request))
