"""Static files (style sheet, script, icon) have addresses that change with their content."""

# No `from __future__ import annotations`: FastAPI reads the annotations of local functions when it takes them.

from fastapi import APIRouter
from fastapi.responses import Response

from cosched import resources
from cosched.api.problems import NotFoundError

__all__ = ["static_routes"]

_KINDS = {
    "portal.css": "text/css; charset=utf-8",
    "portal.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_KEEP = {"Cache-Control": "public, max-age=31536000, immutable"}


def static_routes() -> APIRouter:
    """Return the routes of the files; anybody may read them."""
    router = APIRouter(include_in_schema=False)
    folder = resources.templates() / "portal" / "static"
    contents = {name: (folder / name).read_bytes() for name in _KINDS}

    @router.get("/static/{name}")
    async def static(name: str) -> Response:
        if name not in contents:
            raise NotFoundError(f"there is no file {name[:80]!r}")
        return Response(contents[name], media_type=_KINDS[name], headers=_KEEP)

    return router
