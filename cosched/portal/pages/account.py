"""The account's page: tokens for programs, and for administrators the audit log."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from cosched.access.principals import Principal, Role, Scope
from cosched.api.problems import NotFoundError
from cosched.app.credential_service import LONGEST_NOTE, CredentialService
from cosched.errors import UserError
from cosched.portal.dependencies import Asker, needs, sender
from cosched.portal.pages.rendering import Renderer

__all__ = ["routes"]

_DAY = 86400.0
_DEEDS = 30
_MEANINGS = {
    Scope.READ: "look at tasks and the domain",
    Scope.SUBMIT: "submit and cancel tasks",
    Scope.MANAGE: "give out and revoke tokens",
    Scope.METRICS: "read figures for Prometheus",
}


def routes(grants: CredentialService, renderer: Renderer) -> APIRouter:
    """Return the routes of the page."""
    router = APIRouter(dependencies=[needs(Scope.MANAGE)])

    def shown(request: Request, asker: Principal, secret: str = "", fault: str = "") -> Response:
        deeds = grants.audit_log(asker, _DEEDS, 0) if asker.role is Role.ADMINISTRATOR else []
        status = HTTPStatus.UNPROCESSABLE_ENTITY if fault else HTTPStatus.OK
        answer = renderer.page(
            request,
            "account.html",
            status,
            tokens=grants.tokens(asker, everybody=False),
            deeds=deeds,
            secret=secret,
            fault=fault,
            meanings=_MEANINGS,
            longest=LONGEST_NOTE,
        )
        answer.headers["Cache-Control"] = "no-store"  # it may show a secret, once
        return answer

    @router.get("/account")
    def account(request: Request, asker: Asker) -> Response:
        return shown(request, asker)

    @router.post("/account/tokens")
    def create(
        request: Request,
        asker: Asker,
        scopes: Annotated[list[str] | None, Form(alias="scope")] = None,
        days: Annotated[float, Form()] = 30.0,
        note: Annotated[str, Form()] = "",
    ) -> Response:
        try:
            secret, _ = grants.create_token(
                asker, sender(request), user="", role="", scopes=scopes or (), lifetime=days * _DAY, note=note
            )
        except UserError as error:
            return shown(request, asker, fault=str(error))
        return shown(request, asker, secret)

    @router.post("/account/tokens/{token_id}/revoke")
    def revoke(request: Request, asker: Asker, token_id: str) -> Response:
        if not grants.revoke(asker, sender(request), token_id):
            raise NotFoundError(f"there is no token {token_id[:80]!r} of yours: reload the page")
        return RedirectResponse("/account", HTTPStatus.SEE_OTHER)

    return router
