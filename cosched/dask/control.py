"""Users of a cluster tell its lead, through Dask's own connection, how many hosts they wish for and when it ends.

`CoschedCluster` is the other side. Where there is no script, the cluster ends when it is told to, or when nobody has
asked for it for long: a notebook that has died says nothing more.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Scheduler

__all__ = ["END", "MOST_WISHED", "WISH", "Control"]

WISH = "cosched_wish"
END = "cosched_end"
MOST_WISHED = 10_000  # hosts
_LOOK_AGAIN = 0.5  # seconds


class Control:
    """The wishes of a cluster's users, and when it is to end."""

    def __init__(self) -> None:
        self._least = 1
        self._most: int | None = None
        self._heard = time.monotonic()
        self._ended = False

    def attach(self, scheduler: Scheduler) -> None:
        """Have a scheduler's connections reach it."""
        scheduler.handlers |= {WISH: self.wish, END: self.end}

    def wish(self, least: int | None = None, most: int | None = None, *, change: bool = True) -> str:
        """Wish for hosts, the lead's own among them; without a change it is only a sign of life.

        Args:
            least: also where there are fewer tasks that could be computed now; None: 1.
            most: however many there are; None: as many as can be had.
            change: whether the wish changes.
        """
        self._heard = time.monotonic()
        if change:
            self._least = min(max(least or 1, 1), MOST_WISHED)
            self._most = None if most is None else min(max(most, self._least), MOST_WISHED)
        return "OK"

    def end(self) -> str:
        """Have the cluster end."""
        self._ended = True
        return "OK"

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The fewest and the most hosts that users wish for; None for any number."""
        return self._least, self._most

    def hosts(self, useful: int) -> int:
        """Return the number of hosts to wish for, given how many are of use now."""
        wished = max(useful, self._least)
        return wished if self._most is None else max(min(wished, self._most), 1)

    async def over(self, scheduler: Scheduler, lease: float) -> bool:
        """Return when the cluster is to end; False where it was not told to, but nobody asked for it for `lease` s."""
        while not self._ended:
            if scheduler.clients.keys() - {"fire-and-forget"}:
                self._heard = time.monotonic()
            if time.monotonic() - self._heard > lease:
                return False
            await asyncio.sleep(_LOOK_AGAIN)
        return True
