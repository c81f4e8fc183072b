"""Owners of tasks as users and accounts of the cluster."""

from __future__ import annotations

import pwd
import re

from cosched.errors import UserError

__all__ = ["account_of", "user_of"]

_OWNER = re.compile(r"[a-z_][a-z0-9._-]{0,63}\Z")


def account_of(owner: str) -> str:
    """Return the name of an owner's account.

    Raises:
        UserError: there is no owner, or it is no such name; a number could be anybody.
    """
    if not _OWNER.match(owner):
        raise UserError(
            f"the task has the owner {owner[:80]!r}, and jobs here run under their owners' names: "
            "submit it as a user of this cluster"
        )
    return owner


def user_of(owner: str) -> tuple[int, int]:
    """Return an owner's user and group numbers.

    Raises:
        UserError: there is no such user, or it is root, for whom nothing is submitted.
    """
    try:
        user = pwd.getpwnam(account_of(owner))
    except KeyError:
        raise UserError(f"there is no user {owner!r} here: submit as one that the cluster knows") from None
    if user.pw_uid == 0:
        raise UserError("nothing is submitted for root: submit as another user")
    return user.pw_uid, user.pw_gid
