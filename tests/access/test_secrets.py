from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.access.tokens import new_token, same_secret, secret_digest, signature, split_token


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
