from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from cosched.access.principals import Role, RoleSource
from cosched.access.sessions import Login, Sessions, identifier_of
from tests.access.memory import MemoryCredentials

if TYPE_CHECKING:
    from cosched.store.credentials import Credentials

ANN = Login("ann", Role.USER, RoleSource.ACCOUNT)


def sessions(kept: MemoryCredentials | None = None) -> Sessions:
    return Sessions(cast("Credentials", kept or MemoryCredentials()), 100.0)


def test_a_session_lasts_its_time_and_survives_a_restart() -> None:
    kept = MemoryCredentials()
    secret, expires = sessions(kept).begin(ANN, 5.0)
    assert expires == 105.0
    after = sessions(kept)
    found = after.get(secret, 104.0)
    assert found is not None
    assert (found.user, found.role, found.source) == ("ann", "user", "account")
    assert after.get(secret, 105.0) is None
    assert after.get("other", 6.0) is None
    assert secret not in repr(kept.sessions())


def test_one_session_or_all_of_a_user_end() -> None:
    open_ = sessions()
    first, second, third = (open_.begin(replace(ANN, user=name), 0.0)[0] for name in ("ann", "ann", "bob"))
    open_.end(secret=first)
    assert [open_.get(each, 1.0) is not None for each in (first, second, third)] == [False, True, True]
    open_.end(user="ann")
    assert [open_.get(each, 1.0) is not None for each in (first, second, third)] == [False, False, True]


def test_a_link_is_good_once_and_soon() -> None:
    open_ = sessions()
    ticket = open_.ticket(ANN, 0.0)
    assert open_.redeem("other", 1.0) is None
    assert open_.redeem(ticket, 1.0) == ANN
    assert open_.redeem(ticket, 1.0) is None
    late = open_.ticket(ANN, 0.0)
    assert open_.redeem(late, 300.0) is None
    revoked = open_.ticket(ANN, 0.0)
    open_.end(user="ann")
    assert open_.redeem(revoked, 1.0) is None


def test_a_session_goes_on_until_it_ends_or_expires() -> None:
    open_ = sessions()
    secret, _ = open_.begin(ANN, 0.0)
    row = open_.get(secret, 1.0)
    assert row is not None
    assert [open_.find(identifier_of(row), time) for time in (1.0, 100.0)] == [row, None]
    open_.end(secret=secret)
    assert open_.find(identifier_of(row), 1.0) is None
