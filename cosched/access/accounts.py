"""Local accounts with passwords, for sites without a login of their own."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.access.names import checked_name
from cosched.access.passwords import digest_of, matches
from cosched.access.principal import Role
from cosched.access.rates import Rates
from cosched.errors import UserError
from cosched.store.credentials import Account

if TYPE_CHECKING:
    from cosched.store.credentials import Credentials

__all__ = ["AccountTakenError", "Accounts", "LoginError", "NoAccountError"]

_TRIES, _TRIES_EACH = 5, 30.0  # wrong passwords at once, and seconds until another one is allowed


class LoginError(UserError):
    """Name and password do not let in."""


class NoAccountError(UserError):
    """There is no account of this name."""


class AccountTakenError(UserError):
    """There is an account of this name already."""


class Accounts:
    """All accounts. The database is read once: nobody else writes to it."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._guard = threading.Lock()
        self._rows = {row.name: row for row in credentials.accounts()}
        self._failures = Rates(1 / _TRIES_EACH, _TRIES)

    def all(self) -> list[Account]:
        """Return all accounts by name."""
        with self._guard:
            return sorted(self._rows.values(), key=lambda row: row.name)

    def role(self, name: str) -> Role | None:
        """Return the role of an account that may be used; None for others."""
        row = self._rows.get(name)
        return Role.of(row.role) if row is not None and row.enabled else None

    def add(self, name: str, password: str, role: Role, created: float) -> Account:
        """Make an account.

        Raises:
            UserError: the name or the password will not do, or there is such an account.
        """
        if checked_name(name) in self._rows:
            raise AccountTakenError(
                f"there is an account {name!r} already: change it with `cosched account set {name}`"
            )
        return self._put(Account(name, digest_of(password), role.word, created))

    def change(
        self, name: str, password: str | None = None, role: Role | None = None, enabled: bool | None = None
    ) -> Account:
        """Change an account; what is None stays.

        Raises:
            UserError: there is no such account, or the password will not do.
        """
        row = self._known(name)
        return self._put(
            replace(
                row,
                digest=row.digest if password is None else digest_of(password),
                role=row.role if role is None else role.word,
                enabled=row.enabled if enabled is None else enabled,
            )
        )

    def remove(self, name: str) -> None:
        """Forget an account; what its user submitted stays.

        Raises:
            UserError: there is no such account.
        """
        self._known(name)
        self._credentials.drop_account(name)
        with self._guard:
            self._rows.pop(name, None)

    def check(self, name: str, password: str, address: str, time: float) -> None:
        """Check a name and its password. Slow on purpose.

        Args:
            name: as typed.
            password: as typed.
            address: from where; who guesses is slowed down there.
            time: seconds.

        Raises:
            LoginError: they are not right, or were not too often.
        """
        who = f"{name} {address}"
        pause = max(self._failures.wait(who, time), self._failures.wait(address, time))
        if pause > 0:
            raise LoginError(f"too many wrong passwords: try again in {pause:.0f} s")
        row = self._rows.get(name)
        if not matches(row.digest if row is not None else "", password) or row is None or not row.enabled:
            self._failures.take(who, time)
            self._failures.take(address, time)
            raise LoginError("name or password are wrong: try again, or ask your administrator")
        self._failures.fill(who)

    def _known(self, name: str) -> Account:
        row = self._rows.get(name)
        if row is None:
            raise NoAccountError(f"there is no account {name[:80]!r}: `cosched account list` shows what there is")
        return row

    def _put(self, row: Account) -> Account:
        self._credentials.put_account(row)
        with self._guard:
            self._rows[row.name] = row
        return row
