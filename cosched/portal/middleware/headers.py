"""Headers: browser restrictions on every answer, and the content type of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["SecureHeaders", "content_security_policy", "content_type", "is_form"]

_ALWAYS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_ONLY_TLS = (b"strict-transport-security", b"max-age=31536000")  # browsers come back by TLS alone for a year
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")  # pages may send them, with a CSRF token
_DATA = b"default-src 'none'; frame-ancestors 'none'"


def content_security_policy(nonce: str) -> str:
    """Return the Content-Security-Policy of a page: only elements with this nonce run or style anything."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"
    )


def content_type(headers: Mapping[str, str]) -> str:
    """Return the media type of a request's body without its parameters, empty for none."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def is_form(headers: Mapping[str, str]) -> bool:
    """Return whether the body is one that an HTML form sends."""
    return content_type(headers) in _FORMS


class SecureHeaders:
    """ASGI middleware: adds the headers to every answer; pages get the nonce of `request.state.nonce`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and its answer back with our headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"] = list(message.get("headers", ()))
                kind = next((value for name, value in headers if name.lower() == b"content-type"), b"")
                page = kind.startswith(b"text/html")
                nonce = scope.get("state", {}).get("nonce", "")
                headers += [
                    *_ALWAYS,
                    (b"content-security-policy", content_security_policy(nonce).encode() if page else _DATA),
                ]
                if scope.get("scheme") == "https":
                    headers.append(_ONLY_TLS)
                if not any(name.lower() == b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", b"no-store"))
            await send(message)

        await self._app(scope, receive, with_headers)
