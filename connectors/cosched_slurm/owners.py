"""The users that own tasks, as a cluster's machine knows them: start at `owner_account`."""

from __future__ import annotations

import os
import pwd
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.user_names import is_user_name
from cosched_slurm.jobs import commented_uuid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

__all__ = [
    "OwnerAccount",
    "UnknownUserError",
    "account_name",
    "owner_account",
    "submitting_user",
    "without_forged_names",
]

_ACCOUNT_NAME = re.compile(r"[a-z_][a-z0-9._-]{0,63}\Z")


class UnknownUserError(UserError):
    """This machine does not know the user, perhaps only now: what tells it of users may be away."""


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
        raise _no_user(owner)
    return owner


def _no_user(owner: str) -> UserError:
    return UserError(
        f"the task has the owner {owner[:80]!r}, and jobs here run under their owners' names: "
        "submit it as a user of this cluster"
    )


def submitting_user(owner: str, lowest_uid: int) -> pwd.struct_passwd:
    """Return an owner as this machine's table of users has them; see `owner_account`, which looks for groups, too."""
    if not is_user_name(owner) or owner.isdecimal():  # a number could be anybody
        raise _no_user(owner)
    try:
        user = pwd.getpwnam(owner)
    except KeyError:
        raise UnknownUserError(f"there is no user {owner!r} here: submit as one that the cluster knows") from None
    if user.pw_uid < max(lowest_uid, 1):
        raise UserError(
            f"nothing is submitted for {owner}, a user of the system (number {user.pw_uid}, below {lowest_uid}): "
            "submit as another user, or have the administrator set lowest_uid in [connector.slurm]"
        )
    return user


def owner_account(owner: str, lowest_uid: int) -> OwnerAccount:
    """Return an owner's account on this machine.

    Args:
        owner: owner of a task.
        lowest_uid: users with smaller numbers are the system's, for whom nothing is submitted.

    Raises:
        UserError: there is no such user, or it is root or another of the system's.
    """
    user = submitting_user(owner, lowest_uid)
    groups = tuple(os.getgrouplist(user.pw_name, user.pw_gid))
    return OwnerAccount(user.pw_name, user.pw_uid, user.pw_gid, groups, user.pw_dir)


def without_forged_names(
    rows: Iterable[Mapping[str, Any]], owner_of: Callable[[str], int | None]
) -> list[Mapping[str, Any]]:
    """Return jobs without the comments by which users give theirs the names of other users' attempts.

    A job whose user this machine does not know keeps its comment: one of our own without it would run twice.

    Args:
        rows: jobs in Slurm's JSON of any version.
        owner_of: returns the number of the user, beside the daemon's, whose jobs an attempt or array has; None where
            there is none of this name.
    """
    users: dict[str, int | None] = {}
    found = []
    for row in rows:
        name = commented_uuid(row)
        owner = None if name is None else owner_of(name)
        if owner is not None:
            user = str(row.get("user_name") or "")
            if user not in users:
                users[user] = _user_number(user)
            if users[user] not in (None, owner, os.geteuid()):
                row = {**row, "comment": ""}
        found.append(row)
    return found


def _user_number(user: str) -> int | None:
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return None
