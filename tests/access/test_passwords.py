from __future__ import annotations

import pytest

from cosched.access.accounts import password_digest, password_matches
from cosched.errors import UserError

GOOD = "correct horse battery"


def test_only_the_password_matches_its_digest() -> None:
    digest = password_digest(GOOD)
    assert digest.startswith("$argon2id$")
    assert digest != password_digest(GOOD)
    assert password_matches(digest, GOOD)
    for other in ("", GOOD + " ", GOOD.upper(), "x" * 5000, "\ud800"):
        assert not password_matches(digest, other)


def test_nobody_has_no_password() -> None:
    assert not password_matches("", "the password of nobody")
    assert not password_matches("no digest", GOOD)


@pytest.mark.parametrize("password", ["", "short", "x" * 1025])
def test_passwords_have_a_length(password: str) -> None:
    with pytest.raises(UserError, match=r"choose one of 12 to 1024"):
        password_digest(password)
