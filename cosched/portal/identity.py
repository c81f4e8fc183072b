"""Who asks, for every route of API and pages.

`Identify` (middleware) finds out before any route runs; routes take `asker: Asker`, and routers say what a credential
must allow with `needs(Scope.…)`:

    router = APIRouter(dependencies=[Depends(csrf_checked)])

    @router.get("/tasks", dependencies=[needs(Scope.READ)])
    def tasks(asker: Asker) -> TaskPage: ...

Templates find `request.state.nonce` (for script and style elements) and `request.state.csrf` (for a hidden field named
`csrf_token`, or the header X-CSRF-Token).
"""

# No `from __future__ import annotations`: FastAPI reads the annotations of dependencies when it takes them.

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request

from cosched.access.evidence import Evidence
from cosched.access.peers import user_name, user_role
from cosched.access.principal import Principal, Role, Scope
from cosched.portal.problems import RequestError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Send
    from starlette.types import Scope as Connection

__all__ = ["Asker", "Identified", "Identify", "asker", "csrf_checked", "needs", "peers_only"]

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


@dataclass(frozen=True, slots=True)
class Identified:
    """Who asks, and the CSRF token that a page shown to them carries; nobody and empty where that is not known."""

    principal: Principal | None = None
    csrf: str = ""


def peers_only(evidence: Evidence) -> Identified:
    """Return the user at the other end of the unix socket; whoever reaches a port of this machine may do all."""
    if evidence.peer is None:
        return Identified(Principal("", Role.ADMINISTRATOR))
    return Identified(Principal(user_name(evidence.peer), user_role(evidence.peer) or Role.USER))


class Identify:
    """ASGI middleware: puts `principal`, `csrf` and a fresh `nonce` into the request's state."""

    def __init__(self, app: "ASGIApp", identify: Callable[[Evidence], Identified]) -> None:
        """Wrap `app`; `identify` says who asks."""
        self._app = app
        self._identify = identify

    async def __call__(self, scope: "Connection", receive: "Receive", send: "Send") -> None:
        """Find out who asks and pass the request on."""
        if scope["type"] == "http":
            state: dict[str, Any] = scope.setdefault("state", {})
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
            client = scope.get("client")
            peer = state.get("peer")
            found = self._identify(Evidence(peer, client[0] if client and peer is None else "", headers))
            state |= {"principal": found.principal, "csrf": found.csrf, "nonce": secrets.token_urlsafe(16)}
        await self._app(scope, receive, send)


async def asker(request: Request) -> Principal:
    """Return who asks.

    Raises:
        RequestError: that is not known.
    """
    found: Principal | None = request.state.principal
    if found is None:
        raise RequestError(HTTPStatus.UNAUTHORIZED,
                           "say who you are: send a token (Authorization: Bearer …, see `cosched token create`)"
                           )  # fmt: skip
    return found


Asker = Annotated[Principal, Depends(asker)]


def needs(scope: Scope) -> Any:
    """Return a dependency that refuses credentials without this scope."""

    async def check(asker: Asker) -> None:
        if scope not in asker.scopes:
            raise RequestError(HTTPStatus.FORBIDDEN, f"this token may not be used for that: it has no scope {scope}")

    return Depends(check)


async def csrf_checked(request: Request) -> None:
    """Refuse a change that a browser may have been tricked into: one without the CSRF token of the page.

    Only for those whom a browser names by itself (a cookie, a login at the proxy); a token cannot be sent unknowingly.

    Raises:
        RequestError: the token is missing or another one.
    """
    principal: Principal | None = request.state.principal
    if request.method in _SAFE_METHODS or principal is None or not principal.ambient:
        return
    given: Any = request.headers.get("x-csrf-token", "")
    if not given and request.headers.get("content-type", "").partition(";")[0].strip().lower() in _FORMS:
        given = (await request.form()).get("csrf_token", "")
    if not isinstance(given, str) or not secrets.compare_digest(given.encode(), request.state.csrf.encode()):
        raise RequestError(HTTPStatus.FORBIDDEN, "the page is too old or not ours (no CSRF token): reload it and try "
                                                 "again")  # fmt: skip
