"""Routes about who may do what: tokens, accounts, links that log a browser in, the audit log."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from cosched.access.accounts import LONGEST_PASSWORD, SHORTEST_PASSWORD
from cosched.access.principals import USER_NAME, Role, Scope
from cosched.api.documents import (
    AccountChange,
    AccountRequest,
    AccountView,
    AuditEntryView,
    LoginLink,
    Me,
    NewToken,
    TokenRequest,
    TokenView,
)
from cosched.api.problems import NotFoundError
from cosched.app.credential_service import LONGEST_NOTE, CredentialService
from cosched.portal.dependencies import AnyPrincipal, needs, sender
from cosched.portal.request_bodies import RequestBody
from cosched.store.credentials import AccountRow, TokenRow

__all__ = ["credential_routes"]

_ROLES = [role.word for role in Role]
_NAMED = {"pattern": f"^{USER_NAME}$"}
_PASSWORD = {"minLength": SHORTEST_PASSWORD, "maxLength": LONGEST_PASSWORD}
_TOKEN = RequestBody(
    TokenRequest,
    "a token",
    {
        "user": {"pattern": f"^({USER_NAME})?$"},
        "role": {"enum": ["", *_ROLES]},
        "scopes": {"minItems": 1, "items": {"enum": [str(scope) for scope in Scope]}},
        "lifetime": {"exclusiveMinimum": 0, "maximum": 366 * 86400},
        "note": {"maxLength": LONGEST_NOTE},
    },
)
_ACCOUNT = RequestBody(AccountRequest, "an account", {"name": _NAMED, "password": _PASSWORD, "role": {"enum": _ROLES}})
_CHANGE = RequestBody(
    AccountChange,
    "a change",
    {
        "password": {"anyOf": [{"type": "string", **_PASSWORD}, {"type": "null"}]},
        "role": {"enum": [None, *_ROLES]},
    },
)
_Name = Annotated[str, Path(max_length=64)]


def credential_routes(grants: CredentialService, portal: Callable[[], str]) -> APIRouter:
    """Return the routes.

    Args:
        grants: does what is asked.
        portal: returns the address of the pages; raises `UserError` where there is none.
    """
    router = APIRouter(tags=["access"])
    router.get("/me")(_me)
    router.include_router(_tokens(grants), dependencies=[needs(Scope.MANAGE)])
    router.include_router(_accounts(grants), dependencies=[needs(Scope.MANAGE)])

    @router.post("/login-links", status_code=HTTPStatus.CREATED, dependencies=[needs(Scope.MANAGE)])
    def link(request: Request, principal: AnyPrincipal) -> LoginLink:
        """Make a link that logs a browser in as you, once and within five minutes."""
        base = portal()
        return LoginLink(url=f"{base}/login?ticket={grants.ticket(principal, sender(request))}")

    @router.get("/audit", dependencies=[needs(Scope.MANAGE)])
    def audit(
        principal: AnyPrincipal,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    ) -> list[AuditEntryView]:
        """Show the audit log, newest first; for administrators."""
        return [AuditEntryView(**asdict(deed)) for deed in grants.audit_log(principal, limit, offset)]

    return router


async def _me(principal: AnyPrincipal) -> Me:
    """Say who you are to cosched, and what you may do."""
    return Me(
        name=principal.name, role=principal.role.word, scopes=tuple(sorted(principal.scopes)), how=str(principal.how)
    )


def _tokens(grants: CredentialService) -> APIRouter:
    router = APIRouter()

    @router.post("/tokens", status_code=HTTPStatus.CREATED, openapi_extra=_TOKEN.description)
    async def create(request: Request, principal: AnyPrincipal) -> NewToken:
        """Give out a token; it is shown in this answer and never again."""
        wanted = _TOKEN.read(await request.body())
        text, row = await run_in_threadpool(
            grants.create_token,
            principal,
            sender(request),
            user=wanted.user,
            role=wanted.role,
            scopes=wanted.scopes,
            lifetime=wanted.lifetime,
            note=wanted.note,
        )
        return NewToken(token=text, **_token(row))

    @router.get("/tokens")
    def tokens(
        principal: AnyPrincipal,
        everybody: Annotated[bool, Query(description="Also those of others; for administrators.")] = False,
    ) -> list[TokenView]:
        """List tokens, without their secrets."""
        return [TokenView(**_token(row)) for row in grants.tokens(principal, everybody=everybody)]

    @router.delete("/tokens/{token_id}", status_code=HTTPStatus.NO_CONTENT)
    def revoke(request: Request, principal: AnyPrincipal, token_id: _Name) -> Response:
        """Revoke a token."""
        if not grants.revoke(principal, sender(request), token_id):
            raise NotFoundError(f"there is no token {token_id[:80]!r}: `cosched token list` shows what there is")
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return router


def _accounts(grants: CredentialService) -> APIRouter:
    router = APIRouter()

    @router.post("/accounts", status_code=HTTPStatus.CREATED, openapi_extra=_ACCOUNT.description)
    async def add(request: Request, principal: AnyPrincipal) -> AccountView:
        """Make a local account; for administrators."""
        wanted = _ACCOUNT.read(await request.body())
        row = await run_in_threadpool(
            grants.add_account, principal, sender(request), wanted.name, wanted.password, wanted.role
        )
        return _account(row)

    @router.get("/accounts")
    def accounts(principal: AnyPrincipal) -> list[AccountView]:
        """List local accounts; for administrators."""
        return [_account(row) for row in grants.accounts(principal)]

    @router.patch("/accounts/{name}", openapi_extra=_CHANGE.description)
    async def change(request: Request, principal: AnyPrincipal, name: _Name) -> AccountView:
        """Change an account; its sessions and tokens end."""
        wanted = _CHANGE.read(await request.body())
        row = await run_in_threadpool(
            grants.change_account,
            principal,
            sender(request),
            name,
            password=wanted.password,
            role=wanted.role,
            enabled=wanted.enabled,
        )
        return _account(row)

    @router.delete("/accounts/{name}", status_code=HTTPStatus.NO_CONTENT)
    def remove(request: Request, principal: AnyPrincipal, name: _Name) -> Response:
        """Forget an account with its sessions and tokens; its tasks stay."""
        grants.remove_account(principal, sender(request), name)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return router


def _token(row: TokenRow) -> dict[str, Any]:
    return {key: value for key, value in asdict(row).items() if key not in ("digest", "source")}


def _account(row: AccountRow) -> AccountView:
    return AccountView(name=row.name, role=row.role, created=row.created, enabled=row.enabled)
