"""Dependencies give routes the domain's services and a request's principal.

A request without the needed scope is refused.

`Services` and `Portal` are the daemon's own values. `Reader`, `Submitter` and `Manager` are principals with that scope;
`AnyPrincipal` is any known one.
"""

from collections.abc import Awaitable, Callable
from functools import cache
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Request

from cosched.access.principals import Principal, Scope
from cosched.api.problems import RequestError
from cosched.app.services import DomainServices
from cosched.portal.middleware.csrf import is_token
from cosched.portal.middleware.headers import is_form
from cosched.portal.middleware.identity import CSRF_REFUSAL, needs_csrf
from cosched.portal.state import PortalState, portal_of

__all__ = [
    "AnyPrincipal",
    "Manager",
    "Portal",
    "Reader",
    "Services",
    "Submitter",
    "csrf_checked",
    "current_principal",
    "needs",
    "sender",
]


async def _portal(request: Request) -> PortalState:
    return portal_of(request)


async def _services(request: Request) -> DomainServices:
    return portal_of(request).services


Portal = Annotated[PortalState, Depends(_portal)]
Services = Annotated[DomainServices, Depends(_services)]


def sender(request: Request) -> str:
    """Return from where a request came, for the audit log: an IP address, or "unix"."""
    return str(request.state.identified.address)


async def current_principal(request: Request) -> Principal:
    """Return the principal.

    Raises:
        RequestError: that is not known.
    """
    found: Principal | None = request.state.principal
    if found is None:
        why = request.state.identified.reason or "the user is not known"
        raise RequestError(
            HTTPStatus.UNAUTHORIZED,
            f"{why}: send a token (Authorization: Bearer …; `cosched token create` makes one), or log in",
        )
    return found


def check_scope(principal: Principal, scope: Scope) -> None:
    """Refuse a credential without this scope.

    Raises:
        RequestError: it has not this scope.
    """
    if scope not in principal.scopes:
        raise RequestError(HTTPStatus.FORBIDDEN, f"this token may not be used for that: it has no scope {scope}")


@cache
def _principal_with(scope: Scope) -> Callable[[Request], Awaitable[Principal]]:
    # One function for each scope: FastAPI calls it once a request, however many dependencies name it.
    async def principal_with_scope(request: Request) -> Principal:
        principal = await current_principal(request)
        check_scope(principal, scope)
        return principal

    return principal_with_scope


AnyPrincipal = Annotated[Principal, Depends(current_principal)]
Reader = Annotated[Principal, Depends(_principal_with(Scope.READ))]
Submitter = Annotated[Principal, Depends(_principal_with(Scope.SUBMIT))]
Manager = Annotated[Principal, Depends(_principal_with(Scope.MANAGE))]


def needs(scope: Scope) -> Any:
    """Return a dependency that refuses credentials without this scope, for routes that take no principal."""
    return Depends(_principal_with(scope))


async def csrf_checked(request: Request) -> None:
    """Refuse a form that has no CSRF token of the page.

    A browser may have been tricked into sending it.

    For routers of pages. What is no form has been looked at before any route: its token is in the header X-CSRF-Token.

    Raises:
        RequestError: the token is missing or another one.
    """
    headers = request.headers
    if not is_form(headers) or not needs_csrf(request.state.principal, request.method, headers):
        return
    given = headers.get("x-csrf-token") or (await request.form()).get("csrf_token", "")
    if not isinstance(given, str) or not is_token(given, request.state.csrf):
        raise RequestError(HTTPStatus.FORBIDDEN, CSRF_REFUSAL)
