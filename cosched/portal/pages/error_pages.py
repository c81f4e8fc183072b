"""Error pages show a problem document's sentence where a browser asks for a page."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi.responses import JSONResponse, RedirectResponse

from cosched.portal.pages.rendering import render_page
from cosched.portal.refusals import FormRefusal
from cosched.portal.state import portal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fastapi import Request, Response

__all__ = ["refused_at", "with_error_pages"]

_TITLES = {
    HTTPStatus.NOT_FOUND: "There is no such page",
    HTTPStatus.UNAUTHORIZED: "Log in first",
    HTTPStatus.FORBIDDEN: "Not allowed",
    HTTPStatus.SERVICE_UNAVAILABLE: "Not available now",
}


def with_error_pages(answer: Callable[[Request, Exception], Response]) -> Callable[[Request, Exception], Response]:
    """Return an error handler that shows a problem on a page.

    A browser that is not logged in is led to the login page, one that has sent a form to the form's page.
    """

    def handler(request: Request, error: Exception) -> Response:
        response = answer(request, error)
        if not isinstance(response, JSONResponse) or not _for_people(request):
            return response
        if response.status_code == HTTPStatus.UNAUTHORIZED and (goal := _page_of(request)):
            return RedirectResponse(f"/login?{urlencode({'next': goal})}", HTTPStatus.SEE_OTHER)
        detail = json.loads(bytes(response.body))["detail"]
        if request.method == "POST" and (page := _page_of(request)) and (there := refused_at(request, page, detail)):
            return there
        title = _TITLES.get(HTTPStatus(response.status_code), "The request failed")
        section = request.url.path.split("/")[1]
        return render_page(request, "fault.html", response.status_code, title=title, detail=detail, section=section)

    return handler


def refused_at(
    request: Request, page: str, fault: str, fields: Mapping[str, str] | None = None
) -> RedirectResponse | None:
    """Lead a refused form to a page that says why; None where nobody is known whose form it is.

    Args:
        request: the form's.
        page: path and query.
        fault: a sentence.
        fields: what was typed, for a page that shows its form again with it.
    """
    principal = getattr(request.state, "principal", None)
    if principal is None or not principal.name:
        return None
    key = portal_of(request).refusals.put(principal.name, FormRefusal(fault, fields or {}))
    path, _, query = page.partition("?")
    kept = [pair for pair in parse_qsl(query) if pair[0] != "refused"]
    return RedirectResponse(f"{path}?{urlencode([*kept, ('refused', key)])}", HTTPStatus.SEE_OTHER)


def _page_of(request: Request) -> str:
    """Return path and query of the page that was asked for, or of a sent form's page; empty if unknown."""
    page = urlsplit(str(request.url) if request.method == "GET" else request.headers.get("referer", ""))
    if page.netloc != request.url.netloc:
        return ""
    # With two slashes it would be another host's page.
    return f"/{page.path.lstrip('/')}" + (f"?{page.query}" if page.query else "")


def _for_people(request: Request) -> bool:
    path = request.url.path
    return not path.startswith("/api/") and "text/html" in request.headers.get("accept", "")
