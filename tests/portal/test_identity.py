from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.testclient import TestClient

from cosched.access import How, Principal, Role, Scope
from cosched.errors import CoschedError
from cosched.portal.identity import Asker, Identified, Identify, csrf_checked, needs
from cosched.portal.problems import answer

if TYPE_CHECKING:
    from cosched.access.evidence import Evidence

WHO = {
    "all": Principal("ann", Role.USER),
    "reads": Principal("bob", Role.USER, frozenset({Scope.READ}), How.TOKEN, "1"),
    "browser": Principal("cay", Role.USER, how=How.SESSION),
}


def by_token(evidence: Evidence) -> Identified:
    return Identified(WHO.get(evidence.bearer), "right" if evidence.bearer == "browser" else "")


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    app.add_middleware(Identify, identify=by_token)
    app.add_exception_handler(CoschedError, answer)
    router = APIRouter(dependencies=[Depends(csrf_checked)])

    @router.get("/who", dependencies=[needs(Scope.READ)])
    async def who(asker: Asker) -> str:
        return asker.name

    @router.post("/change", dependencies=[needs(Scope.SUBMIT)])
    async def change(request: Request, asker: Asker) -> str:
        form = await request.form()
        return f"{asker.name} {form.get('value', '')}".rstrip()

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
    assert client.get("/who", headers=bearer("all")).json() == "ann"


def test_a_credential_is_good_for_its_scopes(client: TestClient) -> None:
    assert client.get("/who", headers=bearer("reads")).json() == "bob"
    refused = client.post("/change", headers=bearer("reads"))
    assert (refused.status_code, refused.json()["detail"]) == (
        403, "this token may not be used for that: it has no scope submit")  # fmt: skip


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
