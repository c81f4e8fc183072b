"""Say who asks, for every route of API and pages; refuse where the scope does not allow it."""

import secrets
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Request

from cosched.access.principals import Principal, Scope
from cosched.api.problems import RequestError
from cosched.portal.middleware.identity import CSRF_REFUSAL, is_form, needs_csrf

__all__ = ["Asker", "csrf_checked", "current_principal", "needs", "sender"]


def sender(request: Request) -> str:
    """Return from where a request came, for the audit log: an IP address, or "unix"."""
    return str(request.state.identified.address)


async def current_principal(request: Request) -> Principal:
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


Asker = Annotated[Principal, Depends(current_principal)]


def needs(scope: Scope) -> Any:
    """Return a dependency that refuses credentials without this scope."""

    async def check(request: Request) -> None:
        if scope not in (await current_principal(request)).scopes:
            raise RequestError(HTTPStatus.FORBIDDEN, f"this token may not be used for that: it has no scope {scope}")

    return Depends(check)


async def csrf_checked(request: Request) -> None:
    """Refuse a form that a browser may have been tricked into: one without the CSRF token of the page.

    For routers of pages. What is no form has been looked at before any route: its token is in the header X-CSRF-Token.

    Raises:
        RequestError: the token is missing or another one.
    """
    headers = request.headers
    if not is_form(headers) or not needs_csrf(request.state.principal, request.method, headers):
        return
    given = headers.get("x-csrf-token") or (await request.form()).get("csrf_token", "")
    if not isinstance(given, str) or not secrets.compare_digest(given.encode(), request.state.csrf.encode()):
        raise RequestError(HTTPStatus.FORBIDDEN, CSRF_REFUSAL)
