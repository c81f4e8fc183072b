"""Owners of tasks on a cluster: named, known, and never root."""

from __future__ import annotations

import pwd

import pytest

from cosched.errors import UserError
from cosched_slurm.spool import account_name, user_and_group


def test_an_owner_is_a_user_and_an_account() -> None:
    nobody = pwd.getpwnam("nobody")
    assert user_and_group("nobody") == (nobody.pw_uid, nobody.pw_gid)
    assert account_name("ada") == "ada"


@pytest.mark.parametrize("owner", ["", "root", "0", "no-such-user", "nobody\n", "-x", "a,b", "A B"])
def test_whoever_is_nobody_is_refused(owner: str) -> None:
    with pytest.raises(UserError):
        user_and_group(owner)
