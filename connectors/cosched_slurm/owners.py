"""The users that own tasks, as a cluster's machine knows them: start at `owner_account`."""

from __future__ import annotations

import os
import pwd
import re
from dataclasses import dataclass

from cosched.errors import UserError

__all__ = ["OwnerAccount", "account_name", "owner_account"]

_ACCOUNT_NAME = re.compile(r"[a-z_][a-z0-9._-]{0,63}\Z")


@dataclass(frozen=True, slots=True)
class OwnerAccount:
    """A user of this machine.

    Attributes:
        name: name of the user.
        uid: number of the user, never root's.
        gid: number of the user's own group.
        groups: numbers of all the user's groups.
        home: path of the home folder.
    """

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str


def account_name(owner: str) -> str:
    """Return the name of an owner's account.

    Raises:
        UserError: there is no owner, or it is no such name; a number could be anybody.
    """
    if not _ACCOUNT_NAME.match(owner):
        raise UserError(
            f"the task has the owner {owner[:80]!r}, and jobs here run under their owners' names: "
            "submit it as a user of this cluster"
        )
    return owner


def owner_account(owner: str, lowest_uid: int) -> OwnerAccount:
    """Return an owner's account on this machine.

    Args:
        owner: owner of a task.
        lowest_uid: users with smaller numbers are the system's, for whom nothing is submitted.

    Raises:
        UserError: there is no such user, or it is root or another of the system's.
    """
    try:
        user = pwd.getpwnam(account_name(owner))
    except KeyError:
        raise UserError(f"there is no user {owner!r} here: submit as one that the cluster knows") from None
    if user.pw_uid < max(lowest_uid, 1):
        raise UserError(
            f"nothing is submitted for {owner}, a user of the system (number {user.pw_uid}, below {lowest_uid}): "
            "submit as another user, or have the administrator set lowest_uid in [connector.slurm]"
        )
    groups = tuple(os.getgrouplist(user.pw_name, user.pw_gid))
    return OwnerAccount(user.pw_name, user.pw_uid, user.pw_gid, groups, user.pw_dir)
