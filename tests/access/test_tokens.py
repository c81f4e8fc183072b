from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hypothesis import given
from hypothesis import strategies as st

from cosched.access import Principal, ProofOfIdentity, Role, Scope
from cosched.access.principals import RoleSource
from cosched.access.tokens import TokenGrant, Tokens, new_token, same_secret, secret_digest, signature, split_token
from tests.access.memory import MemoryCredentials

if TYPE_CHECKING:
    from cosched.store.credentials import Credentials


def tokens(kept: MemoryCredentials | None = None) -> Tokens:
    return Tokens(cast("Credentials", kept or MemoryCredentials()))


def test_a_token_names_its_user_until_it_expires() -> None:
    given = tokens()
    text, row = given.create(TokenGrant("ann", Role.OPERATOR, {Scope.READ}), 10.0, 20.0)
    assert given.principal(text, 19.9) == Principal(
        "ann", Role.OPERATOR, frozenset({Scope.READ}), ProofOfIdentity.TOKEN, row.id, RoleSource.GRANTED
    )
    assert given.principal(text, 20.0) is None


def test_what_was_not_given_out_names_nobody() -> None:
    given = tokens()
    text, row = given.create(TokenGrant("ann", Role.USER, {Scope.READ}), 10.0, 20.0)
    for other in ("", text[:-1], text + "x", f"cosched_{row.id}_", f"cosched_{row.id}_{row.digest}", row.id):
        assert given.principal(other, 15.0) is None


def test_only_a_digest_is_kept_and_a_restart_knows_it() -> None:
    kept = MemoryCredentials()
    text, row = tokens(kept).create(TokenGrant("ann", Role.USER, {Scope.READ}), 10.0, 20.0)
    assert text.split("_", 2)[2] not in repr(kept.tokens())
    after = tokens(kept)
    assert after.principal(text, 15.0) is not None
    after.revoke(row.id)
    assert after.principal(text, 15.0) is None
    assert tokens(kept).of(None) == []


def test_tokens_are_listed_by_user() -> None:
    given = tokens()
    mine = given.create(TokenGrant("ann", Role.USER, {Scope.READ}), 10.0, 20.0)[1]
    yours = given.create(TokenGrant("bob", Role.USER, {Scope.READ}), 11.0, 20.0)[1]
    assert given.of("ann") == [mine]
    assert given.of(None) == [mine, yours]


def test_a_token_comes_apart_into_what_may_be_shown_and_what_not() -> None:
    token, identifier, secret = new_token()
    assert split_token(token) == (identifier, secret)
    assert len(secret) >= 43
    assert new_token()[0] != token


@given(st.text())
def test_other_text_is_no_token(text: str) -> None:
    identifier, secret = split_token(text)
    assert (not identifier and not secret) or text == f"cosched_{identifier}_{secret}"


def test_digests_and_signatures() -> None:
    assert same_secret(secret_digest("a"), secret_digest("a"))
    assert not same_secret(secret_digest("a"), secret_digest("b"))
    assert signature("k", "a") not in (signature("k", "b"), signature("l", "a"))
