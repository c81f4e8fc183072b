from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi.testclient import TestClient

from tests.portal.pages.makers import portal

if TYPE_CHECKING:
    from pathlib import Path


def test_what_pages_need_is_read_without_a_login_and_kept(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        client = TestClient(here.app, base_url="http://127.0.0.1")
        for name, kind in (
            ("portal.css", "text/css"),
            ("portal.js", "text/javascript"),
            ("chart.js", "text/javascript"),
            ("idiomorph.js", "text/javascript"),
            ("icon.svg", "image/svg+xml"),
        ):
            answer = client.get(f"/static/{name}")
            assert answer.headers["Content-Type"].startswith(kind)
            assert "immutable" in answer.headers["Cache-Control"]
        assert client.get("/static/..%2Fbase.html").status_code == 404
        assert client.get("/static/base.html").status_code == 404
