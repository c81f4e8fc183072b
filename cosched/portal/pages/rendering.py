"""A template and values become a page; values are escaped, invisible characters shown."""

from __future__ import annotations

import gzip
import hashlib
import time
from functools import cache, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from fastapi.responses import HTMLResponse
from markupsafe import Markup

from cosched import resources
from cosched.access.principals import Role, Scope
from cosched.api.problems import NotFoundError
from cosched.api.times import format_clock, format_moment, zone_named
from cosched.durations import format_duration, format_shift
from cosched.errors import CoschedError
from cosched.licence_requests import licences_text
from cosched.markup import environment
from cosched.portal.middleware.csrf import masked
from cosched.portal.pages.wording import commands, number, plain, sentence, without_attempt
from cosched.portal.state import portal_of
from cosched.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from fastapi import Request
    from jinja2 import Environment

    from cosched.access.principals import Principal
    from cosched.api.documents import Status
    from cosched.portal.refusals import FormRefusal

__all__ = ["page_templates", "refusal_of", "render_page", "zone_of"]

_FOLDER = "portal"
_ONCE = ("part", "refused")  # of an address, that its links do not take over
_SMALL = 4096  # bytes that are not worth compressing
_NAVIGATION = (
    ("/submit", "Submit"),
    ("/tasks", "Tasks"),
    ("/schedule", "Schedule"),
    ("/deadlines", "Deadlines"),
    ("/accuracy", "Accuracy"),
    ("/domain", "Domain"),
    ("/models", "Models"),
)
_FOR_ADMINISTRATORS = (("/administration", "Admin"),)


def render_page(request: Request, template: str, status: int = HTTPStatus.OK, **values: Any) -> HTMLResponse:
    """Return a page, or with `?part=` only the part that a live page asks for.

    Args:
        request: request whose state carries the principal, the nonce and the CSRF token.
        template: its name; its blocks `part_…` can be asked for by themselves.
        status: status of the answer.
        values: for the template.
    """
    templates = page_templates()
    loaded = templates.get_template(f"{_FOLDER}/{template}")
    shown = {**_common(request), **values}
    part = request.query_params.get("part")
    if part is None or status != HTTPStatus.OK:
        if values.get("secret"):  # the length of what is compressed could tell it
            return HTMLResponse(loaded.render(shown), status)
        return _compressed(request, loaded.render(shown), status)
    # A template knows its own blocks alone; those that every page has are the base's.
    blocks = {**templates.get_template(f"{_FOLDER}/base.html").blocks, **loaded.blocks}
    block = blocks.get(f"part_{part}")
    if block is None:
        raise NotFoundError(f"this page has no part {part[:40]!r}")
    return _compressed(request, "".join(block(loaded.new_context(shown))))


def _common(request: Request) -> dict[str, Any]:
    """Return the values that every page shows, the domain's state among them."""
    now = time.time()
    zone = zone_of(request)
    principal = getattr(request.state, "principal", None)
    return {
        "principal": principal,
        "refusal": None if principal is None else refusal_of(request, principal),
        "csrf": masked(getattr(request.state, "csrf", "")),
        "nonce": getattr(request.state, "nonce", ""),
        "navigation": _NAVIGATION + (_FOR_ADMINISTRATORS if _administers(principal) else ()),
        "path": request.url.path,
        "query": partial(_query, request.query_params),
        "status": None if principal is None else _status(request, principal),
        "notices": () if principal is None else portal_of(request).services.notices.notices(),
        "now": now,
        "zone": zone,
        "when": partial(_when, now=now, zone=zone),
        "clock": partial(format_clock, now=now, zone=zone),
        "version": __version__,
    }


def _administers(principal: Principal | None) -> bool:
    return principal is not None and principal.role is Role.ADMINISTRATOR and Scope.MANAGE in principal.scopes


def refusal_of(request: Request, principal: Principal) -> FormRefusal | None:
    """Return the refused form of which the page is to tell, as its address says."""
    key = request.query_params.get("refused", "")
    return portal_of(request).refusals.get(principal.name, key) if key else None


def _status(request: Request, principal: Principal) -> Status | None:
    try:
        return portal_of(request).services.domain.status(principal)
    except CoschedError:  # a page that tells of a fault must not end in it
        return None


def zone_of(request: Request) -> tzinfo | None:
    """Return the time zone that the browser named in a cookie, or None.

    None stands for the zone of this machine.
    """
    return zone_named(request.cookies.get("zone", ""))


def _compressed(request: Request, text: str, status: int = HTTPStatus.OK) -> HTMLResponse:
    """Return a page or its part, compressed where that is worth it.

    It holds no secret that stays the same from page to page: CSRF tokens are masked.
    """
    content = text.encode("utf-8", errors="replace")
    if len(content) < _SMALL or "gzip" not in request.headers.get("accept-encoding", ""):
        return HTMLResponse(content, status)
    headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return HTMLResponse(gzip.compress(content, 4), status, headers)


@cache
def page_templates() -> Environment:
    """Return the templates; they are compiled once in a process."""
    templates = environment(plain)
    templates.filters |= {"duration": format_duration, "shift": format_shift, "number": number}
    templates.filters |= {
        "commands": commands,
        "sentence": sentence,
        "licences": licences_text,
        "without_attempt": without_attempt,
    }
    templates.globals["stamp"] = _stamp()
    return templates


def _stamp() -> str:
    """Return a value that changes with style sheet and script, so that browsers keep them."""
    content = hashlib.sha256()
    for path in sorted((resources.templates() / _FOLDER / "static").iterdir()):
        content.update(path.read_bytes())
    return content.hexdigest()[:12]


def _when(moment: float | None, now: float, zone: Any) -> str:
    if moment is None:
        return "–"
    text = '<time datetime="{}" title="{}">{}</time>'
    return Markup(text).format(f"{moment:.3f}", format_moment(moment, zone), format_clock(moment, now, zone))  # noqa: S704  constant text; format() escapes


def _query(current: Mapping[str, str], **changes: Any) -> str:
    """Return the query of this page with changes; None removes a key."""
    merged = {**current, **changes}
    kept = {key: value for key, value in merged.items() if value not in (None, "") and key not in _ONCE}
    return "?" + urlencode(kept) if kept else "?"
