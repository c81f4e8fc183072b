from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient

from cosched.access import Role, Scope
from cosched.access.principals import Principal, RoleSource
from cosched.access.tokens import signature
from cosched.portal.application import build_application
from cosched.portal.dependencies import needs
from cosched.portal.routes.login import local_path
from tests.access.memory import Time, access
from tests.portal.test_application import Recorder, services_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.access.authentication import Authenticator

WORD = "a long password"


@pytest.fixture
def known() -> Authenticator:
    made = access(time=Time())
    made.accounts.add("ann", WORD, Role.USER, 0.0)
    return made


@pytest.fixture
def client(known: Authenticator) -> Iterator[TestClient]:
    """A browser on this machine."""
    with TestClient(
        build_application(services_of(Recorder()), known),
        base_url="http://127.0.0.1",
        follow_redirects=False,
        client=("127.0.0.1", 1),
    ) as browser:
        yield browser


def test_name_and_password_log_in_and_out(client: TestClient) -> None:
    assert client.get("/api/v1/me").status_code == 401
    page = client.get("/login?next=/tasks")
    assert 'name="next" value="/tasks"' in page.text
    entered = client.post("/login", data={"name": "ann", "password": WORD, "next": "/tasks"})
    assert (entered.status_code, entered.headers["Location"]) == (303, "/tasks")
    assert entered.headers["Set-Cookie"].endswith("; HttpOnly; Max-Age=43200; Path=/; SameSite=lax")
    assert client.get("/api/v1/me").json()["how"] == "session"
    assert client.post("/logout", data={"csrf_token": "x"}).status_code == 403  # without the token of the page
    assert client.get("/api/v1/me").status_code == 200


def test_a_change_with_the_cookie_alone_is_refused(client: TestClient, known: Authenticator) -> None:
    client.post("/login", data={"name": "ann", "password": WORD})
    assert client.post("/api/v1/tasks/1/cancel", json={}).status_code == 403
    csrf = signature(client.cookies["cosched_session"], "csrf")
    assert client.post("/api/v1/tasks/1/cancel", json={}, headers={"X-CSRF-Token": csrf}).status_code == 202
    left = client.post("/logout", data={"csrf_token": csrf})
    assert (left.status_code, left.headers["Location"]) == (303, "/login")
    assert client.get("/api/v1/me").status_code == 401
    assert [deed.action for deed in known.audit_log(9)] == ["logout", "task cancelled", "login"]


def test_a_wrong_password_is_not_said_to_be_one(client: TestClient) -> None:
    for name in ("ann", "bob", "<script>"):
        refused = client.post("/login", data={"name": name, "password": "x"})
        assert (refused.status_code, "name or password are wrong" in refused.text) == (403, True)
        assert "<script>" not in refused.text
        assert "Set-Cookie" not in refused.headers


def test_a_link_is_good_once(client: TestClient, known: Authenticator) -> None:
    ticket = known.ticket(Principal("chief", Role.OPERATOR, source=RoleSource.GRANTED), "unix")
    asked = client.get(f"/login?ticket={ticket}")
    assert (asked.status_code, "Log in as chief?" in asked.text) == (200, True)
    assert client.post("/login/link", data={"ticket": ticket}).headers["Location"] == "/"
    assert client.get("/api/v1/me").json()["role"] == "operator"
    csrf = signature(client.cookies["cosched_session"], "csrf")
    assert client.post("/login/link", data={"ticket": ticket, "csrf_token": csrf}).status_code == 403
    assert client.get(f"/login?ticket={ticket}").status_code == 403


def test_a_link_that_another_site_opens_swaps_no_session(client: TestClient, known: Authenticator) -> None:
    client.post("/login", data={"name": "ann", "password": WORD})
    ticket = known.ticket(Principal("mallory", Role.USER, source=RoleSource.GRANTED), "unix")
    opened = client.get(f"/login?ticket={ticket}")
    assert "You are logged in as ann." in opened.text
    assert "Set-Cookie" not in opened.headers
    foreign = {"Origin": "https://evil.example"}
    assert client.post("/login/link", data={"ticket": ticket}, headers=foreign).status_code == 403
    assert client.post("/login/link", data={"ticket": ticket}).status_code == 403  # without the token of the page
    assert client.get("/api/v1/me").json()["name"] == "ann"
    found = re.search(r'name="csrf_token" value="([^"]+)"', opened.text)
    assert found is not None
    entered = client.post("/login/link", data={"ticket": ticket, "csrf_token": found[1], "next": "/tasks"})
    assert (entered.status_code, entered.headers["Location"]) == (303, "/tasks")
    assert client.get("/api/v1/me").json()["name"] == "mallory"


def test_over_tls_the_cookie_is_kept_from_everybody_else(known: Authenticator) -> None:
    browser = TestClient(
        build_application(services_of(Recorder()), known),
        base_url="https://127.0.0.1",
        follow_redirects=False,
        client=("127.0.0.1", 1),
    )
    entered = browser.post("/login", data={"name": "ann", "password": WORD})
    cookie = entered.headers["Set-Cookie"]
    assert cookie.startswith("__Host-cosched_session=")
    assert "Secure" in cookie


@pytest.mark.parametrize(
    "goal", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "", "/a\nb", "/\t/x"]
)
def test_a_login_never_leads_elsewhere(goal: str) -> None:
    assert local_path(goal) == "/"
    assert local_path("/tasks/1?x=2") == "/tasks/1?x=2"


def test_a_page_leads_whoever_is_not_known_to_the_login(known: Authenticator) -> None:
    app = build_application(services_of(Recorder()), known)
    app.get("/page", dependencies=[needs(Scope.READ)])(lambda: "page")
    browser = TestClient(app, base_url="http://127.0.0.1", follow_redirects=False, client=("127.0.0.1", 1))
    html = {"Accept": "text/html"}
    asked = browser.get("/page?x=1&y=2", headers=html)
    assert (asked.status_code, asked.headers["Location"]) == (303, "/login?next=%2Fpage%3Fx%3D1%26y%3D2")
    assert browser.get("/page").status_code == 401
    assert browser.get("/api/v1/me", headers=html).status_code == 401
