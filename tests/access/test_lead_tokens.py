from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.access.authentication import AccessSettings
from cosched.access.lead_tokens import LeadTokens, lead_key
from cosched.access.principals import ProofOfIdentity
from cosched.access.proxies import RequestEvidence
from cosched.errors import UserError
from tests.access.memory import access

if TYPE_CHECKING:
    from pathlib import Path

UUID = "6f1c9f8e-5f0a-4b62-9c35-0a1b7f3f2c11"


def test_a_token_is_of_one_attempt_and_one_domain() -> None:
    token = LeadTokens("key").token(UUID)
    assert LeadTokens("key").attempt(token) == UUID
    assert LeadTokens("another").attempt(token) == ""
    assert LeadTokens("key").attempt(token.replace("6f1c", "6f1d")) == ""


@given(st.text(max_size=300))
def test_what_is_no_token_is_nobodys(text: str) -> None:
    assert LeadTokens("key").attempt(text) == ""
    assert LeadTokens("key").attempt(f"cosched-lead_{UUID}_{text}") == ""


def test_the_key_is_made_once_and_nobody_else_can_read_it(tmp_path: Path) -> None:
    file = tmp_path / "lead-key"
    key = lead_key(file)
    assert len(key) > 30
    assert lead_key(file) == key
    assert file.stat().st_mode & 0o077 == 0
    file.chmod(0o644)
    with pytest.raises(UserError, match="can be read by everybody"):
        lead_key(file)


def test_a_lead_is_known_by_its_token_and_may_do_nothing_else() -> None:
    known = access(AccessSettings(lead_key="key"))
    headers = {"authorization": f"Bearer {LeadTokens('key').token(UUID)}"}
    found = known.identify(RequestEvidence(None, "127.0.0.1", secure=True, headers=headers)).principal
    assert found is not None
    assert (found.how, found.credential, found.scopes) == (ProofOfIdentity.LEAD, UUID, frozenset())
    assert not found.is_operator
