"""Static files (style sheet, script, icon) have addresses that change with their content."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from functools import cache

from fastapi.responses import Response

from cosched import resources
from cosched.api.problems import NotFoundError
from cosched.portal.pages import page_router

__all__ = ["router"]

_KINDS = {
    "portal.css": "text/css; charset=utf-8",
    "portal.js": "text/javascript; charset=utf-8",
    "typed.js": "text/javascript; charset=utf-8",
    "editor.js": "text/javascript; charset=utf-8",
    "chart.js": "text/javascript; charset=utf-8",
    "idiomorph.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_KEEP = {"Cache-Control": "public, max-age=31536000, immutable"}


router = page_router()


@router.get("/static/{name}")
async def static(name: str) -> Response:
    contents = _contents()
    if name not in contents:
        raise NotFoundError(f"there is no file {name[:80]!r}")
    return Response(contents[name], media_type=_KINDS[name], headers=_KEEP)


@cache
def _contents() -> dict[str, bytes]:
    folder = resources.templates() / "portal" / "static"
    return {name: (folder / name).read_bytes() for name in _KINDS}
