"""Settings of a domain's agent, its neighbours and its way of advertising."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import StrEnum

__all__ = ["AdvertisingBounds", "AdvertisingSettings", "AgentSettings", "Peer", "PeerRole"]


class PeerRole(StrEnum):
    """What a neighbour is to us in the graph of agents."""

    NEIGHBOUR = "neighbour"
    LOWER = "lower"
    UPPER = "upper"


@dataclass(frozen=True, slots=True)
class Peer:
    """A neighbouring domain.

    Attributes:
        name: of the domain; what its certificate stands for.
        role: the upper one is asked, too, where nobody known ends a task in time.
        paused: nothing new is offered to it or taken from it; what is under way goes on.
    """

    name: str
    role: PeerRole = PeerRole.NEIGHBOUR
    paused: bool = False


@dataclass(frozen=True, slots=True)
class AdvertisingSettings:
    """How an agent tells of services and how long it believes what it is told; may change while it runs.

    Attributes:
        period: between two advertisements to one peer, seconds.
        push: whether they are sent unasked, every `period` and when much has changed.
        scope: services of domains up to so many hops away are advertised; 0: only our own.
        lifetime: after which an advertised service is forgotten, seconds.
    """

    period: float
    push: bool
    scope: int
    lifetime: float


@dataclass(frozen=True, slots=True)
class AdvertisingBounds:
    """Which ways of advertising may be advised.

    Attributes:
        shortest: period, seconds.
        longest: period, seconds.
        scope: the widest.
        lifetime: the longest for which what was told is believed, seconds; not less than the longest period.
    """

    shortest: float
    longest: float
    scope: int
    lifetime: float


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Settings of a domain's agent. Durations are seconds.

    Attributes:
        name: of the domain.
        instance: UUID of its database; names of forwarded tasks derive from it.
        hops: how many domains a task may pass on its way, the first not counted.
        fanout: how many domains are asked for an offer at once.
        scope: services of domains up to so many hops away are advertised; 0: only our own.
        push: whether advertisements are sent unasked, every `period` and when much has changed.
        period: between two advertisements to one peer.
        lifetime: after which an advertised service is forgotten.
        patience: for which an answer is awaited; longer where the neighbour has needed longer before, or where the task
            waits anyway and nobody has offered better.
        patience_longest: for which the answer of a neighbour that has needed long is awaited at most.
        hold: for which a reserved place is kept.
        lease: silence of a peer after which what it has not started is taken back.
        look: between two looks at what waits.
        gain: seconds by which another domain must be better before a task moves.
        sooner: share of the time to its end here by which a task that will be in time must end sooner elsewhere to be
            offered as well; 1: it stays.
        again: pause after nobody offered anything better, doubled up to `again_longest`.
    """

    name: str
    instance: str
    hops: int = 4
    fanout: int = 3
    scope: int = 1
    push: bool = True
    period: float = 10.0
    lifetime: float = 60.0
    patience: float = 2.0
    patience_longest: float = 10.0
    hold: float = 10.0
    lease: float = 30.0
    look: float = 1.0
    gain: float = 1.0
    sooner: float = 1.0
    again: float = 5.0
    again_longest: float = 60.0

    @property
    def advertising(self) -> AdvertisingSettings:
        """The part that may change while it runs."""
        return AdvertisingSettings(self.period, self.push, self.scope, self.lifetime)

    def advertised(self, advertising: AdvertisingSettings) -> AgentSettings:
        """Return these settings with another part."""
        return replace(self, **asdict(advertising))
