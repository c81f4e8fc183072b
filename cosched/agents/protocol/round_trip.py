"""Round-trip times of neighbours say how long an answer is awaited (RFC 6298, section 2).

A round trip includes the work for the answer: evaluating a model, asking others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["UNHURRIED_FACTOR", "RoundTripTimes"]

UNHURRIED_FACTOR = 4.0  # times the patience that is had for a task which would not leave now
_SMOOTH, _VARY = 1 / 8, 1 / 4  # weights of a new sample (RFC 6298: alpha, beta)
_SPREAD = 4.0  # mean deviations beyond the smoothed time (RFC 6298: K)
_MAX_QUESTIONS = 4096  # questions whose answers are reckoned with


@dataclass(slots=True)
class _RoundTrip:
    smoothed: float
    deviation: float

    def add(self, sample: float) -> None:
        self.deviation += _VARY * (abs(self.smoothed - sample) - self.deviation)
        self.smoothed += _SMOOTH * (sample - self.smoothed)


class RoundTripTimes:
    """Says for how long an answer is worth waiting for.

    An answer that comes after it was given up counts as well: so a slow network is known after one answer. A question
    that was asked twice is not measured, for nobody knows to which of the two the answer belongs (Karn's rule).
    """

    def __init__(self, least: float, most: float) -> None:
        """Set up.

        Args:
            least: seconds that are waited in any case, also for neighbours that have not answered yet.
            most: seconds beyond which nobody is waited for.
        """
        self._least = least
        self._most = max(least, most)
        self._times: dict[str, _RoundTrip] = {}
        self._asked: dict[tuple[str, str, str, int], float | None] = {}

    def ask(self, peer: str, question: str, task: str, epoch: int, time: float) -> None:
        """A question leaves for a neighbour: of a kind, about a hand-over."""
        key = (peer, question, task, epoch)
        self._asked[key] = time if key not in self._asked else None
        if len(self._asked) > _MAX_QUESTIONS:
            del self._asked[next(iter(self._asked))]

    def answer(self, peer: str, question: str, task: str, epoch: int, time: float) -> None:
        """Its answer came; one to a question that is not known, or was asked twice, teaches nothing."""
        asked = self._asked.pop((peer, question, task, epoch), None)
        if asked is None or time < asked:
            return
        sample, known = time - asked, self._times.get(peer)
        if known is None:
            self._times[peer] = _RoundTrip(sample, sample / 2)
        else:
            known.add(sample)

    def patience(self, peers: Iterable[str]) -> float:
        """Return for how many seconds the slowest of these neighbours is waited for."""
        known = (self._times[peer] for peer in peers if peer in self._times)
        longest = max((each.smoothed + _SPREAD * each.deviation for each in known), default=0.0)
        return min(max(longest, self._least), self._most)

    def forget(self, peer: str) -> None:
        """A neighbour is none any more."""
        self._times.pop(peer, None)
