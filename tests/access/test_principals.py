from __future__ import annotations

import os
import pwd
import socket

import pytest

from cosched.access import Principal, Role
from cosched.access.principals import (
    ForbiddenError,
    peer_uid,
    require_administrator,
    user_name,
    user_role,
)


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


NOBODY = 4_000_000_000  # no user has it


def test_the_kernel_says_who_is_at_the_other_end() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert peer_uid(ours) == os.getuid()


def test_a_port_does_not_say_it() -> None:
    with socket.socket() as port:
        assert peer_uid(port) is None


def test_names_and_roles() -> None:
    assert user_name(0) == pwd.getpwuid(0).pw_name
    assert user_name(NOBODY) == "uid4000000000"
    assert user_role(0) is user_role(os.geteuid()) is Role.ADMINISTRATOR
    assert user_role(NOBODY) is None
