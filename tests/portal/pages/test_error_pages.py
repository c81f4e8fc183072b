from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi.testclient import TestClient

from tests.portal.makers import portal

if TYPE_CHECKING:
    from pathlib import Path


def test_people_get_a_page_and_programs_a_document(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        client = here.person("ann").client
        page = client.get("/tasks/99")
        assert (page.status_code, page.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
        assert "there is no task &#39;99&#39;: <code>cosched task list</code> shows what there is" in page.text
        assert '<a class="button" href="/tasks">All tasks</a>' in page.text
        assert '<a class="button" href="/tasks">All tasks</a>' not in client.get("/nowhere").text
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


def test_a_refused_form_leads_to_its_page_which_says_why(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann, bob = here.person("ann"), here.person("bob")
        ann.submit()
        page = "http://127.0.0.1/tasks/1?x=1&refused=old"
        sent = {"hosts": "zillions", "csrf_token": ann.csrf()}
        answer = ann.client.post("/tasks/1/edit", data=sent, headers={"Referer": page})
        assert answer.status_code == 303
        assert answer.headers["Location"].startswith("/tasks/1?x=1&refused=")
        for _ in range(2):  # a reload sends nothing, and says it again
            assert '<p class="banner bad" role="alert">' in ann.see(answer.headers["Location"])
            assert "zillions" in ann.see(answer.headers["Location"])
        assert "refused=" not in ann.see(answer.headers["Location"]).partition("<main")[2]
        bob.submit()
        assert "zillions" not in bob.see(answer.headers["Location"].replace("/tasks/1", "/tasks/2"))
        there = ann.client.post("/tasks/1/edit", data=sent, headers={"Referer": "http://127.0.0.1//elsewhere.example"})
        assert there.headers["Location"].startswith("/elsewhere.example?refused=")
        elsewhere = {"Referer": "http://elsewhere.example/tasks/1"}
        assert ann.client.post("/tasks/1/edit", data=sent, headers=elsewhere).status_code == 422


def test_a_form_that_is_too_large_leads_to_its_page(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        sent = {"csrf_token": ann.csrf(), "own": "file", "file": "x" * (17 << 20)}
        answer = ann.client.post("/submit", data=sent, headers={"Referer": "http://127.0.0.1/submit?own=file"})
        assert answer.headers.get("Location") == "/submit?own=file&refused=too-large"
        assert "what was sent is too large" in ann.see("/submit?own=file&refused=too-large")
        there = {"Referer": "http://127.0.0.1//elsewhere.example"}
        answer = ann.client.post("/submit", data=sent, headers=there)
        assert answer.headers["Location"] == "/elsewhere.example?refused=too-large"
        programs = {"Referer": "http://127.0.0.1/submit?own=file", "Accept": "application/json"}
        assert ann.client.post("/submit", data=sent, headers=programs).status_code == 413
