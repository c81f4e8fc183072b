"""A last line by which a model that a command wrote is told from one that somebody has changed since.

Start at `sealed`; `changed_by_hand` asks.
"""

from __future__ import annotations

import hashlib
import re

__all__ = ["changed_by_hand", "resealed", "sealed", "unsealed"]

_SEAL = re.compile(r"\n*\(\* sha256:(?P<digest>[0-9a-f]{64}) of all above: [^*]*\*\)\s*\Z")


def sealed(text: str) -> str:
    """Return a model with a line at its end that has its digest.

    Args:
        text: in its canonical layout, without such a line.
    """
    return _with_seal(text, _digest(text))


def unsealed(text: str) -> str:
    """Return a model without that line; the same where it has none."""
    return f"{text[: found.start()]}\n" if (found := _SEAL.search(text)) else text


def changed_by_hand(text: str) -> bool:
    """Return whether a model is another than the one that a command wrote; True where its seal is gone or broken."""
    found = _SEAL.search(text)
    return found is None or found["digest"] != _digest(text[: found.start()])


def resealed(text: str, before: str) -> str:
    """Return a model that takes the place of another one, with a seal that tells whether that one was changed by hand.

    Args:
        text: without a seal.
        before: what it was made of, and what it takes the place of.
    """
    found = _SEAL.search(before)
    return _with_seal(text, found["digest"]) if found and changed_by_hand(before) else sealed(text)


def _with_seal(text: str, digest: str) -> str:
    return (
        f"{text.rstrip()}\n\n"
        f"(* sha256:{digest} of all above: once that is changed by hand, no command writes over it. *)\n"
    )


def _digest(text: str) -> str:
    """Return the digest of a model; how its lines end, and blanks at its end, do not count."""
    return hashlib.sha256("\n".join(text.rstrip().splitlines()).encode()).hexdigest()
