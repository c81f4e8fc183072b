"""CSRF tokens as pages carry them: masked anew in each page, so that no page's compressed length tells of one.

An attacker who has a browser load pages with guesses in their addresses could else find the token, a letter at a time,
by which of them compress better (BREACH).
"""

import secrets

__all__ = ["is_token", "masked"]


def masked(token: str) -> str:
    """Return a token (hexadecimal digits) as it is put into one page."""
    secret = bytes.fromhex(token)
    mask = secrets.token_bytes(len(secret))
    return (mask + _mixed(mask, secret)).hex()


def is_token(given: str, token: str) -> bool:
    """Return whether a request gave the token, masked or as it is."""
    if len(given) == 2 * len(token):
        try:
            both = bytes.fromhex(given)  # which passes over spaces
            given = _mixed(both[: len(both) // 2], both[len(both) // 2 :]).hex()
        except ValueError:
            return False
    return secrets.compare_digest(given.encode(), token.encode())


def _mixed(one: bytes, other: bytes) -> bytes:
    return bytes(left ^ right for left, right in zip(one, other, strict=True))
