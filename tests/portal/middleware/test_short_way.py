from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from cosched.access import Principal, ProofOfIdentity, Role, Scope
from cosched.api.problems import NotFoundError
from cosched.errors import SystemFault
from cosched.portal.application import build_application
from cosched.portal.middleware.short_way import ShortWay
from tests.access.memory import Trusting
from tests.portal.test_application import Recorder

_TASK = {"command": ["/bin/true"]}


@pytest.fixture
def service() -> Recorder:
    return Recorder()


@pytest.fixture
def short(service: Recorder) -> TestClient:
    return TestClient(build_application(service, Trusting(), None), base_url="http://localhost")


@pytest.fixture
def described(service: Recorder, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setattr(ShortWay, "_way", lambda *_: None)
    return TestClient(build_application(service, Trusting(), None), base_url="http://localhost")


@pytest.mark.parametrize("error", [None, NotFoundError("there is no task"), SystemFault("it is busy")])
@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("GET", "/api/v1/tasks/1", None, {}),
        ("GET", "/api/v1/tasks/1", None, {"If-None-Match": "*"}),
        ("GET", "/api/v1/tasks/%2F", None, {}),
        ("GET", "/api/v1/tasks/", None, {}),
        ("GET", "/api/v1/tasks?limit=5", None, {}),
        ("GET", "/api/v1/tasks?limit=five", None, {}),
        ("GET", "/api/v1/tasksforce", None, {}),
        ("POST", "/api/v1/tasks", _TASK, {}),
        ("POST", "/api/v1/tasks", [_TASK, _TASK], {"Idempotency-Key": "key"}),
        ("POST", "/api/v1/tasks", _TASK, {"Idempotency-Key": "a key"}),
        ("POST", "/api/v1/tasks", {"commando": 1}, {}),
        ("POST", "/api/v1/tasks?dry_run=true", _TASK, {}),
        ("POST", "/api/v1/tasks", None, {}),
        ("HEAD", "/api/v1/tasks/1", None, {}),
        ("DELETE", "/api/v1/tasks/1", None, {}),
    ],
)
def test_both_ways_lead_to_the_same_answers(
    service: Recorder,
    described: TestClient,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    body: Any,
    headers: dict[str, str],
    error: Exception | None,
) -> None:
    service.error = error
    expected = described.request(method, path, json=body, headers=headers)
    asked, service.asked = service.asked, []
    monkeypatch.undo()
    client = TestClient(build_application(service, Trusting(), None), base_url="http://localhost")
    for _ in range(2):  # a query is known when it has been asked once
        service.asked = []
        found = client.request(method, path, json=body, headers=headers)
        assert (found.status_code, found.content) == (expected.status_code, expected.content)
        assert dict(found.headers) == dict(expected.headers)
        assert service.asked == asked


def test_what_is_asked_most_goes_the_short_way(
    short: TestClient, service: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert short.get("/api/v1/tasks?limit=5").status_code == 200

    async def no_way(*_: object) -> None:
        raise AssertionError("it went the described way")

    monkeypatch.setattr("fastapi.routing.APIRouter.__call__", no_way, raising=False)
    assert short.get("/api/v1/tasks?limit=5").status_code == 200
    assert short.get("/api/v1/tasks/1").status_code == 200
    assert short.post("/api/v1/tasks", json=_TASK).status_code == 201
    with pytest.raises(AssertionError, match="described way"):
        short.get("/api/v1/plan")


def test_a_token_without_the_scope_is_refused_as_ever(service: Recorder) -> None:
    asker = Principal("ann", Role.USER, frozenset({Scope.METRICS}), ProofOfIdentity.TOKEN)
    client = TestClient(build_application(service, Trusting(asker), None), base_url="http://localhost")
    for path in ("/api/v1/tasks/1", "/api/v1/tasks"):
        assert client.get(path).status_code == 403
    assert client.post("/api/v1/tasks", json=_TASK).status_code == 403
    assert not service.asked


def test_a_body_in_parts_is_bounded_as_ever(short: TestClient, service: Recorder) -> None:
    parts = (b" " * (1 << 20) for _ in range(17))  # nobody says beforehand how large it is
    assert short.post("/api/v1/tasks", content=parts, headers={"Content-Type": "application/json"}).status_code == 413
    assert not service.asked
    small = iter([b'{"command": ', b'["/bin/true"]}'])
    assert short.post("/api/v1/tasks", content=small, headers={"Content-Type": "application/json"}).status_code == 201


def test_a_browser_is_not_tricked_into_submitting(service: Recorder) -> None:
    asker = Principal("ann", Role.USER, frozenset(Scope), ProofOfIdentity.SESSION)
    client = TestClient(build_application(service, Trusting(asker), None), base_url="http://localhost")
    assert client.post("/api/v1/tasks", json=_TASK, headers={"X-CSRF-Token": "x"}).status_code == 403
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/api/v1/tasks", content='{"command": ["/bin/true"]}', headers=form).status_code == 415
    assert not service.asked
