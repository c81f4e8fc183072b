"""Refused forms on their way to the page that shows why: after a POST the browser is always led to a page.

So a reload sends nothing twice, and the address is that of the page.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TOO_LARGE", "FormRefusal", "FormRefusals"]

TOO_LARGE = "too-large"
"""Key of the refusal of a form whose body nobody read."""

_SECONDS = 600.0
_MOST = 200
_MOST_CHARACTERS = 16 * 2**20  # of all fields together


@dataclass(frozen=True, slots=True)
class FormRefusal:
    """A form that was refused.

    Attributes:
        fault: why, a sentence.
        fields: what was typed, where the page shows its form again with it.
    """

    fault: str
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return how many characters it has."""
        return len(self.fault) + sum(map(len, self.fields.values()))


class FormRefusals:
    """Keeps refusals for ten minutes, each for the user who sent the form; of many the newest. For any thread."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, FormRefusal, float]] = {}
        self._lock = threading.Lock()

    def put(self, owner: str, refusal: FormRefusal) -> str:
        """Keep a refusal and return the key under which its owner gets it."""
        key = secrets.token_urlsafe(16)
        with self._lock:
            self._kept[key] = owner, refusal, time.monotonic() + _SECONDS
            now, size = time.monotonic(), sum(each.size for _, each, _ in self._kept.values())
            for old, (_, each, until) in list(self._kept.items())[:-1]:
                if until > now and len(self._kept) <= _MOST and size <= _MOST_CHARACTERS:
                    break
                size -= each.size
                del self._kept[old]
        return key

    def get(self, owner: str, key: str) -> FormRefusal | None:
        """Return the owner's refusal; None where there is none any more."""
        if key == TOO_LARGE:
            return FormRefusal("what was sent is too large: an uploaded file may have 4 MiB, all of a form 16 MiB")
        with self._lock:
            found = self._kept.get(key)
        return found[1] if found is not None and found[0] == owner and found[2] > time.monotonic() else None
