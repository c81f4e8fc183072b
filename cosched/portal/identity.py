"""Who asks, for every route of API and pages.

`Identify` (middleware) finds out before any route runs; routes take `asker: Asker`, and routers say what a credential
must allow with `needs(Scope.…)`:

    router = APIRouter(dependencies=[Depends(csrf_checked)])     # where forms are taken

    @router.get("/tasks", dependencies=[needs(Scope.READ)])
    def tasks(asker: Asker) -> TaskPage: ...

Templates find `request.state.nonce` (for script and style elements) and `request.state.csrf` (for a hidden field named
`csrf_token`, or the header X-CSRF-Token).
"""

# No `from __future__ import annotations`: FastAPI reads the annotations of dependencies when it takes them.

import math
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from fastapi import Depends, Request, Response

from cosched.access.access import Identified
from cosched.access.evidence import Evidence
from cosched.access.principal import How, Principal, Scope
from cosched.portal.problems import RequestError, problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Send
    from starlette.types import Scope as Connection

__all__ = ["Asker", "Gate", "Identify", "asker", "csrf_checked", "needs", "sender"]

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_NOT_OURS = "the page is too old or not ours (no CSRF token): reload it and try again"
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class Gate(Protocol):
    """What `Identify` needs of `cosched.access.access.Access`."""

    def identify(self, evidence: Evidence) -> Identified:
        """Say who asks."""
        ...

    def pause(self, identified: Identified) -> float:
        """Count a request; return for how many seconds its sender must wait, 0 for none."""
        ...


class Identify:
    """ASGI middleware: puts `principal`, `csrf` and a fresh `nonce` into the request's state.

    Whoever asks too often, or changes something from a page that is not ours, is refused before anything is done.
    """

    def __init__(self, app: "ASGIApp", gate: Gate) -> None:
        """Wrap `app`; `gate` says who asks."""
        self._app = app
        self._gate = gate

    async def __call__(self, scope: "Connection", receive: "Receive", send: "Send") -> None:
        """Find out who asks and pass the request on."""
        if scope["type"] == "http":
            state: dict[str, Any] = scope.setdefault("state", {})
            evidence = _evidence(scope)
            found = self._gate.identify(evidence)
            state |= {
                "principal": found.principal,
                "csrf": found.csrf,
                "nonce": secrets.token_urlsafe(16),
                "identified": found,
            }
            refusal = self._refusal(found, scope["method"], evidence.headers)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, found: Identified, method: str, headers: Mapping[str, str]) -> Response | None:
        pause = self._gate.pause(found)
        if pause > 0:
            return problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"you ask too often: wait {pause:.1f} s",
                {"Retry-After": str(math.ceil(pause))},
            )
        if not _is_form(headers) and _needs_csrf(found.principal, method, headers):
            given = headers.get("x-csrf-token", "")
            if not secrets.compare_digest(given.encode(), found.csrf.encode()):
                return problem(HTTPStatus.FORBIDDEN, _NOT_OURS)
        return None


def _is_form(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() in _FORMS


def _needs_csrf(principal: Principal | None, method: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser may have been tricked into this: it changes something, and says by itself who asks."""
    if method in _SAFE_METHODS or principal is None or principal.how is How.TOKEN:
        return False
    # At a socket, programs of the user's own ask; browsers reach it only through a tunnel, and say their origin.
    return principal.how is not How.SOCKET or _is_form(headers) or "origin" in headers


def _evidence(scope: "Connection") -> Evidence:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    peer = scope["state"].get("peer")
    client = scope.get("client")
    return Evidence(peer, client[0] if client and peer is None else "", scope.get("scheme") == "https", headers)


def sender(request: Request) -> str:
    """Return from where a request came, for the audit log: an IP address, or "unix"."""
    return str(request.state.identified.address)


async def asker(request: Request) -> Principal:
    """Return who asks.

    Raises:
        RequestError: that is not known.
    """
    found: Principal | None = request.state.principal
    if found is None:
        why = request.state.identified.reason or "it is not known who asks"
        raise RequestError(
            HTTPStatus.UNAUTHORIZED,
            f"{why}: send a token (Authorization: Bearer …; `cosched token create` makes one), or log in",
        )
    return found


Asker = Annotated[Principal, Depends(asker)]


def needs(scope: Scope) -> Any:
    """Return a dependency that refuses credentials without this scope."""

    async def check(request: Request) -> None:
        if scope not in (await asker(request)).scopes:
            raise RequestError(HTTPStatus.FORBIDDEN, f"this token may not be used for that: it has no scope {scope}")

    return Depends(check)


async def csrf_checked(request: Request) -> None:
    """Refuse a form that a browser may have been tricked into: one without the CSRF token of the page.

    For routers of pages. What is no form has been looked at before any route: its token is in the header X-CSRF-Token.

    Raises:
        RequestError: the token is missing or another one.
    """
    headers = request.headers
    if not _is_form(headers) or not _needs_csrf(request.state.principal, request.method, headers):
        return
    given = headers.get("x-csrf-token") or (await request.form()).get("csrf_token", "")
    if not isinstance(given, str) or not secrets.compare_digest(given.encode(), request.state.csrf.encode()):
        raise RequestError(HTTPStatus.FORBIDDEN, _NOT_OURS)
