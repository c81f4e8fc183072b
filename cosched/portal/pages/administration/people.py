"""The administrators' first page: reserved hosts, accounts and everybody's tokens."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, TypeVar

from fastapi import Form, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from cosched.access.principals import Principal, Role, require_administrator
from cosched.api.deadlines import parse_deadline_field
from cosched.api.documents import HostView, ReservationRequest, ShareChange
from cosched.api.problems import NotFoundError
from cosched.errors import UserError
from cosched.portal.dependencies import Manager, Portal, sender
from cosched.portal.pages import page_router
from cosched.portal.pages.administration.span import LENGTHS, end_of_span
from cosched.portal.pages.figures.utilisation import shares_in_force
from cosched.portal.pages.rendering import render_page, zone_of
from cosched.portal.routes.reservations import release_hosts, reserve_hosts
from cosched.portal.routes.shares import set_share

__all__ = ["router"]

_PAGE = "/administration"
_N = TypeVar("_N", int, float)
_ROLES = [role.word for role in Role]


router = page_router()


@router.get(_PAGE)
def administration(request: Request, portal: Portal, principal: Manager, host: str = "") -> Response:
    require_administrator(principal, "see the administrators' page")
    services = portal.services
    hosts = services.domain.hosts(principal)
    return render_page(
        request,
        "administration_people.html",
        reservations=services.reservations.reservations(principal),
        hosts=_by_class(hosts),
        chosen=host,
        lengths=LENGTHS,
        accounts=portal.credentials.accounts(principal),
        roles=_ROLES,
        tokens=portal.credentials.tokens(principal, everybody=True),
        shares=shares_in_force(services, principal),
    )


def _by_class(hosts: Sequence[HostView]) -> dict[str, list[HostView]]:
    found: dict[str, list[HostView]] = {}
    for host in hosts:
        found.setdefault(host.host_class, []).append(host)
    return dict(sorted(found.items()))


@router.post(f"{_PAGE}/reservations")
def reserve(
    request: Request,
    portal: Portal,
    principal: Manager,
    host: Annotated[list[str] | None, Form()] = None,
    start: Annotated[str, Form()] = "",
    end: Annotated[str, Form()] = "",
    lasting: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
) -> Response:
    """Keep hosts for others: until a time, or for one of the usual lengths."""
    zone = zone_of(request)
    begin = parse_deadline_field(start, zone)
    until = end_of_span("the reservation", time.time() if begin is None else begin, end, lasting, zone)
    wanted = ReservationRequest(hosts=tuple(host or ()), start=begin, end=until, name=name.strip())
    reserve_hosts(portal, principal, wanted, sender(request))
    return _back()


@router.post(f"{_PAGE}/reservations/{{reservation_id}}/release")
def release(request: Request, portal: Portal, principal: Manager, reservation_id: str) -> Response:
    release_hosts(portal, principal, reservation_id, sender(request))
    return _back()


@router.post(f"{_PAGE}/shares")
async def change_share(request: Request, portal: Portal, principal: Manager) -> Response:
    """Set what is given of a user's or group's share; what is left empty stays as it is."""
    async with request.form() as form:
        fields = {name: value.strip() for name, value in form.items() if isinstance(value, str)}
    key = (fields.get("kind", ""), fields.get("name", ""))
    wanted = ShareChange(
        weight=_number(fields, "weight", float),
        budget=_number(fields, "budget", float),
        hosts=_number(fields, "hosts", int),
        waiting=_number(fields, "waiting", int),
        group=fields.get("group") or None,
        reset=bool(fields.get("reset")),
    )
    await run_in_threadpool(set_share, portal, principal, key, wanted, sender(request))
    return _back()


def _number(fields: Mapping[str, str], name: str, read: Callable[[str], _N]) -> _N | None:
    text = fields.get(name, "")
    try:
        return read(text) if text else None
    except ValueError:
        raise UserError(f"{name} is a number, not {text[:40]!r}") from None


@router.post(f"{_PAGE}/accounts")
def add_account(
    request: Request,
    portal: Portal,
    principal: Manager,
    name: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
    role: Annotated[str, Form()] = "user",
) -> Response:
    portal.credentials.add_account(principal, sender(request), name.strip(), password, role)
    return _back()


@router.post(f"{_PAGE}/accounts/{{name}}")
def change_account(
    request: Request,
    portal: Portal,
    principal: Manager,
    name: str,
    role: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
    enabled: Annotated[str, Form()] = "",
) -> Response:
    """Change what is given; what is left empty stays as it is."""
    _check_other(principal, name)
    portal.credentials.change_account(
        principal,
        sender(request),
        name,
        password=password or None,
        role=role or None,
        enabled={"yes": True, "no": False}.get(enabled),
    )
    return _back()


@router.post(f"{_PAGE}/accounts/{{name}}/remove")
def remove_account(request: Request, portal: Portal, principal: Manager, name: str) -> Response:
    _check_other(principal, name)
    portal.credentials.remove_account(principal, sender(request), name)
    return _back()


@router.post(f"{_PAGE}/tokens/{{token_id}}/revoke")
def revoke(request: Request, portal: Portal, principal: Manager, token_id: str) -> Response:
    require_administrator(principal, "revoke the tokens of others")
    if not portal.credentials.revoke(principal, sender(request), token_id):
        raise NotFoundError(f"there is no token {token_id[:80]!r}: reload the page")
    return _back()


def _check_other(principal: Principal, name: str) -> None:
    if principal.name == name:
        raise UserError("this is your own account: another administrator changes it, lest nobody is left who can")


def _back() -> RedirectResponse:
    return RedirectResponse(_PAGE, HTTPStatus.SEE_OTHER)
