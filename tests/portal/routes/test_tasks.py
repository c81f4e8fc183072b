"""Answers of the routes that are asked for most: one task, the list, a submission."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from cosched.access import Principal, ProofOfIdentity, Role, Scope
from cosched.portal.application import build_application
from cosched.portal.routes.tasks import _EXAMPLES
from tests.access.memory import Trusting
from tests.portal.makers import Portal, portal
from tests.portal.test_application import Recorder, services_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANN = Principal("ann", Role.USER, how=ProofOfIdentity.SOCKET)
TASK = {"command": ["/bin/true"]}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def service() -> Recorder:
    return Recorder()


def client_of(service: Recorder, principal: Principal | None = None) -> TestClient:
    return TestClient(build_application(services_of(service), Trusting(principal)), base_url="http://localhost")


@pytest.mark.parametrize(("body", "kind"), [(b' {"command": ["/bin/true"]}', dict), (b'\n[{"command": ["/x"]}]', list)])
@pytest.mark.parametrize(("dry_run", "status"), [(False, 201), (True, 200)])
def test_one_is_answered_by_itself_and_a_list_by_a_list(
    service: Recorder, body: bytes, kind: type, dry_run: bool, status: int
) -> None:
    path = "/api/v1/tasks?dry_run=true" if dry_run else "/api/v1/tasks"
    answer = client_of(service).post(path, content=body, headers={"Content-Type": "application/json"})
    found: Any = answer.json()
    assert (answer.status_code, type(found)) == (status, kind)


@pytest.mark.parametrize("key", [b"a key", b"\x7f", "ü".encode(), b"k" * 256, b"a\tb"])
@pytest.mark.parametrize("path", ["/api/v1/tasks", "/api/v1/tasks?dry_run=true"])
def test_a_key_is_short_and_printable(service: Recorder, key: bytes, path: str) -> None:
    answer = client_of(service).post(path, json=TASK, headers={b"Idempotency-Key": key})
    assert (answer.status_code, "Idempotency-Key must be" in answer.json()["detail"]) == (400, True)
    assert not service.asked


def test_a_token_without_the_scope_is_refused_tasks_and_submissions(service: Recorder) -> None:
    principal = Principal("ann", Role.USER, frozenset({Scope.METRICS}), ProofOfIdentity.TOKEN)
    client = client_of(service, principal)
    for path in ("/api/v1/tasks/1", "/api/v1/tasks"):
        assert client.get(path).status_code == 403
    assert client.post("/api/v1/tasks", json=TASK).status_code == 403
    assert not service.asked


def test_a_body_in_parts_is_bounded(service: Recorder) -> None:
    client = client_of(service)
    parts = (b" " * (1 << 20) for _ in range(17))  # nobody says beforehand how large it is
    assert client.post("/api/v1/tasks", content=parts, headers=JSON).status_code == 413
    assert not service.asked
    small = iter([b'{"command": ', b'["/bin/true"]}'])
    assert client.post("/api/v1/tasks", content=small, headers=JSON).status_code == 201


def test_a_browser_is_not_tricked_into_submitting(service: Recorder) -> None:
    principal = Principal("ann", Role.USER, frozenset(Scope), ProofOfIdentity.SESSION)
    client = client_of(service, principal)
    assert client.post("/api/v1/tasks", json=TASK, headers={"X-CSRF-Token": "x"}).status_code == 403
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/api/v1/tasks", content='{"command": ["/bin/true"]}', headers=form).status_code == 415
    assert not service.asked


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Portal]:
    """A portal with a task of ann's, which has written ten bytes that no browser should take for a page."""
    from cosched.connector.jobs import Output

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


@pytest.mark.parametrize("name", ["a command with its own figures"])
def test_the_examples_of_the_description_are_accepted(tmp_path: Path, name: str) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        client, csrf = ann.client, {"X-CSRF-Token": ann.csrf()}
        example = _EXAMPLES[name]
        foreseen = client.post("/api/v1/tasks?dry_run=true", json=example, headers=csrf)
        made = client.post("/api/v1/tasks", json=example, headers=csrf)
        assert (foreseen.status_code, made.status_code) == (200, 201)
        assert isinstance(foreseen.json(), list) == isinstance(made.json(), list) == isinstance(example, list)


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/api/v1/tasks?stat=queued", "unknown parameter 'stat' of GET /api/v1/tasks (did you mean state?)"),
        ("POST", "/api/v1/tasks?dryrun=true", "(did you mean dry_run?): there are dry_run"),
        ("GET", "/api/v1/tasks/1?verbose=1", "unknown parameter 'verbose' of GET /api/v1/tasks/1: it takes none"),
        (
            "POST",
            "/api/v1/tasks?dry_run=true&dry_run=false",
            "parameter dry_run of POST /api/v1/tasks has several values",
        ),
        (
            "GET",
            "/api/v1/tasks?limit=1&state=queued&limit=2",
            "parameter limit of GET /api/v1/tasks has several values",
        ),
    ],
)
def test_a_parameter_that_is_not_known_or_given_twice_is_refused_not_left_out(
    service: Recorder, method: str, path: str, message: str
) -> None:
    answer = client_of(service, ANN).request(method, path, json=TASK if method == "POST" else None)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]
    assert not service.asked
