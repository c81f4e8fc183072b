"""Routes for credentials: tokens, accounts, login links and the audit log."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from cosched.access.accounts import LONGEST_PASSWORD, SHORTEST_PASSWORD
from cosched.access.principals import Role, Scope
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
from cosched.app.credential_service import LONGEST_NOTE
from cosched.portal.dependencies import AnyPrincipal, Manager, Portal, sender
from cosched.portal.request_bodies import RequestBody
from cosched.portal.routes import api_router
from cosched.store.credentials import AccountRow, TokenRow
from cosched.user_names import USER_NAME

__all__ = ["router"]

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


router = api_router("access")


@router.get("/me")
async def _me(principal: AnyPrincipal) -> Me:
    """Say who you are to cosched, and what you may do."""
    return Me(
        name=principal.name, role=principal.role.word, scopes=tuple(sorted(principal.scopes)), how=str(principal.how)
    )


@router.post("/tokens", status_code=HTTPStatus.CREATED, openapi_extra=_TOKEN.description)
async def create(request: Request, portal: Portal, principal: Manager) -> NewToken:
    """Give out a token; it is shown in this answer and never again."""
    wanted = _TOKEN.read(await request.body())
    text, row = await run_in_threadpool(
        portal.credentials.create_token,
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
    portal: Portal,
    principal: Manager,
    everybody: Annotated[bool, Query(description="Also those of others; for administrators.")] = False,
) -> list[TokenView]:
    """List tokens, without their secrets."""
    return [TokenView(**_token(row)) for row in portal.credentials.tokens(principal, everybody=everybody)]


@router.delete("/tokens/{token_id}", status_code=HTTPStatus.NO_CONTENT)
def revoke(request: Request, portal: Portal, principal: Manager, token_id: _Name) -> Response:
    """Revoke a token."""
    if not portal.credentials.revoke(principal, sender(request), token_id):
        raise NotFoundError(f"there is no token {token_id[:80]!r}: `cosched token list` shows what there is")
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.post("/accounts", status_code=HTTPStatus.CREATED, openapi_extra=_ACCOUNT.description)
async def add(request: Request, portal: Portal, principal: Manager) -> AccountView:
    """Make a local account; for administrators."""
    wanted = _ACCOUNT.read(await request.body())
    row = await run_in_threadpool(
        portal.credentials.add_account, principal, sender(request), wanted.name, wanted.password, wanted.role
    )
    return _account(row)


@router.get("/accounts")
def accounts(portal: Portal, principal: Manager) -> list[AccountView]:
    """List local accounts; for administrators."""
    return [_account(row) for row in portal.credentials.accounts(principal)]


@router.patch("/accounts/{name}", openapi_extra=_CHANGE.description)
async def change(request: Request, portal: Portal, principal: Manager, name: _Name) -> AccountView:
    """Change an account; its sessions and tokens end."""
    wanted = _CHANGE.read(await request.body())
    row = await run_in_threadpool(
        portal.credentials.change_account,
        principal,
        sender(request),
        name,
        password=wanted.password,
        role=wanted.role,
        enabled=wanted.enabled,
    )
    return _account(row)


@router.delete("/accounts/{name}", status_code=HTTPStatus.NO_CONTENT)
def remove(request: Request, portal: Portal, principal: Manager, name: _Name) -> Response:
    """Forget an account with its sessions and tokens; its tasks stay."""
    portal.credentials.remove_account(principal, sender(request), name)
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.post("/login-links", status_code=HTTPStatus.CREATED)
def link(request: Request, portal: Portal, principal: Manager) -> LoginLink:
    """Make a link that logs a browser in as you, once and within five minutes."""
    base = portal.pages_address()
    return LoginLink(url=f"{base}/login?ticket={portal.credentials.ticket(principal, sender(request))}")


@router.get("/audit")
def audit(
    portal: Portal,
    principal: Manager,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> list[AuditEntryView]:
    """Show the audit log, newest first; for administrators."""
    return [AuditEntryView(**asdict(entry)) for entry in portal.credentials.audit_log(principal, limit, offset)]


def _token(row: TokenRow) -> dict[str, Any]:
    return {key: value for key, value in asdict(row).items() if key != "digest"}


def _account(row: AccountRow) -> AccountView:
    return AccountView(name=row.name, role=row.role, created=row.created, enabled=row.enabled)
