"""Tokens for programs: hashed, scoped, expiring."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from cosched.access.principal import How, Principal, Role, Scope
from cosched.access.secrets import digest, new_token, same, split_token
from cosched.store.credentials import TokenRow

if TYPE_CHECKING:
    from collections.abc import Collection

    from cosched.store.credentials import Credentials

__all__ = ["Tokens"]


class Tokens:
    """All tokens that have been given out. The database is read once: nobody else writes to it."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._guard = threading.Lock()
        self._rows = {row.id: row for row in credentials.tokens()}

    def create(
        self, user: str, role: Role, scopes: Collection[Scope], note: str, created: float, expires: float
    ) -> tuple[str, TokenRow]:
        """Give a token out: what to hand to its user (nobody can see it again), and what is kept."""
        text, identifier, secret = new_token()
        row = TokenRow(identifier, digest(secret), user, role.word, tuple(sorted(scopes)), note, created, expires)
        self._credentials.add_token(row)
        with self._guard:
            self._rows[row.id] = row
        return text, row

    def principal(self, text: str, time: float) -> Principal | None:
        """Return whose token this is; None where it is none, expired or revoked."""
        identifier, secret = split_token(text)
        row = self._rows.get(identifier)
        if row is None or not same(row.digest, digest(secret)) or time >= row.expires:
            return None
        scopes = frozenset(map(Scope, row.scopes))
        return Principal(row.user, Role.of(row.role), scopes, How.TOKEN, row.id)

    def of(self, user: str | None) -> list[TokenRow]:
        """Return the tokens of a user, None for everybody's; oldest first."""
        with self._guard:
            return [row for row in self._rows.values() if user in (None, row.user)]

    def get(self, identifier: str) -> TokenRow | None:
        """Return what is kept of a token."""
        return self._rows.get(identifier)

    def revoke(self, *identifiers: str) -> None:
        """See to it that tokens are good for nothing any more."""
        with self._guard:
            for identifier in identifiers:
                self._rows.pop(identifier, None)
        self._credentials.drop_tokens(*identifiers)
