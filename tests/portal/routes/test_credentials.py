from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from cosched.access import Principal, ProofOfIdentity, Role, Scope
from cosched.portal.application import build_application
from tests.access.memory import Trusting
from tests.portal.test_application import Recorder, services_of


@pytest.fixture
def access() -> Trusting:
    return Trusting()


@pytest.fixture
def client(access: Trusting) -> TestClient:
    return TestClient(build_application(services_of(Recorder()), access, pages_address=lambda: "http://here:1"))


def test_who_am_i(client: TestClient) -> None:
    assert client.get("/api/v1/me").json() == {
        "name": "chief",
        "role": "administrator",
        "scopes": ["manage", "metrics", "read", "submit"],
        "how": "token",
    }


def test_tokens(client: TestClient) -> None:
    made = client.post("/api/v1/tokens", json={"user": "ann", "note": "night", "lifetime": 60}).json()
    assert (made["user"], made["role"], made["scopes"], made["expires"]) == ("ann", "user", ["read", "submit"], 1060.0)
    listed = client.get("/api/v1/tokens?everybody=true").json()
    assert listed == [{key: value for key, value in made.items() if key != "token"}]
    assert client.get("/api/v1/tokens").json() == []
    assert client.delete(f"/api/v1/tokens/{made['id']}").status_code == 204
    gone = client.delete(f"/api/v1/tokens/{made['id']}")
    assert (gone.status_code, gone.json()["detail"].startswith("there is no token")) == (404, True)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ("{", 400, "the body is not JSON"),
        ('{"lifetime": "1"}', 422, "lifetime is '1': it must be a valid number"),
        ('{"usr": "x"}', 422, "unknown key 'usr': a token has user, role"),
        ("[]", 422, "a token is a JSON object"),
        ('{"user": "<script>"}', 422, "cannot name a user"),
        ('{"lifetime": 1e400}', 422, "lifetime is 'inf'"),
    ],
)
def test_a_mistake_is_answered_with_one_clear_line(client: TestClient, body: str, status: int, message: str) -> None:
    answer = client.post("/api/v1/tokens", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/problem+json")
    assert message in answer.json()["detail"]


def test_accounts(client: TestClient) -> None:
    made = client.post("/api/v1/accounts", json={"name": "ann", "password": "a long password"})
    assert (made.status_code, made.json()["role"], "password" in made.json()) == (201, "user", False)
    assert client.post("/api/v1/accounts", json={"name": "ann", "password": "a long password"}).status_code == 409
    assert client.patch("/api/v1/accounts/ann", json={"role": "operator"}).json()["role"] == "operator"
    assert [each["name"] for each in client.get("/api/v1/accounts").json()] == ["ann"]
    assert client.delete("/api/v1/accounts/ann").status_code == 204
    assert client.delete("/api/v1/accounts/ann").status_code == 404
    actions = [each["action"] for each in client.get("/api/v1/audit").json()]
    assert actions == ["account removed", "account changed", "account added"]


def test_a_link_logs_a_browser_in(client: TestClient, access: Trusting) -> None:
    made = client.post("/api/v1/login-links", json={})
    url = made.json()["url"]
    assert url.startswith("http://here:1/login?ticket=")
    assert access.redeem(url.partition("=")[2], "x")


def test_users_without_the_scope_manage_nothing(client: TestClient, access: Trusting) -> None:
    access.principal = Principal(
        "ann", Role.ADMINISTRATOR, frozenset({Scope.READ, Scope.SUBMIT}), ProofOfIdentity.TOKEN
    )
    for path in ("tokens", "accounts", "audit"):
        assert client.get(f"/api/v1/{path}").status_code == 403
    access.principal = Principal("ann", Role.USER, how=ProofOfIdentity.TOKEN)
    assert client.get("/api/v1/tokens").json() == []
    for path in ("tokens?everybody=true", "accounts", "audit"):
        refused = client.get(f"/api/v1/{path}")
        assert (refused.status_code, "only administrators may" in refused.json()["detail"]) == (403, True)
