"""When identical hosts become free, as a sorted list: all that placing a task needs to know of them."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["FreeTimes"]


class FreeTimes:
    """The times at which N hosts become free, ascending, whichever host each belongs to."""

    __slots__ = ("_ascending",)

    def __init__(self, free: Iterable[float]) -> None:
        self._ascending = sorted(free)

    @property
    def ascending(self) -> tuple[float, ...]:
        """The times."""
        return tuple(self._ascending)

    def earliest(self, count: int) -> float:
        """Return when `count` hosts are free together for the first time."""
        return self._ascending[count - 1]

    def take(self, count: int, end: float) -> None:
        """Occupy the `count` hosts that are free first until `end`."""
        ascending = self._ascending
        del ascending[:count]
        place = bisect_right(ascending, end)
        ascending[place:place] = [end] * count
