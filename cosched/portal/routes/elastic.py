"""Routes of elastic tasks: their workers, and the protocol of their leads.

A lead proves who it is with the token in its mailbox; the task's owner may speak for it as well.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import asyncio
import time
from http import HTTPStatus
from typing import Annotated

from anyio import to_thread
from fastapi import Query, Request, Response

from cosched.api.documents import LeadMessage, OfferView, ResizeRequest, WorkersView
from cosched.portal.dependencies import AnyPrincipal, Portal, Reader, Services, Submitter, sender
from cosched.portal.request_bodies import RequestBody
from cosched.portal.routes import api_router

__all__ = ["router"]

_LONGEST_WAIT = 30
_LOOK_AGAIN = 0.25  # seconds between looks for a later revision
_MESSAGE = RequestBody(LeadMessage, "a lead's message")
_RESIZE = RequestBody(ResizeRequest, "a wish for hosts")

router = api_router("elastic tasks")


@router.get("/tasks/{task_id}/workers")
def workers(services: Services, principal: Reader, task_id: str) -> WorkersView:
    """Show the lead and the workers of an elastic task's last try, and both of its ends."""
    return services.elastic.workers(principal, task_id)


@router.post("/tasks/{task_id}/resize", openapi_extra=_RESIZE.description)
async def resize(request: Request, portal: Portal, principal: Submitter, task_id: str) -> WorkersView:
    """Have a running elastic task keep to other numbers of hosts; its promised hosts beyond `most` are given up."""
    wish = _RESIZE.read(await request.body())
    found = await to_thread.run_sync(portal.services.elastic.resize, principal, task_id, wish)
    portal.access.log(principal, sender(request), "task resized", found.task)
    return found


@router.get("/tasks/{task_id}/offer")
async def offer(
    request: Request,
    portal: Portal,
    principal: AnyPrincipal,
    task_id: str,
    after: Annotated[int, Query(ge=-1, le=2**62, description="A revision: wait for a later one.")] = -1,
    wait: Annotated[int, Query(ge=0, le=_LONGEST_WAIT, description="Seconds to wait at most.")] = 0,
) -> OfferView:
    """Say what each worker of a running elastic task is to do; for its lead."""
    until = time.monotonic() + wait
    # Each that waits asks the core again and again.
    async with portal.offers.taken(principal):
        while True:
            found = await to_thread.run_sync(portal.services.elastic.offer, principal, task_id)
            if found.revision > after or time.monotonic() >= until or await request.is_disconnected():
                return found
            await asyncio.sleep(_LOOK_AGAIN)


@router.post("/tasks/{task_id}/lead", status_code=HTTPStatus.NO_CONTENT, openapi_extra=_MESSAGE.description)
async def tell(request: Request, services: Services, principal: AnyPrincipal, task_id: str) -> Response:
    """Take what the lead of a running elastic task says: where it is, who may leave, how far it has come."""
    message = _MESSAGE.read(await request.body())
    await to_thread.run_sync(services.elastic.tell, principal, task_id, message)
    return Response(status_code=HTTPStatus.NO_CONTENT)
