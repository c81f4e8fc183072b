"""Round-trip times of neighbours say how long an answer is awaited (RFC 6298, section 2).

A round trip includes the work for the answer: evaluating a model, asking others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["UNHURRIED_FACTOR", "RoundTripTimes"]

UNHURRIED_FACTOR = 4.0  # by which an answer may take longer where the task would not leave now anyway
_SMOOTH, _VARY = 1 / 8, 1 / 4  # weights of a new sample (RFC 6298: alpha, beta)
_SPREAD = 4.0  # mean deviations beyond the smoothed time (RFC 6298: K)
_MAX_QUESTIONS = 4096  # unanswered questions that are remembered


@dataclass(slots=True)
class _RoundTrip:
    smoothed: float
    deviation: float

    def add(self, sample: float) -> None:
        self.deviation += _VARY * (abs(self.smoothed - sample) - self.deviation)
        self.smoothed += _SMOOTH * (sample - self.smoothed)


class RoundTripTimes:
    """Measures neighbours' answers and says how long to wait for the next one.

    An answer that comes after its timeout counts as well: so a slow network is known after one answer. A question that
    was asked twice is not measured, for its answer may belong to either (Karn's rule).
    """

    def __init__(self, least: float, most: float) -> None:
        """Set up.

        Args:
            least: shortest timeout in seconds, also of neighbours that have not answered yet.
            most: longest timeout in seconds.
        """
        self._least = least
        self._most = max(least, most)
        self._times: dict[str, _RoundTrip] = {}
        self._asked: dict[tuple[str, str, str, int], float | None] = {}

    def record_question(self, peer: str, kind: str, task: str, epoch: int, time: float) -> None:
        """Note that a question of a kind about a hand-over leaves for a neighbour."""
        key = (peer, kind, task, epoch)
        self._asked[key] = time if key not in self._asked else None
        if len(self._asked) > _MAX_QUESTIONS:
            del self._asked[next(iter(self._asked))]

    def record_answer(self, peer: str, kind: str, task: str, epoch: int, time: float) -> None:
        """Note an answer; one to an unknown or repeated question is not measured."""
        asked = self._asked.pop((peer, kind, task, epoch), None)
        if asked is None or time < asked:
            return
        sample, measured = time - asked, self._times.get(peer)
        if measured is None:
            self._times[peer] = _RoundTrip(sample, sample / 2)
        else:
            measured.add(sample)

    def timeout(self, peers: Iterable[str]) -> float:
        """Return how many seconds to wait for the slowest of these neighbours."""
        measured = (self._times[peer] for peer in peers if peer in self._times)
        longest = max((each.smoothed + _SPREAD * each.deviation for each in measured), default=0.0)
        return min(max(longest, self._least), self._most)

    def forget(self, peer: str) -> None:
        """Drop the measurements of a neighbour."""
        self._times.pop(peer, None)
