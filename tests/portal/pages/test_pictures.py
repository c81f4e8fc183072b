"""The documentation shows every page: light, dark, and on a phone."""

from __future__ import annotations

from fastapi.routing import APIRoute
from starlette.routing import compile_path

from cosched.portal.application import build_application
from tests.access.memory import Trusting
from tests.portal.pages.pictures import DOCS, LOOKS, PICTURES, page_of_pictures
from tests.portal.test_application import Recorder, services_of

NO_PAGES = {
    "/static/{name}",
    "/tasks.csv",
    "/tasks/{task_id}/output/{stream}/all",  # a download
    "/healthz",
    "/metrics",
    "/readyz",
}
MOST = 3 << 20  # bytes of all pictures


def test_every_page_has_a_picture() -> None:
    application = build_application(services_of(Recorder()), Trusting())
    pages = {
        route.path
        for route in application.routes
        if isinstance(route, APIRoute) and "GET" in (route.methods or ()) and not route.path.startswith("/api/")
    }
    shown = [picture.path.partition("?")[0].replace("{", "").replace("}", "") for picture in PICTURES]
    assert {page for page in pages - NO_PAGES if not any(map(compile_path(page)[0].match, shown))} == set()
    assert pages >= NO_PAGES


def test_each_picture_is_there_small_and_shown() -> None:
    assert (DOCS / "pages.md").read_text() == page_of_pictures()
    files = {f"{picture.name}-{look}.webp" for picture in PICTURES for look in LOOKS}
    assert {file.name for file in (DOCS / "pictures").glob("*.webp")} == files
    pictures = [(DOCS / "pictures" / name).read_bytes() for name in files]
    assert all(picture[:4] == b"RIFF" and picture[8:12] == b"WEBP" for picture in pictures)
    assert sum(map(len, pictures)) <= MOST
