"""Routes of shares: list, set."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from typing import Annotated

from fastapi import Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from cosched.access.principals import Principal
from cosched.api.documents import ShareChange, ShareView
from cosched.portal.dependencies import Manager, Portal, Reader, Services, sender
from cosched.portal.request_bodies import RequestBody
from cosched.portal.responses import NOT_MODIFIED, DocumentResponder
from cosched.portal.routes import api_router
from cosched.portal.state import PortalState

__all__ = ["router", "set_share"]

_CHANGE = RequestBody(ShareChange, "a share")
_SHARES = DocumentResponder[list[ShareView]](list[ShareView])
router = api_router("domain")


@router.get("/shares", response_model=list[ShareView], responses=NOT_MODIFIED)
def shares(request: Request, services: Services, principal: Reader) -> Response:
    """List shares and what groups and users have had; users see no other user's."""
    return _SHARES.tagged(request, list(services.shares.shares(principal)))


@router.patch("/shares/{kind}/{name}", openapi_extra=_CHANGE.description)
async def change_share(
    request: Request,
    portal: Portal,
    principal: Manager,
    kind: Annotated[str, Path(max_length=8)],
    name: Annotated[str, Path(max_length=64)],
) -> ShareView:
    """Set the share of a user or group; it wins over the configuration. For administrators."""
    wanted = _CHANGE.read(await request.body())
    return await run_in_threadpool(set_share, portal, principal, (kind, name), wanted, sender(request))


def set_share(
    portal: PortalState, principal: Principal, key: tuple[str, str], wanted: ShareChange, address: str
) -> ShareView:
    """Set the share of a user or group (`key`: kind and name), and write down who did and from where."""
    kind, name = key
    made = portal.services.shares.change(principal, kind, name, wanted)
    values = {"weight": wanted.weight, "budget": wanted.budget, "hosts": wanted.hosts, "waiting": wanted.waiting}
    said = [f"{field} {value:g}" for field, value in values.items() if value is not None]
    said += [f"group {wanted.group or 'none'}"] if wanted.group is not None else []
    said += ["reset"] if wanted.reset else []
    portal.access.log(principal, address, "share set", f"{kind} {name}: {', '.join(said)}")
    return made
