from __future__ import annotations

import pytest

from cosched.access import Principal, Role
from cosched.access.principals import ForbiddenError, require_administrator


def test_users_see_their_own_and_operators_see_all() -> None:
    assert Principal("ann", Role.USER).may_see("ann")
    assert not Principal("ann", Role.USER).may_see("bob")
    assert not Principal("ann", Role.USER).may_see("")
    assert Principal("ann", Role.OPERATOR).may_see("bob")
    assert Principal("ann", Role.ADMINISTRATOR).may_see("bob")


def test_only_administrators_pass_where_one_is_required() -> None:
    require_administrator(Principal("ann", Role.ADMINISTRATOR), "see the accounts")
    with pytest.raises(ForbiddenError, match="only administrators may see the accounts: ask one"):
        require_administrator(Principal("ann", Role.OPERATOR), "see the accounts")


def test_roles_have_words() -> None:
    assert [Role.of(role.word) for role in Role] == list(Role)
    with pytest.raises(ValueError, match="'king' is no role: there are user, operator, administrator"):
        Role.of("king")
