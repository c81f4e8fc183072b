"""Bad inputs over real HTTP: each ends in one clear error, and nothing is accepted or let in."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from cosched.access import Role, Scope
from cosched.access.authentication import COOKIE
from cosched.access.principals import RoleSource
from cosched.access.sessions import Login
from cosched.access.tokens import TokenGrant
from cosched.portal.application import build_application
from tests.daemon.makers import Daemon, access_to, daemon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.access.authentication import Authenticator

TRUE = {"command": ["/bin/true"]}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with daemon(tmp_path_factory.mktemp("bad")) as running:
        yield running


@pytest.fixture(scope="module")
def access(here: Daemon) -> Authenticator:
    return access_to(here.store)


@pytest.fixture(scope="module")
def client(here: Daemon, access: Authenticator) -> TestClient:
    """Somebody on this machine who has shown nothing yet."""
    app = build_application(here.services, access, frozenset({"localhost"}))
    return TestClient(app, base_url="http://localhost", client=("127.0.0.1", 1), follow_redirects=False)


def token(
    access: Authenticator, user: str = "ann", scopes: tuple[str, ...] = ("read", "submit"), life: float = 1e5
) -> str:
    now = time.time()
    return access.tokens.create(TokenGrant(user, Role.USER, set(map(Scope, scopes))), now, now + life)[0]


def shown(text: str, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}", "Content-Type": "application/json"} | headers


def refused(client: TestClient, access: Authenticator, body: Any, status: int = 422) -> str:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.post("/api/v1/tasks", content=content, headers=shown(token(access)))
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/problem+json")
    assert client.get("/api/v1/tasks", headers=shown(token(access))).json()["total"] == 0
    detail = answer.json()["detail"]
    assert "\n" not in detail
    return str(detail)


@pytest.mark.parametrize(
    "name", ["x\n#SBATCH --uid=0", "x\u202egnp.exe", "a\0b", "$ENV(PATH)", "$$(Memory)", "$(touch /tmp/x)"]
)
def test_names_that_could_mean_more(client: TestClient, access: Authenticator, name: str) -> None:
    assert "the task name" in refused(client, access, TRUE | {"name": name})


@pytest.mark.parametrize("program", ["-h", "../../etc/passwd", "true", "/bin/", ""])
def test_programs_without_an_absolute_path(client: TestClient, access: Authenticator, program: str) -> None:
    assert "give the program's absolute path" in refused(client, access, {"command": [program]})


@pytest.mark.parametrize(
    "deadline", [1.0, "2001-01-01T00:00Z", "2030-01-31T18:00", "soon", -1, 1e300, "9999-12-31T23:59"]
)
def test_deadlines(client: TestClient, access: Authenticator, deadline: Any) -> None:
    assert "deadline" in refused(client, access, TRUE | {"deadline": deadline, "profile": [10.0]})


def test_a_deadline_shorter_than_the_shortest_prediction(client: TestClient, access: Authenticator) -> None:
    body = {"command": ["/bin/true"], "profile": [500.0, 300.0], "deadline": time.time() + 100}
    assert "the earliest deadline that can be met is" in refused(client, access, body)


@pytest.mark.parametrize("hosts", [0, -1, "5-1", "1-4294967295000", "1-10%0", "x", 17, "0x4"])
def test_host_counts(client: TestClient, access: Authenticator, hosts: Any) -> None:
    assert "hosts" in refused(client, access, TRUE | {"hosts": hosts})


@pytest.mark.parametrize(
    "body", [b"\xef\xbb\xbf{}", '{"name": "x"}'.encode("utf-16"), b'{"name": "\\ud800"}', b"{\0}", b"[" * 100_000]
)
def test_what_is_no_json_in_utf_8(client: TestClient, access: Authenticator, body: bytes) -> None:
    assert "the body is not JSON" in refused(client, access, body, 400)


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "-Infinity", "1e400", "-1", "0", "-0.0"])
def test_predictions_that_are_no_times(client: TestClient, access: Authenticator, seconds: str) -> None:
    refused(client, access, b'{"command": ["/bin/true"], "profile": [' + seconds.encode() + b"]}")


def test_one_key_twice_at_once_and_with_another_body(client: TestClient, access: Authenticator) -> None:
    headers = shown(token(access, "key-user"), **{"Idempotency-Key": "k"})
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: client.post("/api/v1/tasks", json=TRUE, headers=headers), range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    other = client.post("/api/v1/tasks", json=TRUE | {"name": "other"}, headers=headers)
    assert other.status_code == 409
    assert client.get("/api/v1/tasks", headers=headers).json()["total"] == 1


def test_who_shows_nothing_or_something_false_is_not_let_in(client: TestClient, access: Authenticator) -> None:
    expired = token(access, life=-1.0)
    forged: list[dict[str, str]] = [
        {},
        {"REMOTE_USER": "root"},
        {"X-Remote-User": "root"},
        {"X-Forwarded-User": "root", "X-Forwarded-For": "::1"},
        {"Authorization": f"Bearer {expired}"},
        {"Authorization": "Bearer cosched_aaaaaaaa_b"},
        {"Authorization": "Basic cm9vdDp4"},
        {"Cookie": f"{COOKIE}=forged"},
    ]
    for headers in forged:
        answer = client.get("/api/v1/tasks", headers=headers)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="cosched"')


def test_a_token_of_another_scope_and_a_task_of_another_user(client: TestClient, access: Authenticator) -> None:
    mine = client.post("/api/v1/tasks", json=TRUE, headers=shown(token(access, "owner"))).json()["id"]
    assert client.post("/api/v1/tasks", json=TRUE, headers=shown(token(access, "x", ("read",)))).status_code == 403
    assert client.get("/api/v1/tasks", headers=shown(token(access, "x", ("submit",)))).status_code == 403
    stranger = shown(token(access, "stranger"))
    for answer in (
        client.get(f"/api/v1/tasks/{mine}", headers=stranger),
        client.get(f"/api/v1/tasks/{mine}/explain", headers=stranger),
        client.get(f"/api/v1/tasks/{mine}/output/out", headers=stranger),
        client.post(f"/api/v1/tasks/{mine}/cancel", json={}, headers=stranger),
    ):
        assert (answer.status_code, answer.json()["detail"].startswith(f"there is no task '{mine}'")) == (404, True)


def test_a_browser_without_the_token_of_the_page_changes_nothing(client: TestClient, access: Authenticator) -> None:
    cookie = access.sessions.begin(Login("browser", Role.USER, RoleSource.GRANTED), time.time())[0]
    answer = client.post("/api/v1/tasks", json=TRUE, headers={"Cookie": f"{COOKIE}={cookie}"})
    assert (answer.status_code, "no CSRF token" in answer.json()["detail"]) == (403, True)
    assert client.get("/api/v1/tasks", headers={"Cookie": f"{COOKIE}={cookie}"}).json()["total"] == 0
