"""The daemon's clock: epoch seconds that never run backwards."""

from __future__ import annotations

import threading
import time

import structlog

from cosched.durations import format_duration

__all__ = ["Clock"]

_log = structlog.get_logger("cosched.clock")

# A wall clock that is ahead by more than this was set forward, or the machine slept: follow it. Seconds.
_JUMP = 1.0
# Seconds that the wall clock may be behind unmentioned: corrections of a clock that runs well stay far below.
_MENTIONED = 10.0


class Clock:
    """Follows the wall clock forwards, and the monotonic clock where that is set back.

    Waiting times and deadlines then stay right for what was planned before the step; a restart takes the wall clock
    as it is.
    """

    def __init__(self) -> None:
        self._anchor = time.time() - time.monotonic()
        self._guard = threading.Lock()
        self._mentioned = False

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        with self._guard:  # one jump that two threads see is one jump
            steady = self._anchor + time.monotonic()
            wall = time.time()
            if wall > steady + _JUMP:
                self._anchor += wall - steady
                steady = wall
            if (steady - wall > _MENTIONED) != self._mentioned:
                self._mention(steady - wall)
            return steady

    @property
    def fault(self) -> str:
        """Say how far the clock is ahead of the wall clock, and what to do.

        The text is empty where the two agree.
        """
        ahead = self.now() - time.time()
        if ahead <= _MENTIONED:
            return ""
        return (
            f"cosched's time is {format_duration(ahead)} ahead of this machine's clock, which was set back: deadlines "
            "seem that much nearer. See that the clock is right, then start cosched again; jobs go on"
        )

    def _mention(self, ahead: float) -> None:
        self._mentioned = ahead > _MENTIONED
        if self._mentioned:
            _log.warning("this machine's clock was set back; cosched's time goes on as it was", ahead=round(ahead))
        else:
            _log.info("this machine's clock is right again")
