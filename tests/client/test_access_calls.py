from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import AccountChange, AccountRequest, TokenRequest
from cosched.client import Client
from cosched.errors import UserError
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with serving(tmp_path) as (_, address):
        yield address


def test_a_token_is_given_out_used_and_revoked(address: str) -> None:
    with Client(address) as me:
        assert (me.me().how, me.me().role) == ("socket", "administrator")
        made = me.create_token(TokenRequest(user="ann", role="user", scopes=("read",), note="laptop"))
        with Client(address, token=made.token) as ann:
            assert (ann.me().name, ann.me().scopes) == ("ann", ("read",))
            with pytest.raises(UserError, match="has no scope manage"):
                ann.tokens()
            assert [token.id for token in me.tokens(everybody=True)] == [made.id]
            me.revoke_token(made.id)
            with pytest.raises(UserError, match="unknown, expired or revoked"):
                ann.me()
        assert me.tokens(everybody=True) == []
        assert [deed.action for deed in me.audit(2)] == ["token revoked", "token created"]


def test_an_account_is_made_changed_and_forgotten(address: str) -> None:
    with Client(address) as me:
        made = me.add_account(AccountRequest(name="bob", password="correct horse battery"))
        assert (made.role, made.enabled) == ("user", True)
        assert me.change_account("bob", AccountChange(role="operator", enabled=False)).role == "operator"
        assert [(each.name, each.enabled) for each in me.accounts()] == [("bob", False)]
        me.remove_account("bob")
        assert me.accounts() == []
        with pytest.raises(UserError, match="no account"):
            me.remove_account("bob")


@pytest.mark.parametrize("token", ["a b", "ü", "x\n"])
def test_what_can_be_no_token_is_not_sent(address: str, token: str) -> None:
    with pytest.raises(UserError, match="the token is no token"):
        Client(address, token=token)


def test_a_token_comes_from_a_file_that_not_everybody_reads(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    with Client(address) as me:
        file.write_text(me.create_token(TokenRequest(user="ann", role="user")).token + "\n")
    monkeypatch.setenv("COSCHED_TOKEN_FILE", str(file))
    file.chmod(0o644)
    with pytest.raises(UserError, match="can be read by everybody"):
        Client(address)
    file.chmod(0o600)
    with Client(address) as ann:
        assert ann.me().name == "ann"
    assert os.environ["COSCHED_TOKEN_FILE"] == str(file)
