"""Routes that log a browser in and out.

A user gives name and password of a local account, or follows a link from `cosched portal`.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from cosched.access.accounts import LoginError
from cosched.access.authentication import COOKIE, SECURE_COOKIE, Authenticator
from cosched.access.principals import ProofOfIdentity
from cosched.portal.dependencies import Portal, csrf_checked, sender
from cosched.portal.pages.rendering import render_page

__all__ = ["local_path", "router"]


router = APIRouter(include_in_schema=False)


@router.get("/login")
def page(
    request: Request, portal: Portal, ticket: str = "", goal: Annotated[str, Query(alias="next")] = "/"
) -> Response:
    if not ticket:
        return _login_page(request, goal)
    try:
        user = portal.access.link_user(ticket)
    except LoginError as error:
        return _login_page(request, goal, str(error))
    # Another site may have opened the link: a browser's login is changed only by a press of our button.
    return render_page(request, "login_link.html", goal=local_path(goal), ticket=ticket, user=user)


@router.post("/login/link", dependencies=[Depends(csrf_checked)])
def enter_by_link(
    request: Request,
    portal: Portal,
    ticket: Annotated[str, Form()] = "",
    goal: Annotated[str, Form(alias="next")] = "/",
) -> Response:
    try:
        return _entered(request, portal.access, portal.access.redeem(ticket, sender(request)), goal)
    except LoginError as error:
        return _login_page(request, goal, str(error))


@router.post("/login")
def enter(
    request: Request,
    portal: Portal,
    name: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
    goal: Annotated[str, Form(alias="next")] = "/",
) -> Response:
    try:
        return _entered(request, portal.access, portal.access.login(name, password, sender(request)), goal)
    except LoginError as error:
        return _login_page(request, goal, str(error))


@router.post("/logout", dependencies=[Depends(csrf_checked)])
def leave(request: Request, portal: Portal) -> Response:
    principal = request.state.principal
    cookie = request.cookies.get(SECURE_COOKIE) or request.cookies.get(COOKIE) or ""
    if principal is not None and principal.how is ProofOfIdentity.SESSION:
        portal.access.sessions.end(secret=cookie)
        portal.access.log(principal, sender(request), "logout", "")
    answer = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
    answer.delete_cookie(COOKIE, httponly=True, samesite="lax")
    answer.delete_cookie(SECURE_COOKIE, secure=True, httponly=True, samesite="lax")
    return answer


def local_path(goal: str) -> str:
    """Return a path of ours to go on to: never another site's address."""
    fine = goal.startswith("/") and not goal.startswith(("//", "/\\")) and goal.isprintable() and "\\" not in goal
    return goal if fine else "/"


def _login_page(request: Request, goal: str, fault: str = "") -> Response:
    status = HTTPStatus.FORBIDDEN if fault else HTTPStatus.OK
    return render_page(request, "login.html", status, goal=local_path(goal), fault=fault)


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
