"""The daemon's clock: epoch seconds that never run backwards."""

from __future__ import annotations

import threading
import time

__all__ = ["Clock"]

# A wall clock that is ahead by more than this was set forward, or the machine slept: follow it. Seconds.
_JUMP = 1.0


class Clock:
    """Follows the wall clock forwards, and the monotonic clock where that is set back.

    Waiting times and deadlines then stay right for what was planned before the step; a restart takes the wall clock
    as it is.
    """

    def __init__(self) -> None:
        self._anchor = time.time() - time.monotonic()
        self._guard = threading.Lock()

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        with self._guard:  # one jump that two threads see is one jump
            steady = self._anchor + time.monotonic()
            wall = time.time()
            if wall > steady + _JUMP:
                self._anchor += wall - steady
                return wall
            return steady
