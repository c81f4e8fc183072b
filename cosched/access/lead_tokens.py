"""Tokens with which leads of elastic tasks prove who they are: each is for one attempt, and nothing of it is stored."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cosched.access.tokens import new_secret, same_secret, signature
from cosched.secret_files import read_secret

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LeadTokens", "lead_key"]

_PREFIX = "cosched-lead"
_LONGEST = 200


class LeadTokens:
    """Makes and checks tokens of leads with a key that outlives the daemon."""

    def __init__(self, key: str) -> None:
        self._key = key

    def token(self, attempt: str) -> str:
        """Return the token of a lead's attempt."""
        return f"{_PREFIX}_{attempt}_{signature(self._key, attempt)}"

    def attempt(self, token: str) -> str:
        """Return the attempt whose token this is; empty where it is none."""
        prefix, _, rest = token.partition("_")
        attempt, _, proof = rest.partition("_")
        if prefix != _PREFIX or not attempt or len(token) > _LONGEST or not proof.isascii():
            return ""
        return attempt if same_secret(proof, signature(self._key, attempt)) else ""


def lead_key(file: Path) -> str:
    """Return the key in a private file, which is made where it is missing.

    Raises:
        UserError: everybody can read it, or it is empty.
        OSError: it cannot be made.
    """
    if not file.exists():
        aside = file.with_name(f"{file.name}.new")
        aside.unlink(missing_ok=True)
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as writing:
            writing.write(f"{new_secret()}\n")
            writing.flush()
            os.fsync(writing.fileno())
        aside.rename(file)
    return read_secret(file, "the key of leads' tokens")
