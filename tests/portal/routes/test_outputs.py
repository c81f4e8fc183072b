from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.portal.pages.makers import Portal, portal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Portal]:
    """A portal with a task of ann's, which has written ten bytes that no browser should take for a page."""
    from cosched.connector.interface import Output

    def written(_asker: Any, _task: str, stream: str, _rank: int, _attempt: int, offset: int, limit: int) -> Any:
        start = max(offset if offset >= 0 else 10 + offset, 0)
        return None if stream == "err" else Output(b"<b>\xff\0</b>!"[start : start + limit], start, 10)

    with portal(tmp_path) as here:
        monkeypatch.setattr(here.daemon.services.tasks, "output", written)
        yield here


def test_output_is_bytes_and_says_which_part_it_is(here: Portal) -> None:
    client = here.person("ann").client
    answer = client.get("/api/v1/tasks/1/output/out?offset=-4&limit=3")
    assert answer.content == b"/b>"
    assert (answer.headers["Cosched-Offset"], answer.headers["Cosched-Size"]) == ("6", "10")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_nothing_written_is_no_content(here: Portal) -> None:
    answer = here.person("ann").client.get("/api/v1/tasks/1/output/err")
    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize("query", ["limit=0", "limit=1048577", "rank=-1", "attempt=-1", "offset=x"])
def test_what_cannot_be_asked_is_said_so(here: Portal, query: str) -> None:
    assert here.person("ann").client.get(f"/api/v1/tasks/1/output/out?{query}").status_code == 422


def test_there_are_two_streams(here: Portal) -> None:
    assert here.person("ann").client.get("/api/v1/tasks/1/output/..%2Fetc").status_code in (404, 422)
