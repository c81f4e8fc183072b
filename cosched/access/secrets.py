"""Secrets that cosched makes: random enough that a fast digest of them is safe to keep."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import b32encode

__all__ = ["digest", "new_secret", "new_token", "same", "signature", "split_token"]

_PREFIX = "cosched"  # so that scanners for leaked secrets can find one
_LONGEST = 200


def new_secret() -> str:
    """Return 256 random bits as text."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Return what is kept of a secret."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def signature(key: str, text: str) -> str:
    """Return what only who knows the key can make of a text."""
    return hmac.new(key.encode(), text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two digests are the same, taking as long wherever they differ."""
    return hmac.compare_digest(one, other)


def new_token() -> tuple[str, str, str]:
    """Return a token, its identifier (which may be shown) and its secret part."""
    identifier = b32encode(secrets.token_bytes(5)).decode().lower()
    secret = new_secret()
    return f"{_PREFIX}_{identifier}_{secret}", identifier, secret


def split_token(token: str) -> tuple[str, str]:
    """Return identifier and secret part of a token; both empty where it is none."""
    prefix, _, rest = token.partition("_")
    identifier, _, secret = rest.partition("_")
    if prefix != _PREFIX or not identifier or not secret or len(token) > _LONGEST:
        return "", ""
    return identifier, secret
