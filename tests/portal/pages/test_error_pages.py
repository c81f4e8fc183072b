from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi.testclient import TestClient

from tests.portal.pages.makers import portal

if TYPE_CHECKING:
    from pathlib import Path


def test_people_get_a_page_and_programs_a_document(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        client = here.person("ann").client
        page = client.get("/tasks/99")
        assert (page.status_code, page.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
        assert "there is no task &#39;99&#39;" in page.text
        assert client.get("/api/v1/tasks/99").json()["status"] == 404
        assert client.get("/tasks/99", headers={"Accept": "application/json"}).json()["status"] == 404


def test_whoever_is_not_known_logs_in_and_comes_back(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        stranger = TestClient(here.app, base_url="http://127.0.0.1", follow_redirects=False, client=("127.0.0.1", 1))
        answer = stranger.get("/tasks/1?x=1", headers={"Accept": "text/html"})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/login?next=%2Ftasks%2F1%3Fx%3D1")
        assert stranger.post("/submit", data={"x": ""}, headers={"Accept": "text/html"}).status_code == 401
        for page, status in (("http://127.0.0.1/submit?own=file", 303), ("http://elsewhere.example/submit", 401)):
            sent = {"Accept": "text/html", "Referer": page}
            answer = stranger.post("/submit", data={"x": ""}, headers=sent)
            assert answer.status_code == status
            assert answer.headers.get("Location") in (None, "/login?next=%2Fsubmit%3Fown%3Dfile")
