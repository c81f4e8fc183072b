"""Tests wait for what comes about by itself: `until`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PATIENCE", "until"]

PATIENCE = 300.0  # seconds; a busy machine takes a minute for what an idle one does in one second

_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.2  # seconds between two looks: they grow
_T = TypeVar("_T")


def until(look: Callable[[], _T | None], what: str | Callable[[], object] = "it did not come about in time") -> _T:
    """Wait until something holds, and return what was seen.

    Args:
        look: returns what holds; what is false or None does not hold yet.
        what: is wrong where nothing holds within `PATIENCE`, or says so.
    """
    give_up, pause = time.monotonic() + PATIENCE, _FIRST_PAUSE
    while not (seen := look()):
        assert time.monotonic() < give_up, what() if callable(what) else what
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    return seen
