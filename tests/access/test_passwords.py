from __future__ import annotations

import pytest

from cosched.access.passwords import digest_of, matches
from cosched.errors import UserError

GOOD = "correct horse battery"


def test_only_the_password_matches_its_digest() -> None:
    digest = digest_of(GOOD)
    assert digest.startswith("$argon2id$")
    assert digest != digest_of(GOOD)
    assert matches(digest, GOOD)
    for other in ("", GOOD + " ", GOOD.upper(), "x" * 5000, "\ud800"):
        assert not matches(digest, other)


def test_nobody_has_no_password() -> None:
    assert not matches("", "the password of nobody")
    assert not matches("no digest", GOOD)


@pytest.mark.parametrize("password", ["", "short", "x" * 1025])
def test_passwords_have_a_length(password: str) -> None:
    with pytest.raises(UserError, match=r"choose one of 12 to 1024"):
        digest_of(password)
