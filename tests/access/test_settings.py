from __future__ import annotations

import pytest

from cosched.access.authentication import AccessSettings
from cosched.access.principals import Role

SETTINGS = AccessSettings(administrators=frozenset({"ann", "both"}), operators=frozenset({"olga", "both"}))


@pytest.mark.parametrize(
    ("user", "role"),
    [
        ("ann", Role.ADMINISTRATOR),
        ("olga", Role.OPERATOR),
        ("both", Role.ADMINISTRATOR),
        ("bob", Role.USER),
        ("Ann", Role.USER),
        ("", Role.USER),
    ],
)
def test_the_higher_role_counts_and_names_are_exact(user: str, role: Role) -> None:
    assert SETTINGS.role(user) is role


def test_by_default_nobody_is_more_than_a_user() -> None:
    assert AccessSettings().role("root") is Role.USER
    assert not AccessSettings().proxies
