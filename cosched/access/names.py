"""Names of users, as they may come from anywhere."""

from __future__ import annotations

import re

from cosched.errors import UserError

__all__ = ["NAME", "checked_name", "is_name"]

NAME = r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63}"
"""As a regular expression."""

_NAME = re.compile(NAME, re.ASCII)


def is_name(text: str) -> bool:
    """Whether this can be the name of a user."""
    return _NAME.fullmatch(text) is not None


def checked_name(text: str) -> str:
    """Return the name.

    Raises:
        UserError: it cannot be one.
    """
    if not is_name(text):
        raise UserError(f"{text[:80]!r} cannot name a user: use up to 64 letters, digits and . _ @ + -")
    return text
