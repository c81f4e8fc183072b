"""What the API says of itself (OpenAPI): beside the routes, how one proves who one is."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from cosched.access.access import COOKIE

__all__ = ["DescribedAPI"]

_SCHEMES: dict[str, dict[str, str]] = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "From `cosched token create`. The unix socket needs none: its other end says who you are.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": f"From logging in on the pages; over TLS it is named __Host-{COOKIE}.",
    },
    "csrf": {
        "type": "apiKey",
        "in": "header",
        "name": "X-CSRF-Token",
        "description": "From the page, beside the session's cookie, for what changes something.",
    },
}
_ASKING: list[dict[str, list[str]]] = [{"token": []}, {"session": []}]
_CHANGING: list[dict[str, list[str]]] = [{"token": []}, {"session": [], "csrf": []}]


class DescribedAPI(FastAPI):
    """An application whose description says what credentials its routes take."""

    def openapi(self) -> dict[str, Any]:
        """Return the description, made at the first call."""
        if self.openapi_schema is None:
            found = super().openapi()
            found.setdefault("components", {})["securitySchemes"] = _SCHEMES
            for path, operations in found["paths"].items():
                if path.startswith("/api/"):  # the others are for those who only ask whether we live
                    for method, operation in operations.items():
                        operation["security"] = _ASKING if method == "get" else _CHANGING
        return super().openapi()
