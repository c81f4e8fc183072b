from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.access import Role, Scope
from cosched.access.authentication import AccessSettings, Authenticator
from cosched.access.tokens import TokenGrant
from cosched.store import Store
from cosched.store.credentials import AccountRow, AuditEntry, Credentials, SessionRow, TokenRow
from tests.store.new_database import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Credentials]:
    store = Store(new_database(tmp_path))
    yield Credentials(store)
    store.close()


def test_no_secret_stands_in_the_database(kept: Credentials, tmp_path: Path) -> None:
    known = Authenticator(kept, AccessSettings(), lambda: 1.0)
    known.accounts.add("ann", "correct horse battery", Role.USER, 1.0)
    token, _ = known.tokens.create(TokenGrant("ann", Role.USER, {Scope.READ}), 1.0, 1e9)
    cookie, _ = known.login("ann", "correct horse battery", "127.0.0.1")
    written = b"".join(file.read_bytes() for file in tmp_path.glob("cosched.db*"))
    assert b"$argon2id$" in written
    for secret in ("correct horse battery", token.split("_", 2)[2], cookie):
        assert secret.encode() not in written


def test_accounts(kept: Credentials) -> None:
    ann, bob = AccountRow("ann", "d", "user", 1.5), AccountRow("bob", "e", "operator", 2.5, enabled=False)
    kept.put_account(bob)
    kept.put_account(AccountRow("ann", "x", "user", 0.0))
    kept.put_account(ann)
    assert kept.accounts() == [ann, bob]
    kept.delete_account("ann")
    assert kept.accounts() == [bob]


def test_tokens(kept: Credentials) -> None:
    first = TokenRow("b", "d", "ann", "user", ("read", "submit"), "night", 1.0, 2.0)
    second = TokenRow("a", "e", "bob", "operator", (), "", 3.0, 4.0)
    kept.add_token(second)
    kept.add_token(first)
    assert kept.tokens() == [first, second]
    kept.delete_tokens("b", "none")
    assert kept.tokens() == [second]


def test_sessions_that_have_expired_are_swept_out_by_new_ones(kept: Credentials) -> None:
    old = SessionRow("a", "ann", "user", "account", "", 1.0, 2.0)
    new = SessionRow("b", "ann", "user", "proxy", "abc", 3.0, 4.0)
    kept.add_session(old)
    assert kept.sessions() == [old]
    kept.add_session(new)
    assert kept.sessions() == [new]
    kept.delete_sessions("b")
    kept.delete_sessions()
    assert kept.sessions() == []


def test_the_audit_log(kept: Credentials) -> None:
    entries = [AuditEntry(float(number), "ann", "token", "1.2.3.4", "login", "x") for number in range(3)]
    for entry in entries:
        kept.log(entry)
    assert kept.audit_log(2) == [entries[2], entries[1]]
    assert kept.audit_log(2, 2) == [entries[0]]
