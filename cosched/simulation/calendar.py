"""Virtual time: what happens when, in order; at the end of a moment, what was put off until then."""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Calendar"]


class Calendar:
    """Actions by time; those of one moment in the order in which they were entered.

    Attributes:
        time: now, seconds.
    """

    def __init__(self) -> None:
        self.time = 0.0
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._put_off: list[Callable[[], None]] = []
        self._turn = itertools.count()

    @property
    def pending(self) -> bool:
        """Whether anything is still to happen."""
        return bool(self._entries)

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Let something happen at a time; what is past by then happens now."""
        heapq.heappush(self._entries, (time, next(self._turn), action))

    def put_off(self, action: Callable[[], None]) -> None:
        """Let something happen once nothing else is left to happen at this moment."""
        self._put_off.append(action)

    def step(self, until: float) -> bool:
        """Let the next thing happen, if that is by a time; return whether there was one."""
        if not self._entries or self._entries[0][0] > until:
            return False
        when, _, action = heapq.heappop(self._entries)
        self.time = max(self.time, when)
        action()
        while self._put_off and not (self._entries and self._entries[0][0] <= self.time):
            self._put_off.pop(0)()
        return True
