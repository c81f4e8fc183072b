"""Tokens let programs in: random, hashed, scoped, expiring."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from base64 import b32encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.access.principals import Principal, ProofOfIdentity, Role, RoleSource, Scope
from cosched.store.credentials import TokenRow

if TYPE_CHECKING:
    from collections.abc import Collection

    from cosched.store.credentials import Credentials

__all__ = [
    "TokenGrant",
    "Tokens",
    "new_secret",
    "new_token",
    "same_secret",
    "secret_digest",
    "signature",
    "split_token",
]

# Secrets made here are random enough that a fast digest of them is safe to keep.
_PREFIX = "cosched"  # so that scanners for leaked secrets can find one
_LONGEST = 200


def new_secret() -> str:
    """Return 256 random bits as text."""
    return secrets.token_urlsafe(32)


def secret_digest(secret: str) -> str:
    """Return the digest of a secret, which the database keeps."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def signature(key: str, text: str) -> str:
    """Return the keyed digest of a text, which needs the key to make."""
    return hmac.new(key.encode(), text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()


def same_secret(one: str, other: str) -> bool:
    """Compare two digests in constant time."""
    return hmac.compare_digest(one, other)


def new_token() -> tuple[str, str, str]:
    """Return a token, its identifier (which may be shown) and its secret part."""
    identifier = b32encode(secrets.token_bytes(5)).decode().lower()
    secret = new_secret()
    return f"{_PREFIX}_{identifier}_{secret}", identifier, secret


def split_token(token: str) -> tuple[str, str]:
    """Return identifier and secret part of a token; both empty where it is none."""
    prefix, _, rest = token.partition("_")
    identifier, _, secret = rest.partition("_")
    if prefix != _PREFIX or not identifier or not secret or len(token) > _LONGEST:
        return "", ""
    return identifier, secret


@dataclass(frozen=True, slots=True)
class TokenGrant:
    """The user, role, scopes and note of a token to be made.

    Attributes:
        user: user of the token.
        role: highest role of the user with it.
        scopes: the uses of the token.
        note: note of its maker, for people.
        source: the origin of the user's role.
    """

    user: str
    role: Role
    scopes: Collection[Scope]
    note: str = ""
    source: RoleSource = RoleSource.GRANTED


class Tokens:
    """All tokens that have been granted.

    The database is read once, as no other process writes to it.
    """

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._guard = threading.Lock()
        self._rows = {row.id: row for row in credentials.tokens()}

    def create(
        self,
        grant: TokenGrant,
        created: float,
        expires: float,
    ) -> tuple[str, TokenRow]:
        """Make a token; return its text, which cannot be shown again, and its row."""
        text, identifier, secret = new_token()
        row = TokenRow(
            identifier,
            secret_digest(secret),
            grant.user,
            grant.role.word,
            tuple(sorted(grant.scopes)),
            grant.note,
            created,
            expires,
            str(grant.source),
        )
        self._credentials.add_token(row)
        with self._guard:
            self._rows[row.id] = row
        return text, row

    def principal(self, text: str, time: float) -> Principal | None:
        """Return the user of a token; None where it is unknown, expired or revoked."""
        identifier, secret = split_token(text)
        row = self._rows.get(identifier)
        if row is None or not same_secret(row.digest, secret_digest(secret)) or time >= row.expires:
            return None
        scopes = frozenset(map(Scope, row.scopes))
        return Principal(
            row.user, Role.of(row.role), scopes, ProofOfIdentity.TOKEN, row.id, source=RoleSource(row.source)
        )

    def has(self, identifier: str, time: float) -> bool:
        """Return whether a token of this identifier is good."""
        row = self._rows.get(identifier)
        return row is not None and time < row.expires

    def of(self, user: str | None) -> list[TokenRow]:
        """Return the tokens of a user, of all users for None; oldest first."""
        with self._guard:
            return [row for row in self._rows.values() if user in (None, row.user)]

    def get(self, identifier: str) -> TokenRow | None:
        """Return the row of a token."""
        return self._rows.get(identifier)

    def revoke(self, *identifiers: str) -> None:
        """Revoke tokens."""
        with self._guard:
            for identifier in identifiers:
                self._rows.pop(identifier, None)
        self._credentials.delete_tokens(*identifiers)
