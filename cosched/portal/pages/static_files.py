"""Static files (style sheet, scripts, icon) have addresses that change with their content."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

import gzip
from functools import cache

from fastapi import Request
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
    "codemirror.js": "text/javascript; charset=utf-8",
    "chart.js": "text/javascript; charset=utf-8",
    "idiomorph.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_KEEP = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
_COMPRESSED = {**_KEEP, "Content-Encoding": "gzip"}


router = page_router()


@router.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    contents = _contents()
    if name not in contents:
        raise NotFoundError(f"there is no file {name[:80]!r}")
    plain, compressed = contents[name]
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(compressed, media_type=_KINDS[name], headers=_COMPRESSED)
    return Response(plain, media_type=_KINDS[name], headers=_KEEP)


@cache
def _contents() -> dict[str, tuple[bytes, bytes]]:
    """Return each file as it is and compressed; they are read and compressed once in a process."""
    folder = resources.templates() / "portal" / "static"
    plain = {name: (folder / name).read_bytes() for name in _KINDS}
    return {name: (content, gzip.compress(content, 9)) for name, content in plain.items()}
