"""Documents of identity: tokens, accounts, login links and the audit log."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "AccountChange",
    "AccountRequest",
    "AccountView",
    "AuditEntryView",
    "LoginLink",
    "Me",
    "NewToken",
    "TokenRequest",
    "TokenView",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """The principal of a request: role, scopes, and how the credential was proved."""

    name: str
    role: str
    scopes: tuple[str, ...]
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """A token to be given out.

    Attributes:
        user: user of the token; empty: the user who asks.
        role: highest role; empty: the role of the user who asks, for other users "user".
        scopes: its uses: read, submit, manage, metrics.
        lifetime: seconds.
        note: for people: where it is used.
    """

    user: str = ""
    role: str = ""
    scopes: tuple[str, ...] = ("read", "submit")
    lifetime: float = 30 * 86400.0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenView:
    """A token that was given out; `id` is no secret.

    Attributes:
        source: what the role is held to at each use: system, proxy, account, or granted (the token alone, as an
            administrator gave it or a former version of cosched made it); empty from a daemon that does not say.
    """

    id: str
    user: str
    role: str
    scopes: tuple[str, ...]
    note: str
    created: float
    expires: float
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken(TokenView):
    """A new token; `token` is the secret and is never shown again."""

    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountRequest:
    """A local account to be made."""

    name: str
    password: str
    role: str = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountChange:
    """Changes of an account; null stays as it is."""

    password: str | None = None
    role: str | None = None
    enabled: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountView:
    """A local account."""

    name: str
    role: str
    created: float
    enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntryView:
    """One line of the audit log: an action with its user, proof and address.

    The proof is that of the user's identity.
    """

    time: float
    user: str
    how: str
    address: str
    action: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginLink:
    """An address that logs a browser in, once and soon."""

    url: str
