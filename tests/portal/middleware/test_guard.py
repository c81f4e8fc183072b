from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

from cosched.portal.middleware.guard import RequestGuard

if TYPE_CHECKING:
    from collections.abc import Iterator

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    app.add_middleware(RequestGuard, largest_body=100, host_names=frozenset({"localhost", "[::1]"}))

    @app.post("/")
    @app.post("/api/x")
    async def length(request: Request) -> int:
        return len(await request.body())

    app.get("/")(lambda: "here")
    return TestClient(app, base_url="http://localhost:8080")


def test_our_own_names_are_served(client: TestClient) -> None:
    assert client.get("/").status_code == 200
    assert client.get("/", headers={"Host": "LOCALHOST"}).status_code == 200
    assert client.get("/", headers={"Host": "[::1]:8080"}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "",
        "[::2]:8080",
        "localhost:8080.evil.example",  # names that begin with one of ours (DNS rebinding)
        "localhost:8080:x",
        "[::1].evil.example",
        "[::1]:8080.evil.example",
    ],
)
def test_other_names_are_refused(client: TestClient, host: str) -> None:
    answer = client.get("/", headers={"Host": host})
    assert answer.status_code == 421
    assert answer.json()["detail"].startswith(f"this is not the host {host!r}")


def test_pages_of_other_origins_are_refused(client: TestClient) -> None:
    assert client.get("/", headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.get("/", headers={"Origin": "null"}).status_code == 403
    assert client.get("/", headers={"Origin": "http://localhost:8080"}).status_code == 200


def test_only_json_changes_anything_in_the_api(client: TestClient) -> None:
    assert client.post("/api/x", content=b"{}", headers=JSON).json() == 2
    assert client.post("/api/x", content=b"{}", headers={"Content-Type": "application/json; charset=utf-8"}).json() == 2
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert client.post("/api/x", content=b"{}", headers={"Content-Type": kind}).status_code == 415
        assert client.patch("/api/x", content=b"{}", headers={"Content-Type": kind}).status_code == 415


def test_pages_may_send_forms(client: TestClient) -> None:
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json"):
        assert client.post("/", content=b"{}", headers={"Content-Type": kind}).json() == 2
    assert client.post("/", content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/", content=b"{}", headers=form | {"Origin": "http://localhost:8080"}).status_code == 200
    assert client.post("/", content=b"{}", headers=form | {"Origin": "http://evil.example"}).status_code == 403


def test_a_body_is_bounded_whether_it_says_its_length_or_not(client: TestClient) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(30):
            yield b"12345"

    assert client.post("/", content=b"1" * 100, headers=JSON).json() == 100
    assert client.post("/", content=b"1" * 101, headers=JSON).status_code == 413
    answer = client.post("/", content=chunks(), headers=JSON)
    assert answer.status_code == 413
    assert answer.json()["detail"].startswith("the body is larger than 100 bytes")
