from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient

from cosched.access.principals import Role
from tests.portal.makers import Portal, portal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Portal]:
    with portal(tmp_path) as here:
        yield here


def test_a_token_is_shown_once_works_and_is_revoked(here: Portal) -> None:
    ann = here.person("ann")
    sent = ann.send("/account/tokens", scope=["read"], days="2", note="<b>laptop")
    assert sent.status_code == 303
    assert "Your new token" not in here.person("bob").see(sent.headers["Location"])
    made = ann.client.get(sent.headers["Location"])
    assert (made.status_code, made.headers["Cache-Control"]) == (200, "no-store")
    assert "Your new token" not in ann.see(sent.headers["Location"])  # its reload makes none and shows none
    assert len(here.access.tokens.of("ann")) == 1
    token = re.search(r">(cosched_\w+)</pre>", made.text.replace("-", "_"))
    assert token is not None
    secret = made.text[made.text.index("cosched_") :].partition("<")[0]
    program = TestClient(here.app, base_url="http://127.0.0.1", client=("127.0.0.1", 1))
    program.headers["Authorization"] = f"Bearer {secret}"
    assert program.get("/api/v1/me").json()["scopes"] == ["read"]
    later = ann.see("/account")
    assert secret not in later
    assert "&lt;b&gt;laptop" in later
    assert ann.send(f"/account/tokens/{secret.split('_')[1]}/revoke").headers["Location"] == "/account"
    assert program.get("/api/v1/me").status_code == 401


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"scope": ["all"]},
        {"scope": ["read"], "days": "0"},
        {"scope": ["read"], "days": "1e9"},
        {"scope": ["read"], "days": "nan"},
        {"scope": ["read"], "note": "x" * 999},
    ],
)
def test_what_cannot_be_given_out_is_said_so(here: Portal, fields: dict[str, object]) -> None:
    assert 'role="alert"' in here.person("ann").refused("/account/tokens", **fields)
    assert here.access.tokens.of("ann") == []


def test_nobody_revokes_anothers_token_or_reads_the_audit_log(here: Portal) -> None:
    here.person("ann").send("/account/tokens", scope=["read"], note="laptop")
    (row,) = here.access.tokens.of("ann")
    bob = here.person("bob")
    assert bob.send(f"/account/tokens/{row.id}/revoke").status_code == 404
    assert "laptop" not in bob.see("/account")
    assert "Audit log" not in bob.see("/account")
    chief = here.person("chief", Role.ADMINISTRATOR).see("/account")
    assert "token created" in chief
    assert here.access.tokens.of("ann") == [row]


def test_a_form_without_the_token_of_a_page_is_refused(here: Portal) -> None:
    """Bad inputs 19: no CSRF token."""
    assert here.person("ann").client.post("/account/tokens", data={"scope": "read"}).status_code == 403
    assert here.access.tokens.of("ann") == []
