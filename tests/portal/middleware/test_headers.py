from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from fastapi.testclient import TestClient

from cosched.portal.middleware.headers import SecureHeaders, content_security_policy
from cosched.portal.middleware.identity import IdentityMiddleware
from tests.access.memory import Trusting


def app() -> FastAPI:
    made = FastAPI()
    made.add_middleware(IdentityMiddleware, gate=Trusting())
    made.add_middleware(SecureHeaders)

    @made.get("/page", response_class=HTMLResponse)
    async def page(request: Request) -> str:
        return str(request.state.nonce)

    @made.get("/data")
    async def data() -> dict[str, str]:
        return {}

    return made


def test_only_what_has_the_pages_nonce_runs() -> None:
    page = TestClient(app()).get("/page")
    assert page.headers["Content-Security-Policy"] == content_security_policy(page.text)
    assert "unsafe" not in content_security_policy("n")
    assert content_security_policy("n").startswith("default-src 'none'; script-src 'nonce-n'")


def test_data_is_no_page_whatever_is_in_it() -> None:
    answer = TestClient(app()).get("/data")
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"


def test_over_tls_browsers_are_told_to_come_back_by_tls() -> None:
    plain, secure = (
        TestClient(app(), base_url=f"{scheme}://cosched.example.org").get("/data") for scheme in ("http", "https")
    )
    assert "Strict-Transport-Security" not in plain.headers
    assert secure.headers["Strict-Transport-Security"] == "max-age=31536000"
