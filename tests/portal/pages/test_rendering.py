from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.portal.makers import portal

if TYPE_CHECKING:
    from pathlib import Path


def test_only_what_carries_the_nonce_runs_and_nothing_is_inline(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        ann.submit()
        for path in ("/submit?application=halving", "/tasks", "/tasks/1", "/schedule", "/domain", "/models"):
            answer = ann.client.get(path)
            policy = answer.headers["Content-Security-Policy"]
            nonce = re.search(r"script-src 'nonce-([^']+)'", policy)
            assert nonce is not None
            scripts = re.findall(r"<(?:script|style|link rel=\"stylesheet\")[^>]*>", answer.text)
            assert scripts
            assert all(f'nonce="{nonce[1]}"' in element for element in scripts)
            assert not re.search(r"\son\w+=|\sstyle=|javascript:", answer.text)
            assert "unsafe" not in policy


def test_what_is_compressed_holds_no_secret_that_stays_the_same(tmp_path: Path) -> None:
    """The length of what is compressed together with a secret and with a guess tells whether they are alike."""
    with portal(tmp_path) as here:
        ann = here.person("ann")
        ann.submit(name="long" * 40)
        ann.client.headers["Accept-Encoding"] = "gzip"
        for path in ("/submit?own=command", "/tasks/1"):
            answers = [ann.client.get(path) for _ in range(2)]
            assert [answer.headers["Content-Encoding"] for answer in answers] == ["gzip"] * 2
            tokens = [set(re.findall(r'name="csrf_token" value="([^"]+)"', answer.text)) for answer in answers]
            assert len(tokens[0]) == len(tokens[1]) == 1
            assert tokens[0] != tokens[1]
        for token in (*tokens[0], *tokens[1]):
            assert ann.client.post("/tasks/1/hold", data={"csrf_token": token}).status_code == 303
        assert ann.client.post("/tasks/1/hold", data={"csrf_token": "0" * len(token)}).status_code == 403


def test_the_page_that_shows_a_new_token_is_not_compressed(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        ann.client.headers["Accept-Encoding"] = "gzip"
        there = ann.send("/account/tokens", scope=["read"], days="1", note="x" * 99).headers["Location"]
        page = ann.client.get(there)
        assert 'aria-label="The token"' in page.text
        assert "Content-Encoding" not in page.headers


def test_times_are_those_of_the_browsers_zone(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        ann.client.cookies.set("zone", "Asia/Kolkata")
        ann.submit(deadline="2030-01-31T18:00")
        assert "31 January 2030, 18:00:00 IST (UTC+05:30)" in ann.see("/tasks/1")
        ann.client.cookies.set("zone", "../../etc/passwd")
        assert "those of the server" in ann.see("/tasks")


def test_a_refusal_tells_times_in_the_browsers_zone(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        ann.client.cookies.set("zone", "Asia/Kolkata")
        page = ann.refused("/submit", application="halving", deadline="2001-01-01T09:00")
        assert "the deadline 2001-01-01 09:00:00+05:30 is past" in page


def test_a_page_is_shown_although_the_daemon_cannot_answer(tmp_path: Path) -> None:
    with portal(tmp_path, patience=0.1) as here:
        ann = here.person("ann")
        here.daemon.engine.stop()
        answer = ann.client.get("/tasks")
        assert (answer.status_code, "cosched cannot answer" in answer.text) == (503, True)
