"""Accounts with passwords serve sites without a login of their own.

Passwords are hashed with argon2, and wrong ones are rate-limited. Start at `Accounts.check`.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from cosched.access.principals import Role
from cosched.access.rate_limits import RateLimits
from cosched.durations import format_duration
from cosched.errors import UserError
from cosched.store.credentials import AccountRow
from cosched.user_names import checked_user_name, is_user_name

if TYPE_CHECKING:
    from argon2 import PasswordHasher

    from cosched.store.credentials import Credentials

__all__ = [
    "LONGEST_PASSWORD",
    "SHORTEST_PASSWORD",
    "AccountTakenError",
    "Accounts",
    "LoginError",
    "NoAccountError",
    "password_digest",
    "password_matches",
]

SHORTEST_PASSWORD, LONGEST_PASSWORD = 12, 1024
# The second of RFC 9106's recommendations asks for 64 MiB; OWASP's 19 MiB with two passes leaves a small daemon small.
_MEMORY_KIB, _PASSES, _LANES = 19456, 2, 1
_AT_ONCE = threading.Semaphore(2)  # many logins at once must not take all memory and processors


def password_digest(password: str) -> str:
    """Return the salted digest of a password, which the database keeps.

    Raises:
        UserError: it is too short or too long.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise UserError(
            f"the password has {len(password)} characters: choose one of {SHORTEST_PASSWORD} to {LONGEST_PASSWORD}"
        )
    with _AT_ONCE:
        return _hasher().hash(_encoded(password))


def password_matches(digest: str, password: str) -> bool:
    """Return whether a password has this digest.

    An empty digest (no such account) takes as long to refuse.
    """
    from argon2.exceptions import Argon2Error, InvalidHashError

    if len(password) > LONGEST_PASSWORD:
        return False
    with _AT_ONCE:
        try:
            return _hasher().verify(digest or _digest_of_nobody(), _encoded(password)) and bool(digest)
        except (Argon2Error, InvalidHashError):
            return False


def _encoded(password: str) -> bytes:
    return password.encode(errors="surrogatepass")


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=_PASSES, memory_cost=_MEMORY_KIB, parallelism=_LANES)


@cache
def _digest_of_nobody() -> str:
    return _hasher().hash(b"the password of nobody")


_WRONG = "name or password are wrong: try again, or ask your administrator"
_TRIES, _TRIES_EACH = 5, 30.0  # wrong passwords at once, and seconds until another one is allowed


class LoginError(UserError):
    """The name or the password is wrong."""


class NoAccountError(UserError):
    """There is no account of this name."""


class AccountTakenError(UserError):
    """There is an account of this name already."""


class Accounts:
    """All accounts. The database is read once: no other process writes to it."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._guard = threading.Lock()
        self._rows = {row.name: row for row in credentials.accounts()}
        self._failures = RateLimits(1 / _TRIES_EACH, _TRIES)

    def all(self) -> list[AccountRow]:
        """Return all accounts by name."""
        with self._guard:
            return sorted(self._rows.values(), key=lambda row: row.name)

    def role(self, name: str) -> Role | None:
        """Return the role of an account that may be used; None for others."""
        row = self._rows.get(name)
        return Role.of(row.role) if row is not None and row.enabled else None

    def add(self, name: str, password: str, role: Role, created: float) -> AccountRow:
        """Make an account.

        Raises:
            UserError: the name or the password will not do, or there is such an account.
        """
        if checked_user_name(name) in self._rows:
            raise AccountTakenError(
                f"there is an account {name!r} already: change it with `cosched account set {name}`"
            )
        return self._put(AccountRow(name, password_digest(password), role.word, created))

    def change(
        self, name: str, password: str | None = None, role: Role | None = None, enabled: bool | None = None
    ) -> AccountRow:
        """Change an account; what is None stays.

        Raises:
            UserError: there is no such account, or the password will not do.
        """
        row = self._known(name)
        return self._put(
            replace(
                row,
                digest=row.digest if password is None else password_digest(password),
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
        self._credentials.delete_account(name)
        with self._guard:
            self._rows.pop(name, None)

    def check(self, name: str, password: str, address: str, time: float) -> None:
        """Check a name and its password. Slow on purpose.

        Args:
            name: as typed.
            password: as typed.
            address: address of the client; wrong passwords from there are rate-limited, too.
            time: seconds.

        Raises:
            LoginError: they are wrong, or wrong ones came too often.
        """
        if not is_user_name(name):
            raise LoginError(_WRONG)
        who = f"{name} {address}"
        self._take_permits(who, address, time)
        row = self._rows.get(name)
        if not password_matches(row.digest if row is not None else "", password) or row is None or not row.enabled:
            raise LoginError(_WRONG)
        self._failures.fill(who)
        self._failures.give_back(address, time)

    def _take_permits(self, who: str, address: str, time: float) -> None:
        """Take the permits of a wrong password before the check.

        So of many passwords at once no more are checked than one by one.

        Raises:
            LoginError: there is none.
        """
        pause = self._failures.take(address, time)
        if not pause:
            pause = self._failures.take(who, time)
            if pause:
                self._failures.give_back(address, time)
        if pause:
            raise LoginError(f"too many wrong passwords: try again in {format_duration(pause)}")

    def _known(self, name: str) -> AccountRow:
        row = self._rows.get(name)
        if row is None:
            raise NoAccountError(f"there is no account {name[:80]!r}: `cosched account list` shows what there is")
        return row

    def _put(self, row: AccountRow) -> AccountRow:
        self._credentials.put_account(row)
        with self._guard:
            self._rows[row.name] = row
        return row
