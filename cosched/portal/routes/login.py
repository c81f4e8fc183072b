"""Logging a browser in and out: with name and password of a local account, or with a link from `cosched portal`."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from cosched.access.accounts import LoginError
from cosched.access.authentication import COOKIE, SECURE_COOKIE, Authenticator
from cosched.access.principals import ProofOfIdentity
from cosched.portal.dependencies import csrf_checked, sender
from cosched.portal.pages.rendering import Renderer

__all__ = ["local_path", "login_routes"]


def login_routes(access: Authenticator, renderer: Renderer) -> APIRouter:
    """Return `GET /login`, `POST /login` and `POST /logout`."""
    router = APIRouter(include_in_schema=False)

    def shown(request: Request, goal: str, fault: str = "") -> Response:
        status = HTTPStatus.FORBIDDEN if fault else HTTPStatus.OK
        return renderer.page(request, "login.html", status, goal=local_path(goal), fault=fault)

    @router.get("/login")
    def page(request: Request, ticket: str = "", goal: Annotated[str, Query(alias="next")] = "/") -> Response:
        if not ticket:
            return shown(request, goal)
        try:
            return _entered(request, access, access.redeem(ticket, sender(request)), goal)
        except LoginError as error:
            return shown(request, goal, str(error))

    @router.post("/login")
    def enter(
        request: Request,
        name: Annotated[str, Form()] = "",
        password: Annotated[str, Form()] = "",
        goal: Annotated[str, Form(alias="next")] = "/",
    ) -> Response:
        try:
            return _entered(request, access, access.login(name, password, sender(request)), goal)
        except LoginError as error:
            return shown(request, goal, str(error))

    @router.post("/logout", dependencies=[Depends(csrf_checked)])
    def leave(request: Request) -> Response:
        principal = request.state.principal
        cookie = request.cookies.get(SECURE_COOKIE) or request.cookies.get(COOKIE) or ""
        if principal is not None and principal.how is ProofOfIdentity.SESSION:
            access.sessions.end(secret=cookie)
            access.log(principal, sender(request), "logout", "")
        answer = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
        answer.delete_cookie(COOKIE, httponly=True, samesite="lax")
        answer.delete_cookie(SECURE_COOKIE, secure=True, httponly=True, samesite="lax")
        return answer

    return router


def local_path(goal: str) -> str:
    """Return a path of ours to go on to: never another site's address."""
    fine = goal.startswith("/") and not goal.startswith(("//", "/\\")) and goal.isprintable() and "\\" not in goal
    return goal if fine else "/"


def _entered(request: Request, access: Authenticator, session: tuple[str, float], goal: str) -> Response:
    secret, expires = session
    secure = request.state.identified.secure
    answer = RedirectResponse(local_path(goal), HTTPStatus.SEE_OTHER)
    answer.set_cookie(
        SECURE_COOKIE if secure else COOKIE,
        secret,
        max_age=round(expires - access.now()),
        path="/",
        secure=secure,
        httponly=True,
        samesite="lax",
    )
    return answer
