from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.portal.middleware.csrf import is_token, masked

TOKEN = "0123456789abcdef" * 4


@given(st.binary(min_size=1, max_size=64))
def test_a_masked_token_is_the_token_and_never_the_same_text(secret: bytes) -> None:
    token = secret.hex()
    assert is_token(masked(token), token)
    assert is_token(token, token)
    if len(secret) >= 16:
        assert masked(token) != masked(token)


@given(st.text(max_size=140))
def test_nothing_else_is_the_token(text: str) -> None:
    assert is_token(text, TOKEN) == (text == TOKEN)


@pytest.mark.parametrize(
    "given", ["", "zz" * 64, masked("ff" * 32), masked(TOKEN)[:-2], "é" * 128, " " * 128, "00 " * 41 + "     "]
)
def test_what_is_near_is_refused(given: str) -> None:
    assert not is_token(given, TOKEN)
    assert is_token(given, "") == (given == "")
