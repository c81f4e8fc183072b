"""Statistics of an agent's life, by which its settings can be judged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.agents.protocol.messages import Advertisement, Inquiry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.agents.protocol.messages import Body

__all__ = ["AgentFigures", "AgentStatistics", "RunningMean"]

_SPREADING = frozenset({Advertisement.__name__.lower(), Inquiry.__name__.lower()})


@dataclass(slots=True)
class RunningMean:
    """Of values that come one by one."""

    count: int = 0
    total: float = 0.0

    def add(self, value: float) -> None:
        """Take one more value."""
        self.count += 1
        self.total += value

    @property
    def value(self) -> float | None:
        """None before the first."""
        return self.total / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class AgentFigures:
    """The statistics at one moment.

    Attributes:
        since: when counting began, epoch seconds.
        offered: times that a task was offered around.
        in_vain: of these, how often nobody did better.
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
        """Letters sent to tell and to ask what is free, whether or not there are tasks."""
        return sum(count for kind, count in self.sent.items() if kind in _SPREADING)

    @property
    def letters_each(self) -> float | None:
        """Letters sent and received about tasks ÷ tasks offered around or taken in; None before the first."""
        about = sum(
            count for letters in (self.sent, self.received) for kind, count in letters.items() if kind not in _SPREADING
        )
        requests = self.offered + self.taken
        return about / requests if requests else None


@dataclass(slots=True)
class AgentStatistics:
    """Counts; see `Figures`."""

    offered: int = 0
    in_vain: int = 0
    forwarded: int = 0
    came_back: int = 0
    taken: int = 0
    hops: RunningMean = field(default_factory=RunningMean)
    staleness: RunningMean = field(default_factory=RunningMean)
    misjudged: RunningMean = field(default_factory=RunningMean)
    sent: Counter[str] = field(default_factory=Counter)
    received: Counter[str] = field(default_factory=Counter)

    def send(self, body: Body) -> None:
        """Count a letter that leaves."""
        self.sent[type(body).__name__.lower()] += 1

    def receive(self, body: Body) -> None:
        """Count a letter that was taken in."""
        self.received[type(body).__name__.lower()] += 1

    def forward(self, staleness: float | None, misjudged: float | None) -> None:
        """Count a hand-over, and how right the advertisement was that led to it (seconds, where there was one)."""
        self.forwarded += 1
        if staleness is not None:
            self.staleness.add(staleness)
        if misjudged is not None:
            self.misjudged.add(misjudged)

    def take(self, hops: int) -> None:
        """Count a task of a neighbour's that was taken in after so many hops."""
        self.taken += 1
        self.hops.add(hops)

    def figures(self, since: float) -> AgentFigures:
        """Return what was counted since a time, which is only passed on."""
        return AgentFigures(
            since,
            self.offered,
            self.in_vain,
            self.forwarded,
            self.came_back,
            self.taken,
            self.hops.value,
            self.staleness.value,
            self.misjudged.value,
            dict(self.sent),
            dict(self.received),
        )
