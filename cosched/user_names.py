"""Names of users: of this domain, and of guests from other domains."""

from __future__ import annotations

import re

from cosched.errors import UserError

__all__ = ["USER_NAME", "checked_user_name", "guest_owner", "is_user_name"]

USER_NAME = r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63}"
"""As a regular expression; no name has a colon, not those of the system (passwd(5)) either."""

_USER_NAME = re.compile(USER_NAME, re.ASCII)


def is_user_name(text: str) -> bool:
    """Return whether the text is a valid user name."""
    return _USER_NAME.fullmatch(text) is not None


def checked_user_name(text: str) -> str:
    """Return the user name, checked.

    Raises:
        UserError: it is not valid.
    """
    if not is_user_name(text):
        raise UserError(f"{text[:80]!r} cannot name a user: use up to 64 letters, digits and . _ @ + -")
    return text


def guest_owner(name: str, domain: str) -> str:
    """Return another domain's user as the owner of a task here.

    It is never the name of a user of ours.

    A name that is no user name is left out.
    """
    return f"{name if is_user_name(name) else ''}:{domain}"
