"""Statistics since an agent's start show how well its settings work."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.agents.protocol.letters import Advertisement, Inquiry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.agents.protocol.letters import Body

__all__ = ["AgentFigures", "AgentStatistics", "RunningMean"]

_SPREADING = frozenset({Advertisement.__name__.lower(), Inquiry.__name__.lower()})


@dataclass(slots=True)
class RunningMean:
    """Mean of values that come one by one."""

    count: int = 0
    total: float = 0.0

    def add(self, value: float) -> None:
        """Take one more value."""
        self.count += 1
        self.total += value

    @property
    def value(self) -> float | None:
        """The mean; None before the first value."""
        return self.total / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class AgentFigures:
    """The statistics at one moment.

    Attributes:
        since: when counting began, epoch seconds.
        offered: times that a task was offered around.
        in_vain: how many of these found no better place.
        forwarded: hand-overs begun.
        came_back: hand-overs that ended without a run: refused, given back or taken back.
        taken: tasks of neighbours that were taken in.
        hops: domains that a task taken in had passed, mean.
        staleness: age of the advertisement by which the taker was chosen, mean seconds.
        misjudged: how far the end that was promised lay from the one estimated by the advertisement, mean seconds.
        sent: letters by kind.
        received: letters by kind.
    """

    since: float
    offered: int
    in_vain: int
    forwarded: int
    came_back: int
    taken: int
    hops: float | None
    staleness: float | None
    misjudged: float | None
    sent: Mapping[str, int]
    received: Mapping[str, int]

    @property
    def spreading(self) -> int:
        """Return the letters of advertisements and inquiries, with tasks or without."""
        return sum(count for kind, count in self.sent.items() if kind in _SPREADING)

    @property
    def letters_each(self) -> float | None:
        """Letters about tasks ÷ tasks offered or taken in; None before the first.

        Letters sent and received count.
        """
        about = sum(
            count for letters in (self.sent, self.received) for kind, count in letters.items() if kind not in _SPREADING
        )
        requests = self.offered + self.taken
        return about / requests if requests else None


class AgentStatistics:
    """Counts what an agent does; `AgentFigures` are read from it."""

    def __init__(self) -> None:
        self._offered = 0
        self._failed = 0
        self._forwarded = 0
        self._came_back = 0
        self._taken = 0
        self._hops = RunningMean()
        self._staleness = RunningMean()
        self._misjudged = RunningMean()
        self._sent: Counter[str] = Counter()
        self._received: Counter[str] = Counter()

    def count_sent(self, body: Body) -> None:
        """Count a letter that leaves."""
        self._sent[type(body).__name__.lower()] += 1

    def count_received(self, body: Body) -> None:
        """Count a letter that was taken in."""
        self._received[type(body).__name__.lower()] += 1

    def count_offered(self) -> None:
        """Count a task that is offered around."""
        self._offered += 1

    def count_failed(self) -> None:
        """Count a task that was offered around and stays."""
        self._failed += 1

    def count_forwarded(self, staleness: float | None, misjudged: float | None) -> None:
        """Count a hand-over, with its advertisement's age and error (seconds)."""
        self._forwarded += 1
        if staleness is not None:
            self._staleness.add(staleness)
        if misjudged is not None:
            self._misjudged.add(misjudged)

    def count_came_back(self) -> None:
        """Count a hand-over that ended without a run."""
        self._came_back += 1

    def count_taken(self, hops: int) -> None:
        """Count a neighbour's task that was taken in, and the hops that it had passed."""
        self._taken += 1
        self._hops.add(hops)

    def figures(self, since: float) -> AgentFigures:
        """Return the figures; `since` is only passed on."""
        return AgentFigures(
            since=since,
            offered=self._offered,
            in_vain=self._failed,
            forwarded=self._forwarded,
            came_back=self._came_back,
            taken=self._taken,
            hops=self._hops.value,
            staleness=self._staleness.value,
            misjudged=self._misjudged.value,
            sent=dict(self._sent),
            received=dict(self._received),
        )
