"""The configuration in force as administrators see it: every key with its origin, and no secret."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from cosched.api.documents import ConfigurationEntry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.daemon.config.loading import ConfigurationValue

__all__ = ["shown_values"]

_SECRET_NAME = re.compile(r"secret|passw|token|credential|api_?key|private")
_NAMES_A_FILE = ("_file", "_path", "_folder")
_ADDRESS_WITH_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]+@")


def shown_values(values: Iterable[ConfigurationValue]) -> list[ConfigurationEntry]:
    """Return the values for administrators, of secrets only that they are set."""
    return [
        ConfigurationEntry(
            key=each.key,
            value="" if (secret := _is_secret(each)) else json.dumps(each.value, ensure_ascii=False),
            origin=each.origin,
            secret=secret,
        )
        for each in values
    ]


def _is_secret(value: ConfigurationValue) -> bool:
    """Return whether a value may be a secret, by its name, or because it is an address with a password.

    cosched's own keys name files that hold secrets; a connector's tables are its author's.
    """
    name = value.key.rpartition(".")[2].lower()
    named = bool(_SECRET_NAME.search(name)) and not name.endswith(_NAMES_A_FILE)
    lifetime = isinstance(value.value, (int, float))  # such as longest_token: how long, and not what
    return (named and not lifetime) or bool(_ADDRESS_WITH_PASSWORD.search(json.dumps(value.value)))
