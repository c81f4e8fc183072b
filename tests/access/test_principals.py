from __future__ import annotations

import os
import pwd
import socket

import pytest

from cosched.access import Principal, Role
from cosched.access.principals import (
    ForbiddenError,
    SystemUsers,
    peer_uid,
    require_administrator,
    user_role,
)
from tests.access.memory import Time


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
    users = SystemUsers(Time())
    assert (users.name(0), users.number("root")) == (pwd.getpwuid(0).pw_name, 0)
    assert (users.name(NOBODY), users.number("uid4000000000")) == ("uid4000000000", NOBODY)
    assert users.number("no-user-has-this-name") is None
    assert user_role(0) is user_role(os.geteuid()) is Role.ADMINISTRATOR
    assert user_role(NOBODY) is None


def test_a_renamed_user_has_the_new_name_within_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Time()
    users = SystemUsers(clock)
    assert (users.name(0), users.number("root")) == (pwd.getpwuid(0).pw_name, 0)

    def unknown(_: object) -> pwd.struct_passwd:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(pwd, "getpwnam", unknown)
    clock.now += 5.0
    assert (users.name(0), users.number("root")) == ("uid0", None)


def test_the_system_is_asked_once_for_many_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    genuine = pwd.getpwuid

    def look_up(uid: int) -> pwd.struct_passwd:
        asked.append(uid)
        return genuine(uid)

    monkeypatch.setattr(pwd, "getpwuid", look_up)
    clock = Time()
    users = SystemUsers(clock)
    for _ in range(10):
        users.name(0)
        clock.now += 0.4
    assert asked == [0]
