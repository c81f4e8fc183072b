"""The identity middleware finds out who sends a request, before any route runs.

Routes take the result through `portal/dependencies.py`.
"""

import math
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Protocol

from fastapi import Response
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connection

from cosched.access.authentication import Identity
from cosched.access.principals import Principal, ProofOfIdentity
from cosched.access.proxies import RequestEvidence
from cosched.portal.middleware.csrf import is_token
from cosched.portal.middleware.headers import is_form
from cosched.portal.responses import problem_response

__all__ = ["IdentityGate", "IdentityMiddleware"]

# No `from __future__ import annotations`: FastAPI reads the annotations of dependencies when it takes them.


_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
CSRF_REFUSAL = "the page is too old or not ours (no CSRF token): reload it and try again"


class IdentityGate(Protocol):
    """The part of `cosched.access.authentication.Authenticator` that `Identify` needs."""

    def identify(self, evidence: RequestEvidence) -> Identity:
        """Return the principal of a request."""
        ...

    def rate_limit(self, identified: Identity) -> float:
        """Count a request; return for how many seconds its sender must wait, 0 for none."""
        ...


class IdentityMiddleware:
    """ASGI middleware: puts `principal`, `csrf`, a fresh `nonce` and `still_identified` into the request's state.

    Whoever asks too often, or changes something from a page that is not ours, is refused before anything is done.
    """

    def __init__(self, app: "ASGIApp", gate: IdentityGate) -> None:
        """Wrap `app`; `gate` identifies the user."""
        self._app = app
        self._gate = gate

    async def __call__(self, scope: "Connection", receive: "Receive", send: "Send") -> None:
        """Find the principal and pass the request on."""
        if scope["type"] == "http":
            state: dict[str, Any] = scope.setdefault("state", {})
            evidence = _evidence(scope)
            found = self._gate.identify(evidence)
            state |= {
                "principal": found.principal,
                "csrf": found.csrf,
                "nonce": secrets.token_urlsafe(16),
                "identified": found,
                "still_identified": lambda: self._gate.identify(evidence).principal == found.principal,
            }
            refusal = self._refusal(found, scope["method"], evidence.headers)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, found: Identity, method: str, headers: Mapping[str, str]) -> Response | None:
        pause = self._gate.rate_limit(found)
        if pause > 0:
            return problem_response(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"you ask too often: wait {pause:.1f} s",
                {"Retry-After": str(math.ceil(pause))},
            )
        asks_for_token = not is_form(headers) and needs_csrf(found.principal, method, headers)
        if asks_for_token and not is_token(headers.get("x-csrf-token", ""), found.csrf):
            return problem_response(HTTPStatus.FORBIDDEN, CSRF_REFUSAL)
        return None


def needs_csrf(principal: Principal | None, method: str, headers: Mapping[str, str]) -> bool:
    """Return whether a request needs a CSRF token.

    It does where it changes something with credentials that a browser sends by itself.
    """
    by_itself = principal is not None and principal.how in (ProofOfIdentity.TOKEN, ProofOfIdentity.LEAD)
    if method in _SAFE_METHODS or principal is None or by_itself:
        return False
    # At a socket, programs of the user's own ask; browsers reach it only through a tunnel, and say their origin.
    return principal.how is not ProofOfIdentity.SOCKET or is_form(headers) or "origin" in headers


def _evidence(scope: "Connection") -> RequestEvidence:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    peer = scope["state"].get("peer")
    client = scope.get("client")
    return RequestEvidence(peer, client[0] if client and peer is None else "", scope.get("scheme") == "https", headers)
