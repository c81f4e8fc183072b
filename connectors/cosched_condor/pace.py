"""When the queue is worth a question, where there is no event log to read: a state machine without a clock.

The collector shows which slots have which jobs, and is asked for that all the time. The queue is asked only when that
picture changed or something was submitted or cancelled, and again, ever more rarely, until it agrees with the picture
and nothing waits to start.
"""

from __future__ import annotations

import math

__all__ = ["LONGEST", "SOONEST", "Pace"]

SOONEST = 1.0  # seconds between two questions at least
LONGEST = 60.0  # seconds between two questions while queue and slots do not agree


class Pace:
    """Says when to ask; all times are of one clock that never runs backwards, in seconds."""

    def __init__(self) -> None:
        self._jobs: frozenset[str] = frozenset()
        self._asked = -math.inf
        self._next = -math.inf
        self._pause = SOONEST
        self._wish = -math.inf  # when the last change makes a question worth it

    def seen(self, jobs: frozenset[str], now: float) -> None:
        """Take in which of our jobs have slots ("12.0")."""
        if jobs != self._jobs:
            self._jobs = jobs
            self.stirred(now)

    def stirred(self, now: float, after: float = 0.0) -> None:
        """Something was submitted or cancelled: a question is worth it `after` so many seconds."""
        self._pause = SOONEST
        self._wish = now + after
        self._next = min(self._next, max(self._wish, self._asked + SOONEST))

    def due(self, now: float) -> bool:
        """Whether to ask now."""
        return now >= self._next

    def answered(self, running: frozenset[str], *, waiting: bool, now: float) -> None:
        """Take in what the queue said.

        Args:
            running: jobs of ours that have a host, as far as the scheduler knows.
            waiting: some of ours are still to start, or to be seen to have ended.
            now: when it was asked.
        """
        self._asked = now
        if self._wish > now:  # something changed since: this answer does not know of it
            self._next = max(self._wish, now + SOONEST)
        elif running == self._jobs and not waiting:
            self._next, self._pause = math.inf, SOONEST
        else:
            self._next = now + self._pause
            self._pause = min(2 * self._pause, LONGEST)
