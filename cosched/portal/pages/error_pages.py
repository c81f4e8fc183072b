"""Error pages show a problem document's sentence where a browser asks for a page."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from fastapi.responses import JSONResponse, RedirectResponse

from cosched.portal.pages.rendering import render_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Request, Response

__all__ = ["with_error_pages"]

_TITLES = {
    HTTPStatus.NOT_FOUND: "There is no such page",
    HTTPStatus.UNAUTHORIZED: "Log in first",
    HTTPStatus.FORBIDDEN: "Not allowed",
    HTTPStatus.SERVICE_UNAVAILABLE: "Not available now",
}


def with_error_pages(answer: Callable[[Request, Exception], Response]) -> Callable[[Request, Exception], Response]:
    """Return an error handler that shows a problem on a page.

    A browser that is not logged in is led to the login page.
    """

    def handler(request: Request, error: Exception) -> Response:
        response = answer(request, error)
        if not isinstance(response, JSONResponse) or not _for_people(request):
            return response
        if response.status_code == HTTPStatus.UNAUTHORIZED and (goal := _page_of(request)):
            return RedirectResponse(f"/login?{urlencode({'next': goal})}", HTTPStatus.SEE_OTHER)
        detail = json.loads(bytes(response.body))["detail"]
        title = _TITLES.get(HTTPStatus(response.status_code), "The request failed")
        return render_page(request, "fault.html", response.status_code, title=title, detail=detail)

    return handler


def _page_of(request: Request) -> str:
    """Return path and query of the page that was asked for, or of a sent form's page; empty if unknown."""
    page = urlsplit(str(request.url) if request.method == "GET" else request.headers.get("referer", ""))
    if page.netloc != request.url.netloc:
        return ""
    return page.path + (f"?{page.query}" if page.query else "")


def _for_people(request: Request) -> bool:
    path = request.url.path
    return not path.startswith("/api/") and "text/html" in request.headers.get("accept", "")
