from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.testclient import TestClient

from cosched.access import Principal, ProofOfIdentity, Role, Scope
from cosched.access.authentication import Identity
from cosched.errors import CoschedError
from cosched.portal.dependencies import AnyPrincipal, csrf_checked, needs
from cosched.portal.middleware.identity import IdentityMiddleware
from cosched.portal.responses import error_response

if TYPE_CHECKING:
    from cosched.access.proxies import RequestEvidence

WHO = {
    "all": Principal("ann", Role.USER, how=ProofOfIdentity.TOKEN),
    "reads": Principal("bob", Role.USER, frozenset({Scope.READ}), ProofOfIdentity.TOKEN, "1"),
    "browser": Principal("cay", Role.USER, how=ProofOfIdentity.SESSION),
    "socket": Principal("dan", Role.USER, how=ProofOfIdentity.SOCKET),
    "often": Principal("eve", Role.USER, how=ProofOfIdentity.TOKEN),
}


class ByToken:
    """Knows a few by the word they show; "often" has asked too often."""

    def identify(self, evidence: RequestEvidence) -> Identity:
        reason = "what you show is too old" if evidence.bearer == "old" else ""
        return Identity(WHO.get(evidence.bearer), "right", reason, "1.2.3.4")

    def rate_limit(self, identified: Identity) -> float:
        return 1.5 if identified.principal is WHO["often"] else 0.0


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    app.add_middleware(IdentityMiddleware, gate=ByToken())
    app.add_exception_handler(CoschedError, error_response)
    router = APIRouter(dependencies=[Depends(csrf_checked)])

    @router.get("/who", dependencies=[needs(Scope.READ)])
    async def who(principal: AnyPrincipal) -> str:
        return principal.name

    @router.post("/change", dependencies=[needs(Scope.SUBMIT)])
    async def change(request: Request, principal: AnyPrincipal) -> str:
        form = await request.form()
        return f"{principal.name} {form.get('value', '')}".rstrip()

    @router.get("/nonce")
    async def nonce(request: Request) -> str:
        return str(request.state.nonce)

    app.include_router(router)
    return TestClient(app)


def bearer(name: str, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {name}"} | {key.replace("_", "-"): value for key, value in headers.items()}


def test_who_is_not_known_is_asked_to_say(client: TestClient) -> None:
    for method, path in (("GET", "/who"), ("POST", "/change")):
        refused = client.request(method, path)
        assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, 'Bearer realm="cosched"')
    refused = client.get("/who", headers=bearer("old"))
    assert refused.json()["detail"].startswith("what you show is too old: send a token")
    assert client.get("/who", headers=bearer("all")).json() == "ann"


def test_a_credential_is_good_for_its_scopes(client: TestClient) -> None:
    assert client.get("/who", headers=bearer("reads")).json() == "bob"
    refused = client.post("/change", headers=bearer("reads"))
    assert (refused.status_code, refused.json()["detail"]) == (
        403,
        "this token may not be used for that: it has no scope submit",
    )


def test_a_browser_changes_nothing_without_the_token_of_the_page(client: TestClient) -> None:
    assert client.get("/who", headers=bearer("browser")).status_code == 200
    for headers, form in (({}, {}), ({"X_CSRF_Token": "wrong"}, {}), ({}, {"csrf_token": "wrong"})):
        refused = client.post("/change", headers=bearer("browser", **headers), data=form)
        assert (refused.status_code, "reload it" in refused.json()["detail"]) == (403, True)
    assert client.post("/change", headers=bearer("browser", X_CSRF_Token="right")).json() == "cay"
    assert (
        client.post("/change", headers=bearer("browser"), data={"csrf_token": "right", "value": "7"}).json() == "cay 7"
    )


def test_a_token_cannot_be_sent_unknowingly(client: TestClient) -> None:
    assert client.post("/change", headers=bearer("all"), data={"value": "7"}).json() == "ann 7"


def test_every_page_has_a_nonce_of_its_own(client: TestClient) -> None:
    first, second = (client.get("/nonce").json() for _ in range(2))
    assert first != second
    assert len(first) >= 20


def test_at_a_socket_only_what_a_browser_sends_needs_the_token_of_the_page(client: TestClient) -> None:
    assert client.post("/change", headers=bearer("socket")).json() == "dan"
    assert client.post("/change", headers=bearer("socket", Origin="http://testserver")).status_code == 403
    assert client.post("/change", headers=bearer("socket"), data={"value": "7"}).status_code == 403
    assert client.post("/change", headers=bearer("socket"), data={"csrf_token": "right"}).json() == "dan"


def test_who_asks_too_often_is_told_when_to_come_back(client: TestClient) -> None:
    refused = client.get("/who", headers=bearer("often"))
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "2")
    assert refused.json()["detail"] == "you ask too often: wait 1.5 s"


def test_a_header_given_twice_is_no_name(client: TestClient) -> None:
    twice = [(b"Authorization", b"Bearer all"), (b"Authorization", b"Bearer reads")]
    assert client.get("/who", headers=twice).status_code == 401
