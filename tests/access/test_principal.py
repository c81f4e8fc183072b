from __future__ import annotations

import pytest

from cosched.access import Principal, ProofOfIdentity, Role


def test_users_see_their_own_and_operators_see_all() -> None:
    assert Principal("ann", Role.USER).may_see("ann")
    assert not Principal("ann", Role.USER).may_see("bob")
    assert not Principal("ann", Role.USER).may_see("")
    assert Principal("ann", Role.OPERATOR).may_see("bob")
    assert Principal("ann", Role.ADMINISTRATOR).may_see("bob")


def test_what_a_browser_sends_by_itself_needs_more() -> None:
    assert {how for how in ProofOfIdentity if Principal("ann", Role.USER, how=how).ambient} == {
        ProofOfIdentity.SESSION,
        ProofOfIdentity.PROXY,
    }


def test_roles_have_words() -> None:
    assert [Role.of(role.word) for role in Role] == list(Role)
    with pytest.raises(ValueError, match="'king' is no role: there are user, operator, administrator"):
        Role.of("king")
