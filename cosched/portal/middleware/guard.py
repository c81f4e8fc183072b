"""Bound each request's body, and refuse host names that are not ours."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi.responses import RedirectResponse

from cosched.portal.middleware.headers import content_type, is_form
from cosched.portal.refusals import TOO_LARGE
from cosched.portal.responses import problem_response

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["RequestGuard"]

_JSON = "application/json"
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::[0-9]*)?", re.ASCII)  # Host of RFC 9110, section 7.2


class _TooLargeError(Exception):
    pass


class RequestGuard:
    """ASGI middleware.

    A page in a user's browser can make it send requests to this machine under a name of the page's own (DNS
    rebinding) or without asking (forms): requests for other hosts, from other origins, or that change something and
    are not JSON are refused.
    """

    def __init__(self, app: ASGIApp, largest_body: int, host_names: Collection[str] | None) -> None:
        """Wrap `app`.

        Args:
            app: the application behind it.
            largest_body: bytes.
            host_names: names by which a client may call us on a port; None for any.
        """
        self._app = app
        self._largest = largest_body
        self._names = host_names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            answer = self._form_page(headers) if refusal[0] is HTTPStatus.REQUEST_ENTITY_TOO_LARGE else None
            await (answer or problem_response(*refusal))(scope, receive, send)
            return
        started = False

        async def watched_send(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, self._bounded(receive), watched_send)
        except _TooLargeError:
            if not started:
                await (self._form_page(headers) or problem_response(*self._too_large()))(scope, receive, send)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[HTTPStatus, str] | None:
        host = headers.get("host", "")
        on_port = scope.get("state", {}).get("peer") is None  # at a unix socket names mean nothing
        if on_port and self._names is not None and _name(host) not in self._names:
            return HTTPStatus.MISDIRECTED_REQUEST, (
                f"this is not the host {host!r}: call it {' or '.join(sorted(self._names))}"
            )
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return HTTPStatus.FORBIDDEN, f"requests from pages of {origin} are not accepted"
        # Forms are for pages, which check their CSRF tokens; what other pages send has been refused by its origin.
        form = is_form(headers) and not scope["path"].startswith("/api/")
        if _has_body(headers) and content_type(headers) != _JSON and not form:
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send JSON, with the header Content-Type: application/json"
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._largest:
            return self._too_large()
        return None

    @staticmethod
    def _form_page(headers: dict[str, str]) -> RedirectResponse | None:
        """Lead a person whose form was too large back to its page; None for programs."""
        page = urlsplit(headers.get("referer", ""))
        if "text/html" not in headers.get("accept", "") or page.netloc != headers.get("host") or not is_form(headers):
            return None
        kept = [pair for pair in parse_qsl(page.query) if pair[0] != "refused"]
        path = page.path.lstrip("/")  # with two slashes it would be another host's page
        return RedirectResponse(f"/{path}?{urlencode([*kept, ('refused', TOO_LARGE)])}", HTTPStatus.SEE_OTHER)

    def _too_large(self) -> tuple[HTTPStatus, str]:
        return (
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the body is larger than {self._largest} bytes: send fewer tasks at once",
        )

    def _bounded(self, receive: Receive) -> Receive:
        received = 0

        async def bounded() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._largest:
                raise _TooLargeError
            return message

        return bounded


def _has_body(headers: dict[str, str]) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0" or "content-type" in headers


def _name(host: str) -> str:
    """Return the name in a Host header without its port; empty where it is none.

    What follows a name is a port and nothing else: browsers send `127.0.0.1:80.example.org` for a name of example.org.
    """
    match = _HOST.fullmatch(host)
    return match[1].lower() if match else ""
