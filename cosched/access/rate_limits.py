"""Rate limits bound how often a name may ask: token buckets, filled steadily."""

from __future__ import annotations

import threading
from collections import OrderedDict

__all__ = ["RateLimits", "RefusalLimits"]

_MOST = 10_000  # the name that was idle for longest is dropped: its bucket would be full again anyway


class RateLimits:
    """Buckets by name. Methods may be called from any thread."""

    def __init__(self, rate: float, burst: float) -> None:
        """Set up.

        Args:
            rate: permits a second.
            burst: permits that gather while none is taken.
        """
        self._rate = rate
        self._burst = burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # permits left, and when that was
        self._guard = threading.Lock()

    def take(self, name: str, time: float) -> float:
        """Take a permit; return 0, or the seconds until there is one again.

        Args:
            name: name of the bucket.
            time: time of a clock that never runs backwards, seconds.
        """
        with self._guard:
            left = self._left(name, time)
            granted = left >= 1.0
            self._keep(name, left - 1.0 if granted else left, time)
            return 0.0 if granted else (1.0 - left) / self._rate

    def wait(self, name: str, time: float) -> float:
        """Return the seconds until there is a permit, without taking it."""
        with self._guard:
            return max((1.0 - self._left(name, time)) / self._rate, 0.0)

    def fill(self, name: str) -> None:
        """Give all permits back."""
        with self._guard:
            self._buckets.pop(name, None)

    def give_back(self, name: str, time: float) -> None:
        """Give one permit back."""
        with self._guard:
            self._keep(name, min(self._left(name, time) + 1.0, self._burst), time)

    def _left(self, name: str, time: float) -> float:
        left, since = self._buckets.get(name, (self._burst, time))
        return min(left + max(time - since, 0.0) * self._rate, self._burst)

    def _keep(self, name: str, left: float, time: float) -> None:
        self._buckets[name] = (left, time)
        self._buckets.move_to_end(name)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)


class RefusalLimits:
    """Decides which refused logins are written down.

    All of a user who mistypes are, and few of an attack.

    Methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._each = RateLimits(1 / 60.0, 10.0)
        self._all = RateLimits(1.0, 60.0)
        self._left_out: OrderedDict[str, int] = OrderedDict()
        self._guard = threading.Lock()

    def left_out(self, address: str, time: float) -> int | None:
        """Return how many refusals of an address were left out, or None.

        None means that this one is left out, too.
        """
        with self._guard:
            before = self._left_out.pop(address, 0)
            if not self._each.take(address, time) and not self._all.take("", time):
                return before
            self._left_out[address] = before + 1
            if len(self._left_out) > _MOST:
                self._left_out.popitem(last=False)
            return None
