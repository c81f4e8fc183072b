"""Whether the load of a host is another than its past foretells: GHS's reschedule trigger.

The A-MM paper (section 2.1, "Reschedule Trigger System") gives no formula. Here it is Page's cumulative sum, as Hinkley
uses it (1971), of the host-seconds that an owner takes beyond or below what is expected.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["NOTICE", "LoadChange"]

NOTICE = 600.0
"""Host-seconds by which a load must be off at least, where nothing else is set."""

_TOLERANCE = 0.05  # part of a host by which the load may be off for ever
_PRESENCES = 3.0  # … and as many presences of a usual length: one that is long is no change


@dataclass(slots=True)
class _Excess:
    """Cumulative sum since its last zero.

    Attributes:
        sum: host-seconds beyond what is tolerated.
        seconds: for how long it has been above 0.
        taken: host-seconds that the owner had meanwhile.
    """

    sum: float = 0.0
    seconds: float = 0.0
    taken: float = 0.0

    def add(self, off: float, part: float, seconds: float) -> None:
        self.sum += off * seconds
        if self.sum <= 0:
            self.sum = self.seconds = self.taken = 0.0
        else:
            self.seconds += seconds
            self.taken += part * seconds


@dataclass(slots=True)
class LoadChange:
    """Watches one host.

    Attributes:
        expected: part of the host that its past says its owner takes.
        observed: the part that he takes since he has changed; None while he does as expected.
        notice: host-seconds that he must take more, or less, than is expected of him before he has changed.
    """

    expected: float = 0.0
    observed: float | None = None
    notice: float = NOTICE
    _above: _Excess = field(default_factory=_Excess)
    _below: _Excess = field(default_factory=_Excess)

    def expect(self, part: float) -> None:
        """Take in what the past says of the coming hour; where that agrees with what is seen, nothing has changed."""
        self.expected = part
        if self.observed is not None and abs(self.observed - part) <= 2 * _TOLERANCE:
            self.observed = None

    def observe(self, part: float, seconds: float, usual: float) -> None:
        """Take in which part of the host its owner has had for some seconds.

        Args:
            part: 0…1.
            seconds: for how long.
            usual: a usual presence of an owner in seconds.
        """
        base = self.expected if self.observed is None else self.observed
        self._above.add(part - base - _TOLERANCE, part, seconds)
        self._below.add(base - part - _TOLERANCE, part, seconds)
        for excess in (self._above, self._below):
            if excess.sum > max(self.notice, _PRESENCES * usual):
                seen = excess.taken / excess.seconds
                self.observed = None if abs(seen - self.expected) <= 2 * _TOLERANCE else seen
                self._above, self._below = _Excess(), _Excess()
                return
