"""The administrators' pages about the daemon itself: its health, its configuration, and what it tells everybody."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import time
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse

from cosched.access.principals import require_administrator
from cosched.api.documents import ConfigurationEntry, NoticeRequest, ProcessView
from cosched.app.domain_notices import LONGEST_NOTICE
from cosched.portal.dependencies import Manager, Portal, sender
from cosched.portal.pages import page_router
from cosched.portal.pages.administration.span import LENGTHS, end_of_span
from cosched.portal.pages.rendering import render_page, zone_of
from cosched.portal.routes.administration import remove_notice, write_notice

__all__ = ["ProcessGroup", "grouped", "router"]

_HEALTH, _CONFIGURATION, _NOTICES = (f"/administration/{page}" for page in ("health", "configuration", "notices"))


router = page_router()


@router.get(_HEALTH)
def health(request: Request, portal: Portal, principal: Manager) -> Response:
    report = portal.services.administration.health(principal)
    return render_page(request, "administration_health.html", report=report, processes=grouped(report.processes))


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """Processes with one purpose; what they occupy and have had is the sum."""

    purpose: str
    pids: tuple[int, ...]
    memory: int
    seconds: float
    started: float


def grouped(processes: Iterable[ProcessView]) -> list[ProcessGroup]:
    """Return the processes by purpose, in the order of their first."""
    found: dict[str, list[ProcessView]] = {}
    for each in processes:
        found.setdefault(each.purpose, []).append(each)
    return [
        ProcessGroup(
            purpose,
            tuple(each.pid for each in group),
            sum(each.memory for each in group),
            sum(each.seconds for each in group),
            min(each.started for each in group),
        )
        for purpose, group in found.items()
    ]


@router.get(_CONFIGURATION)
def configuration(request: Request, portal: Portal, principal: Manager, search: str = "", own: str = "") -> Response:
    """Show the keys in force; `own` leaves out those that have their defaults."""
    entries = portal.services.administration.configuration(principal)
    words = search.lower().split()
    shown = [
        entry
        for entry in entries
        if not (own and entry.origin == "default")
        and all(word in f"{entry.key} {entry.origin}".lower() for word in words)
    ]
    return render_page(
        request,
        "administration_configuration.html",
        sections=_by_section(shown),
        total=len(entries),
        changed=sum(entry.origin != "default" for entry in entries),
        search=search,
        own=own,
        written=_written,
    )


def _by_section(entries: list[ConfigurationEntry]) -> dict[str, list[ConfigurationEntry]]:
    found: dict[str, list[ConfigurationEntry]] = {}
    for entry in entries:
        found.setdefault(entry.key.rpartition(".")[0], []).append(entry)
    return found


def _written(entry: ConfigurationEntry) -> str:
    """Return a value as the file would have it, or that it is a secret."""
    return "set, and not shown" if entry.secret else entry.value


@router.get(_NOTICES)
def notices(request: Request, principal: Manager) -> Response:
    require_administrator(principal, "write and remove notices")
    return render_page(request, "administration_notices.html", lengths=LENGTHS, longest=LONGEST_NOTICE)


@router.post(_NOTICES)
def add_notice(
    request: Request,
    portal: Portal,
    principal: Manager,
    text: Annotated[str, Form()] = "",
    lasting: Annotated[str, Form()] = "",
    until: Annotated[str, Form()] = "",
) -> Response:
    """Show a line on all pages: until a time, or for one of the usual lengths."""
    end = end_of_span("the notice", time.time(), until, lasting, zone_of(request))
    write_notice(portal, principal, NoticeRequest(text=text, until=end), sender(request))
    return RedirectResponse(_NOTICES, HTTPStatus.SEE_OTHER)


@router.post(f"{_NOTICES}/{{notice_id}}/remove")
def remove(request: Request, portal: Portal, principal: Manager, notice_id: str) -> Response:
    remove_notice(portal, principal, notice_id, sender(request))
    return RedirectResponse(_NOTICES, HTTPStatus.SEE_OTHER)
