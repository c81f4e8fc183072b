from __future__ import annotations

from typing import Any

import pytest

from cosched.access import Principal, ProofOfIdentity, Role, Scope
from cosched.access.principals import ForbiddenError
from cosched.app.credential_service import CredentialService
from cosched.errors import UserError
from tests.access.memory import access

ANN = Principal("ann", Role.USER)
CHIEF = Principal("chief", Role.ADMINISTRATOR)
TOKEN = Principal("ann", Role.USER, frozenset({Scope.MANAGE, Scope.READ}), ProofOfIdentity.TOKEN, "1")
USUAL: dict[str, Any] = {"user": "", "role": "", "scopes": ["read"], "lifetime": 3600.0, "note": ""}


@pytest.fixture
def grants() -> CredentialService:
    return CredentialService(access())


def test_users_give_themselves_tokens_and_take_them_back(grants: CredentialService) -> None:
    text, row = grants.create_token(ANN, "unix", **USUAL)
    assert (row.user, row.role, row.scopes, row.expires - row.created) == ("ann", "user", ("read",), 3600.0)
    assert text.split("_")[1] == row.id
    assert grants.tokens(ANN, everybody=False) == [row]
    assert grants.revoke(ANN, "unix", row.id)
    assert not grants.revoke(ANN, "unix", row.id)
    assert [deed.action for deed in grants.audit_log(CHIEF, 9, 0)] == ["token revoked", "token created"]


@pytest.mark.parametrize(
    ("principal", "wanted"),
    [
        (ANN, {"user": "bob"}),
        (ANN, {"role": "operator"}),
        (TOKEN, {"scopes": ["read", "submit"]}),
        (Principal("olga", Role.OPERATOR), {"user": "bob"}),
    ],
)
def test_nobody_gives_out_more_than_they_have(
    grants: CredentialService, principal: Principal, wanted: dict[str, Any]
) -> None:
    with pytest.raises(ForbiddenError):
        grants.create_token(principal, "unix", **USUAL | wanted)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"user": "a b"}, "cannot name a user"),
        ({"role": "king"}, "'king' is no role"),
        ({"scopes": ["all"]}, "'all' is not a valid Scope: there are read"),
        ({"scopes": []}, "good for nothing"),
        ({"lifetime": 0.0}, "up to 366 days"),
        ({"lifetime": 1e12}, "up to 366 days"),
        ({"note": "x" * 201}, "at most 200 are kept"),
    ],
)
def test_what_no_token_can_be(grants: CredentialService, wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        grants.create_token(CHIEF, "unix", **USUAL | wanted)


def test_administrators_give_tokens_to_others_who_may_little_unless_said(grants: CredentialService) -> None:
    _, row = grants.create_token(CHIEF, "unix", **USUAL | {"user": "bob"})
    assert (row.user, row.role) == ("bob", "user")
    assert grants.tokens(CHIEF, everybody=True) == [row]
    assert not grants.revoke(ANN, "unix", row.id)
    assert grants.revoke(CHIEF, "unix", row.id)
    with pytest.raises(ForbiddenError, match="only administrators may see the tokens of others"):
        grants.tokens(ANN, everybody=True)


def test_accounts_are_for_administrators(grants: CredentialService) -> None:
    for forbidden in (
        lambda: grants.accounts(ANN),
        lambda: grants.add_account(ANN, "", "x", "y", "user"),
        lambda: grants.change_account(ANN, "", "x", password=None, role="user", enabled=None),
        lambda: grants.remove_account(ANN, "", "x"),
        lambda: grants.audit_log(ANN, 1, 0),
    ):
        with pytest.raises(ForbiddenError, match="only administrators may"):
            forbidden()


def test_a_changed_account_has_no_tokens_any_more(grants: CredentialService) -> None:
    grants.add_account(CHIEF, "unix", "ann", "a long password", "user")
    grants.create_token(ANN, "unix", **USUAL)
    grants.change_account(CHIEF, "unix", "ann", password=None, role="operator", enabled=None)
    assert grants.tokens(ANN, everybody=False) == []
    assert [account.role for account in grants.accounts(CHIEF)] == ["operator"]
    grants.remove_account(CHIEF, "unix", "ann")
    assert grants.accounts(CHIEF) == []
    details = [deed.detail for deed in grants.audit_log(CHIEF, 9, 0)]
    assert "ann (role)" in details
    assert "password" not in " ".join(details)


def test_a_link_takes_all_scopes(grants: CredentialService) -> None:
    assert grants.ticket(ANN, "unix")
    with pytest.raises(ForbiddenError, match="takes all scopes"):
        grants.ticket(TOKEN, "unix")


def test_a_change_of_nothing_ends_no_token_and_leaves_no_line_in_the_audit_log(grants: CredentialService) -> None:
    grants.add_account(CHIEF, "unix", "ann", "a long password", "user")
    _, token = grants.create_token(ANN, "unix", **USUAL)
    row = grants.change_account(CHIEF, "unix", "ann", password=None, role=None, enabled=None)
    assert (row.name, row.role, row.enabled) == ("ann", "user", True)
    assert grants.tokens(ANN, everybody=False) == [token]
    assert [deed.action for deed in grants.audit_log(CHIEF, 9, 0)] == ["token created", "account added"]
