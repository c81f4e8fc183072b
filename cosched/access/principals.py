"""Principals are the users behind requests: name, role, scopes, and their proof of identity.

The user at the other end of a unix socket is looked up here. Start at `Principal`.
"""

from __future__ import annotations

import os
import pwd
import socket
import struct
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ALL_SCOPES",
    "ForbiddenError",
    "Principal",
    "ProofOfIdentity",
    "Role",
    "RoleSource",
    "Scope",
    "SystemUsers",
    "peer_uid",
    "require_administrator",
    "user_role",
]


class ForbiddenError(UserError):
    """The user may not do this."""


class Role(IntEnum):
    """A user's role in the domain; a higher role includes the lower ones."""

    USER = 1  # submits tasks, sees and cancels the user's own
    OPERATOR = 2  # sees and cancels everybody's
    ADMINISTRATOR = 3  # also gives out accounts and tokens, and reads the audit log

    @property
    def word(self) -> str:
        """The role as documents and pages write it."""
        return self.name.lower()

    @staticmethod
    def of(word: str) -> Role:
        """Return the role of this name; raises `ValueError` where there is none."""
        try:
            return Role[word.upper()]
        except KeyError:
            raise ValueError(f"{word!r} is no role: there are {', '.join(role.word for role in Role)}") from None


class Scope(StrEnum):
    """A use that one credential is restricted to, beside the role of its user."""

    READ = "read"  # look at tasks, hosts and the plan
    SUBMIT = "submit"  # submit and cancel tasks
    MANAGE = "manage"  # tokens, accounts, the audit log
    METRICS = "metrics"  # read /metrics


ALL_SCOPES = frozenset(Scope)


class ProofOfIdentity(StrEnum):
    """The way in which a request proved its user."""

    SOCKET = "socket"  # the user of the process at the other end of the unix socket
    TOKEN = "token"  # noqa: S105  a word, no secret
    SESSION = "session"  # a cookie, after a login
    PASSWORD = "password"  # noqa: S105  a word: a login with name and password
    LINK = "link"  # a login with a link
    PROXY = "proxy"  # named by the trusted reverse proxy
    LEAD = "lead"  # a token for one attempt of an elastic task


class RoleSource(StrEnum):
    """The source of a user's role, asked again at each use of a credential.

    So a credential keeps no role that was taken away.
    """

    SYSTEM = "system"  # the user's number on this machine, and [access]
    PROXY = "proxy"  # [access]
    ACCOUNT = "account"  # the local account of this name
    GRANTED = "granted"  # an administrator, who gave out the credential with this role


@dataclass(frozen=True, slots=True)
class Principal:
    """The user behind a request.

    Attributes:
        name: name of the user, who owns the tasks that are submitted under it.
        role: role of the user.
        scopes: the uses of the credential.
        how: the proof of identity.
        credential: identifier of the token or session; empty for others.
        source: the origin of the role.
    """

    name: str
    role: Role
    scopes: frozenset[Scope] = ALL_SCOPES
    how: ProofOfIdentity = ProofOfIdentity.SOCKET
    credential: str = ""
    source: RoleSource = RoleSource.SYSTEM

    @property
    def is_operator(self) -> bool:
        """Return whether the user may see and cancel all tasks."""
        return self.role >= Role.OPERATOR

    def may_see(self, owner: str) -> bool:
        """Return whether the user may see and cancel tasks of this owner."""
        return self.is_operator or self.name == owner


def require_administrator(principal: Principal, what: str) -> None:
    """Refuse users of a lower role.

    Args:
        principal: the user.
        what: the action, as the message names it.

    Raises:
        ForbiddenError: the user is no administrator.
    """
    if principal.role < Role.ADMINISTRATOR:
        raise ForbiddenError(f"only administrators may {what}: ask one")


_CREDENTIALS = struct.Struct("3i")  # struct ucred of unix(7): process, user, group


def peer_uid(connection: socket.socket) -> int | None:
    """Return the user id of a unix socket's other end; None for other sockets."""
    if connection.family != socket.AF_UNIX:
        return None
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(raw)[1]
    return uid


class SystemUsers:
    """Names and numbers of this machine's users, asked for again after five seconds.

    Every request asks, and the system may ask a directory service on another machine.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._names = lru_cache(maxsize=_MOST_USERS)(_look_up_name)
        self._numbers = lru_cache(maxsize=_MOST_USERS)(_look_up_number)

    def name(self, uid: int) -> str:
        """Return the login name of a user id, "uid1234" where the system knows none."""
        return self._names(uid, self._period())

    def number(self, name: str) -> int | None:
        """Return the user id of a login name; None where the system knows none.

        The name is in the form that `name` returns.
        """
        return self._numbers(name, self._period())

    def _period(self) -> int:
        return int(self._clock() / _KNOWN_FOR)


_KNOWN_FOR = 5.0  # seconds
_MOST_USERS = 1000


def _look_up_name(uid: int, _: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid{uid}"


def _look_up_number(name: str, _: int) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        number = name.removeprefix("uid")
        return int(number) if number != name and number.isdecimal() else None


def user_role(uid: int) -> Role | None:
    """Return the role of a user id without settings, or None.

    Root and the daemon's user are administrators.
    """
    return Role.ADMINISTRATOR if uid in (0, os.geteuid()) else None
