"""Passwords: hashed with argon2, guessed slowly."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

__all__ = ["LONGEST", "SHORTEST", "digest_of", "matches"]

SHORTEST, LONGEST = 12, 1024
# The second of RFC 9106's recommendations asks for 64 MiB; OWASP's 19 MiB with two passes leaves a small daemon small.
_MEMORY_KIB, _PASSES, _LANES = 19456, 2, 1
_AT_ONCE = threading.Semaphore(2)  # whoever knocks often must not take all memory and processors


def digest_of(password: str) -> str:
    """Return what is kept of a password.

    Raises:
        UserError: it is too short or too long.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise UserError(f"the password has {len(password)} characters: choose one of {SHORTEST} to {LONGEST}")
    with _AT_ONCE:
        return _hasher().hash(_encoded(password))


def matches(digest: str, password: str) -> bool:
    """Whether this is the password; without a digest (no such account) it takes as long and is not."""
    from argon2.exceptions import Argon2Error, InvalidHashError

    if len(password) > LONGEST:
        return False
    with _AT_ONCE:
        try:
            return _hasher().verify(digest or _nobody(), _encoded(password)) and bool(digest)
        except (Argon2Error, InvalidHashError):
            return False


def _encoded(password: str) -> bytes:
    return password.encode(errors="surrogatepass")


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=_PASSES, memory_cost=_MEMORY_KIB, parallelism=_LANES)


@cache
def _nobody() -> str:
    return _hasher().hash(b"the password of nobody")
