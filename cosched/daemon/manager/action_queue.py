"""Actions run one after the other on one thread, some of them later."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ActionQueue"]

_log = structlog.get_logger("cosched.manager")


class ActionQueue:
    """Callables run one after the other on one thread, some of them later."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._turn = itertools.count()
        self._changed = threading.Condition()
        self._stopped = False

    def put(self, action: Callable[[], None], delay: float = 0.0) -> None:
        """Add an action, to be run after `delay` seconds at the earliest."""
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + delay if delay else 0.0, next(self._turn), action))
            self._changed.notify()

    def stop(self) -> None:
        """Run no further action."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def run(self) -> None:
        """Run actions as they fall due, until `stop`."""
        while (action := self._next()) is not None:
            try:
                action()
            except Exception:  # the next actions are others'
                _log.exception("cosched made a mistake with an action and goes on")

    def due(self) -> bool:
        """Return whether an action could run now."""
        with self._changed:
            return bool(self._due) and self._due[0][0] <= time.monotonic()

    def overdue(self) -> int:
        """Return how many actions could run now and wait for those before them."""
        with self._changed:
            return sum(due <= time.monotonic() for due, _, _ in self._due)

    def run_next(self) -> None:
        """Wait for one action and run it.

        A caller without threads of its own runs the steps singly.
        """
        action = self._next()
        if action is not None:
            action()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while not self._stopped:
                wait = self._due[0][0] - time.monotonic() if self._due else None
                if wait is not None and wait <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(wait)
            return None
