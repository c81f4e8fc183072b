"""The account's page: tokens for programs, and for administrators the audit log."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from http import HTTPStatus
from typing import Annotated

from fastapi import Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from cosched.access.principals import Principal, Role, Scope
from cosched.api.problems import NotFoundError
from cosched.app.credential_service import LONGEST_NOTE, CredentialService
from cosched.errors import UserError
from cosched.portal.dependencies import Manager, Portal, sender
from cosched.portal.pages import page_router
from cosched.portal.pages.error_pages import refused_at
from cosched.portal.pages.rendering import render_page

__all__ = ["router"]

_DAY = 86400.0
_AUDIT_LINES = 30
_MEANINGS = {
    Scope.READ: "look at tasks and the domain",
    Scope.SUBMIT: "submit and cancel tasks",
    Scope.MANAGE: "give out and revoke tokens",
    Scope.METRICS: "read figures for Prometheus",
}


router = page_router()


@router.get("/account")
def account(
    request: Request, portal: Portal, principal: Manager, new: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    secret = portal.new_tokens.take(principal.name, new) if new else ""
    return _account_page(request, portal.credentials, principal, secret)


@router.post("/account/tokens")
def create(
    request: Request,
    portal: Portal,
    principal: Manager,
    scopes: Annotated[list[str] | None, Form(alias="scope")] = None,
    days: Annotated[float, Form()] = 30.0,
    note: Annotated[str, Form()] = "",
) -> Response:
    try:
        secret, _ = portal.credentials.create_token(
            principal, sender(request), user="", role="", scopes=scopes or (), lifetime=days * _DAY, note=note
        )
    except UserError as error:
        there = refused_at(request, "/account", str(error))
        return there or _account_page(request, portal.credentials, principal, fault=str(error))
    return RedirectResponse(f"/account?new={portal.new_tokens.put(principal.name, secret)}", HTTPStatus.SEE_OTHER)


@router.post("/account/tokens/{token_id}/revoke")
def revoke(request: Request, portal: Portal, principal: Manager, token_id: str) -> Response:
    if not portal.credentials.revoke(principal, sender(request), token_id):
        raise NotFoundError(f"there is no token {token_id[:80]!r} of yours: reload the page")
    return RedirectResponse("/account", HTTPStatus.SEE_OTHER)


def _account_page(
    request: Request, credentials: CredentialService, principal: Principal, secret: str = "", fault: str = ""
) -> Response:
    entries = credentials.audit_log(principal, _AUDIT_LINES, 0) if principal.role is Role.ADMINISTRATOR else []
    status = HTTPStatus.UNPROCESSABLE_ENTITY if fault else HTTPStatus.OK
    answer = render_page(
        request,
        "account.html",
        status,
        tokens=credentials.tokens(principal, everybody=False),
        entries=entries,
        secret=secret,
        fault=fault,
        meanings=_MEANINGS,
        longest=LONGEST_NOTE,
    )
    answer.headers["Cache-Control"] = "no-store"  # it may show a secret, once
    return answer
