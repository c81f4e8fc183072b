"""Principals are users who ask: name, role, scopes, and how they proved who they are.

Also which names are allowed, and the user at the other end of a unix socket.
"""

from __future__ import annotations

import os
import pwd
import re
import socket
import struct
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from cosched.errors import UserError

__all__ = [
    "ALL_SCOPES",
    "USER_NAME",
    "ForbiddenError",
    "Principal",
    "ProofOfIdentity",
    "Role",
    "Scope",
    "checked_user_name",
    "is_user_name",
    "peer_uid",
    "user_name",
    "user_role",
]

# ── Names of users, as they may come from anywhere.


USER_NAME = r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63}"
"""As a regular expression."""

_USER_NAME = re.compile(USER_NAME, re.ASCII)


def is_user_name(text: str) -> bool:
    """Whether this can be the name of a user."""
    return _USER_NAME.fullmatch(text) is not None


def checked_user_name(text: str) -> str:
    """Return the name.

    Raises:
        UserError: it cannot be one.
    """
    if not is_user_name(text):
        raise UserError(f"{text[:80]!r} cannot name a user: use up to 64 letters, digits and . _ @ + -")
    return text


# ── Somebody who asks: a user's name, a role, what the credential allows, and how it was proved.


class ForbiddenError(UserError):
    """Who asks may not do that."""


class Role(IntEnum):
    """What a user is to the domain; a higher role may do all that a lower one may."""

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
    """What one credential may be used for, whatever its user may do."""

    READ = "read"  # look at tasks, hosts and the plan
    SUBMIT = "submit"  # submit and cancel tasks
    MANAGE = "manage"  # tokens, accounts, the audit log
    METRICS = "metrics"  # read /metrics


ALL_SCOPES = frozenset(Scope)


class ProofOfIdentity(StrEnum):
    """How a request proved whose it is."""

    SOCKET = "socket"  # the user of the process at the other end of the unix socket
    TOKEN = "token"  # noqa: S105  a word, no secret
    SESSION = "session"  # a cookie, after a login
    PROXY = "proxy"  # named by the trusted reverse proxy


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who asks.

    Attributes:
        name: of the user; owns what it submits.
        role: of the user.
        scopes: what the credential may be used for.
        how: how it was proved.
        credential: identifier of the token or session; empty for others.
    """

    name: str
    role: Role
    scopes: frozenset[Scope] = ALL_SCOPES
    how: ProofOfIdentity = ProofOfIdentity.SOCKET
    credential: str = ""

    @property
    def ambient(self) -> bool:
        """True where a browser sends the proof by itself, so that a change needs a CSRF token beside it."""
        return self.how in (ProofOfIdentity.SESSION, ProofOfIdentity.PROXY)

    @property
    def oversees(self) -> bool:
        """True for those who see and cancel everybody's tasks."""
        return self.role >= Role.OPERATOR

    def may_see(self, owner: str) -> bool:
        """Whether what this user owns may be shown and cancelled."""
        return self.oversees or self.name == owner


# ── The user at the other end of a unix socket, as the kernel knows it.


_CREDENTIALS = struct.Struct("3i")  # struct ucred of unix(7): process, user, group


def peer_uid(connection: socket.socket) -> int | None:
    """Return the user id of the process that opened this connection; None unless it is a unix socket."""
    if connection.family != socket.AF_UNIX:
        return None
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(raw)[1]
    return uid


def user_name(uid: int) -> str:
    """Return the login name of a user id, "uid1234" where the system knows none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid{uid}"


def user_role(uid: int) -> Role | None:
    """Return the role that a user id has by itself: root and the daemon's own user can do everything anyway."""
    return Role.ADMINISTRATOR if uid in (0, os.geteuid()) else None
