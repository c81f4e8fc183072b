"""The store keeps accounts, tokens, sessions and the audit log; of secrets only digests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from cosched.store import tables
from cosched.store.rows import records_of, row_of, upsert

if TYPE_CHECKING:
    from cosched.store.store import Store

__all__ = ["AccountRow", "AuditEntry", "Credentials", "SessionRow", "TokenRow"]


@dataclass(frozen=True, slots=True)
class AccountRow:
    """A local account; `digest` is argon2's, `created` in seconds since the epoch."""

    name: str
    digest: str
    role: str
    created: float
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token that was granted; `id` may be shown, `digest` is that of its secret."""

    id: str
    digest: str
    user: str
    role: str
    scopes: tuple[str, ...]
    note: str
    created: float
    expires: float
    source: str = "granted"


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A browser that is logged in, with its user, highest role and source.

    `source` gives the user's role at each use.

    It ends with `credential`, the identifier of the token or session that made it; empty for none.
    """

    digest: str
    user: str
    role: str
    source: str
    credential: str
    created: float
    expires: float


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One line of the audit log: user, proof of identity, address, action."""

    time: float
    user: str
    how: str
    address: str
    action: str
    detail: str


class Credentials:
    """Accounts, tokens, sessions and the audit log; methods raise `StoreFault` where the database fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def accounts(self) -> list[AccountRow]:
        """Return all accounts by name."""
        return list(records_of(AccountRow, self._store.read(select(tables.accounts).order_by(tables.accounts.c.name))))

    def tokens(self) -> list[TokenRow]:
        """Return all tokens, oldest first."""
        rows = self._store.read(select(tables.tokens).order_by(tables.tokens.c.created, tables.tokens.c.id))
        return list(records_of(TokenRow, rows))

    def sessions(self) -> list[SessionRow]:
        """Return all sessions."""
        return list(records_of(SessionRow, self._store.read(select(tables.sessions))))

    def put_account(self, account: AccountRow) -> None:
        """Write an account in place of one of the same name."""
        self._store.write(upsert(tables.accounts).values(row_of(account)))

    def delete_account(self, name: str) -> None:
        """Delete an account."""
        self._store.write(delete(tables.accounts).where(tables.accounts.c.name == name))

    def add_token(self, token: TokenRow) -> None:
        """Write a new token."""
        self._store.write(insert(tables.tokens).values(row_of(token)))

    def delete_tokens(self, *identifiers: str) -> None:
        """Delete tokens."""
        self._store.write(delete(tables.tokens).where(tables.tokens.c.id.in_(identifiers)))

    def add_session(self, session: SessionRow) -> None:
        """Write a new session; expired ones are deleted."""
        table = tables.sessions
        self._store.write(delete(table).where(table.c.expires < session.created), insert(table).values(row_of(session)))

    def delete_sessions(self, *digests: str) -> None:
        """Delete sessions."""
        self._store.write(delete(tables.sessions).where(tables.sessions.c.digest.in_(digests)))

    def log(self, entry: AuditEntry) -> None:
        """Write a line of the audit log."""
        self._store.write(insert(tables.audit).values(row_of(entry)))

    def audit_log(self, limit: int, offset: int = 0) -> list[AuditEntry]:
        """Return lines of the audit log, the newest first."""
        query = select(tables.audit).order_by(tables.audit.c.id.desc()).limit(limit).offset(offset)
        return list(records_of(AuditEntry, self._store.read(query)))
