"""A network in virtual time: letters take a while, and some are lost."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.simulation.calendar import Calendar

__all__ = ["Network"]


class Network:
    """Carries letters between domains.

    Attributes:
        carried: letters that were sent, lost ones too.
    """

    def __init__(self, calendar: Calendar, delay: float = 0.05, loss: float = 0.0, seed: int = 0) -> None:
        """Build a network.

        Args:
            calendar: its time.
            delay: mean seconds that a letter takes; each takes half to one and a half of that.
            loss: share of the letters that never arrive.
            seed: of both.
        """
        self.carried = 0
        self._calendar = calendar
        self._delay = delay
        self._loss = loss
        self._draw = random.Random(seed)  # noqa: S311  a repeatable draw, not a secret

    def carry(self, arrive: Callable[[], None]) -> None:
        """Send something on its way; `arrive` is called when it is there."""
        self.carried += 1
        delay, lost = self._delay * self._draw.uniform(0.5, 1.5), self._draw.random() < self._loss
        if not lost:
            self._calendar.at(self._calendar.time + delay, arrive)
