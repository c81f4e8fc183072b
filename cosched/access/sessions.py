"""Sessions keep browsers logged in; login links start one, once."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.access.tokens import new_secret, secret_digest
from cosched.store.credentials import SessionRow

if TYPE_CHECKING:
    from cosched.access.principals import Role, RoleSource
    from cosched.store.credentials import Credentials

__all__ = ["Login", "Sessions", "identifier_of"]

_TICKET = 300.0  # seconds for which a link is good
_MOST_TICKETS = 1000


@dataclass(frozen=True, slots=True)
class Login:
    """A login of a browser.

    Attributes:
        user: user of the session.
        role: role of the user at login; the session has never a higher one.
        source: the origin of the user's role.
        credential: identifier of the token or session that made the link; the session ends with it. Empty for none.
    """

    user: str
    role: Role
    source: RoleSource
    credential: str = ""


class Sessions:
    """All sessions and unused links.

    The database is read once, as no other process writes to it.
    """

    def __init__(self, credentials: Credentials, length: float) -> None:
        """Set up; a session ends `length` seconds after its login."""
        self._credentials = credentials
        self._length = length
        self._guard = threading.Lock()
        self._rows = {identifier_of(row): row for row in credentials.sessions()}
        self._tickets: dict[str, tuple[Login, float]] = {}  # with the time until which it is good

    def begin(self, login: Login, time: float) -> tuple[str, float]:
        """Log a browser in: return its cookie's value and when that expires."""
        secret = new_secret()
        row = SessionRow(
            secret_digest(secret),
            login.user,
            login.role.word,
            str(login.source),
            login.credential,
            time,
            time + self._length,
        )
        self._credentials.add_session(row)
        with self._guard:
            self._rows = {key: old for key, old in self._rows.items() if old.expires > time}
            self._rows[identifier_of(row)] = row
        return secret, row.expires

    def get(self, secret: str, time: float) -> SessionRow | None:
        """Return the session of a cookie; None where there is none (any more)."""
        digest = secret_digest(secret)
        row = self.find(_identifier(digest), time)
        return row if row is not None and row.digest == digest else None

    def find(self, identifier: str, time: float) -> SessionRow | None:
        """Return the session of an identifier (see `identifier_of`); None where there is none (any more)."""
        row = self._rows.get(identifier)
        return row if row is not None and time < row.expires else None

    def end(self, *, secret: str = "", user: str = "") -> None:
        """End one session, or all of a user."""
        with self._guard:
            gone = {
                key: row.digest
                for key, row in self._rows.items()
                if (secret and row.digest == secret_digest(secret)) or (user and row.user == user)
            }
            for key in gone:
                del self._rows[key]
            self._tickets = {key: old for key, old in self._tickets.items() if old[0].user != user}
        self._credentials.delete_sessions(*gone.values())

    def ticket(self, login: Login, time: float) -> str:
        """Return the secret of a login link, good for one `begin` within minutes.

        A restart drops it.
        """
        secret = new_secret()
        with self._guard:
            fresh = {key: old for key, old in self._tickets.items() if old[1] > time}
            self._tickets = dict(list(fresh.items())[-_MOST_TICKETS:])
            self._tickets[secret_digest(secret)] = login, time + _TICKET
        return secret

    def login_of(self, secret: str, time: float) -> Login | None:
        """Return the login of a usable link; None for any other text."""
        with self._guard:
            login, expires = self._tickets.get(secret_digest(secret), (None, 0.0))
        return login if time < expires else None

    def redeem(self, secret: str, time: float) -> Login | None:
        """Return the login of a link, and use it up; None where it is none."""
        with self._guard:
            login, expires = self._tickets.pop(secret_digest(secret), (None, 0.0))
        return login if time < expires else None


def identifier_of(row: SessionRow) -> str:
    """Return a session's identifier, which may be shown: the cookie cannot be made from it."""
    return _identifier(row.digest)


def _identifier(digest: str) -> str:
    return digest[:12]
