"""Somebody who asks: a user's name, a role, what the credential allows, and how it was proved."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from cosched.errors import UserError

__all__ = ["ALL_SCOPES", "ForbiddenError", "How", "Principal", "Role", "Scope"]


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


class How(StrEnum):
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
    how: How = How.SOCKET
    credential: str = ""

    @property
    def ambient(self) -> bool:
        """True where a browser sends the proof by itself, so that a change needs a CSRF token beside it."""
        return self.how in (How.SESSION, How.PROXY)

    @property
    def oversees(self) -> bool:
        """True for those who see and cancel everybody's tasks."""
        return self.role >= Role.OPERATOR

    def may_see(self, owner: str) -> bool:
        """Whether what this user owns may be shown and cancelled."""
        return self.oversees or self.name == owner
