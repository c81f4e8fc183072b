"""The one type for values that reach a submit description or script of a resource manager.

A newline in a submit value can run code in *our* process, `$` reads our environment, and a leading `-` turns a name
into an option; so none of these passes. The user's command itself never goes this way: it is written into a script
of its own, quoted.
"""

from __future__ import annotations

import unicodedata

from cosched.errors import UserError

__all__ = ["SafeValue", "safe"]


class SafeValue(str):
    """A string that `safe` has checked; templates print nothing else."""

    __slots__ = ()


# Cc control, Cf format (right-to-left override), Cs lone surrogates, Zl and Zp line and paragraph separators.
_FORBIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
_LONGEST = 4096


def safe(value: str, what: str) -> SafeValue:
    """Check a value for use in a submit description or script.

    Args:
        value: the text.
        what: what it is, for the error ("task name").

    Raises:
        UserError: control or format characters, `$`, quotes, backslashes or backticks, a leading `-`, or too long.
    """
    if len(value) > _LONGEST:
        raise UserError(f"{what} has {len(value)} characters: at most {_LONGEST} are allowed")
    for character in value:
        if unicodedata.category(character) in _FORBIDDEN or character in "$`\\\"'":
            raise UserError(
                f"{what} contains {character!r}, which cannot be passed to a resource manager: leave it out"
            )
    if value.startswith("-"):
        raise UserError(f"{what} {value!r} starts with '-': start it with another character")
    return SafeValue(value)
