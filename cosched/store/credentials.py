"""Accounts, tokens, sessions and the audit log in the database. Of secrets only digests are kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from cosched.store import schema

if TYPE_CHECKING:
    from cosched.store.store import Store

__all__ = ["Account", "Credentials", "Deed", "SessionRow", "TokenRow"]


@dataclass(frozen=True, slots=True)
class Account:
    """A local account; `digest` is argon2's, `created` in seconds since the epoch."""

    name: str
    digest: str
    role: str
    created: float
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token that was given out; `id` may be shown, `digest` is that of its secret part."""

    id: str
    digest: str
    user: str
    role: str
    scopes: tuple[str, ...]
    note: str
    created: float
    expires: float


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A browser that is logged in; with `account` the role is that of the account now, else `role`."""

    digest: str
    user: str
    role: str
    account: bool
    created: float
    expires: float


@dataclass(frozen=True, slots=True)
class Deed:
    """One line of the audit log: who did what, how they proved who they are, and from where."""

    time: float
    user: str
    how: str
    address: str
    action: str
    detail: str


class Credentials:
    """Reads and writes who may do what; every method raises `StoreFault` where the database fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def accounts(self) -> list[Account]:
        """Return all accounts by name."""
        return [Account(**row) for row in self._store.read(select(schema.accounts).order_by(schema.accounts.c.name))]

    def tokens(self) -> list[TokenRow]:
        """Return all tokens, oldest first."""
        rows = self._store.read(select(schema.tokens).order_by(schema.tokens.c.created, schema.tokens.c.id))
        return [TokenRow(**{**row, "scopes": tuple(row["scopes"])}) for row in rows]

    def sessions(self) -> list[SessionRow]:
        """Return all sessions."""
        return [SessionRow(**row) for row in self._store.read(select(schema.sessions))]

    def put_account(self, account: Account) -> None:
        """Write an account in place of one of the same name."""
        table = schema.accounts
        self._store.write(delete(table).where(table.c.name == account.name), insert(table).values(asdict(account)))

    def drop_account(self, name: str) -> None:
        """Forget an account."""
        self._store.write(delete(schema.accounts).where(schema.accounts.c.name == name))

    def add_token(self, token: TokenRow) -> None:
        """Write a new token."""
        self._store.write(insert(schema.tokens).values(asdict(token)))

    def drop_tokens(self, *identifiers: str) -> None:
        """Forget tokens."""
        self._store.write(delete(schema.tokens).where(schema.tokens.c.id.in_(identifiers)))

    def add_session(self, session: SessionRow) -> None:
        """Write a new session, and forget those that had expired when it was made."""
        table = schema.sessions
        self._store.write(delete(table).where(table.c.expires < session.created), insert(table).values(asdict(session)))

    def drop_sessions(self, *digests: str) -> None:
        """Forget sessions."""
        self._store.write(delete(schema.sessions).where(schema.sessions.c.digest.in_(digests)))

    def log(self, deed: Deed) -> None:
        """Write a line of the audit log."""
        self._store.write(insert(schema.audit).values(asdict(deed)))

    def deeds(self, limit: int, offset: int = 0) -> list[Deed]:
        """Return lines of the audit log, the newest first."""
        columns = [column for column in schema.audit.columns if column.name != "id"]
        query = select(*columns).order_by(schema.audit.c.id.desc()).limit(limit).offset(offset)
        return [Deed(**row) for row in self._store.read(query)]
