"""Settings of a domain's agent, its neighbours and its advertising."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["AdvertisingBounds", "AdvertisingSettings", "AgentSettings", "Peer", "PeerRole"]


class PeerRole(StrEnum):
    """Place of a neighbour in the graph of agents."""

    NEIGHBOUR = "neighbour"
    LOWER = "lower"
    UPPER = "upper"


@dataclass(frozen=True, slots=True)
class Peer:
    """A neighbouring domain.

    Attributes:
        name: name of the domain; its certificate stands for it.
        role: the upper agent is asked too where no known domain ends a task in time.
        paused: no new task is offered to it or taken from it; hand-overs under way go on.
    """

    name: str
    role: PeerRole = PeerRole.NEIGHBOUR
    paused: bool = False


@dataclass(frozen=True, slots=True)
class AdvertisingSettings:
    """Rhythm and lifetime of advertisements; may change while the agent runs.

    Attributes:
        period: seconds between two advertisements to one peer.
        push: whether they are sent unasked, every `period` and when much has changed.
        scope: largest distance in hops of domains whose services are advertised; 0: only our own.
        lifetime: seconds after which an advertised service is forgotten.
    """

    period: float = 10.0
    push: bool = True
    scope: int = 1
    lifetime: float = 60.0


@dataclass(frozen=True, slots=True)
class AdvertisingBounds:
    """Bounds of the advertising settings that may be advised.

    Attributes:
        shortest: period, seconds.
        longest: period, seconds.
        scope: the widest.
        lifetime: the longest, seconds; not less than the longest period.
    """

    shortest: float
    longest: float
    scope: int
    lifetime: float


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Settings of a domain's agent. Durations are seconds.

    Attributes:
        name: name of the domain.
        instance: UUID of its database; names of forwarded tasks derive from it.
        hops: domains that a task may pass on its way, the first not counted.
        fanout: domains that are asked for an offer at once.
        advertising: advertising at the start.
        applications: names of the applications that run here for others; empty: any.
        commands: whether commands of others run as given, and files of their users for our manager.
        manager: kind of our resource manager.
        timeout: wait for an answer; longer where the neighbour has needed longer before, or where the task waits
            anyway and there is no better offer.
        longest_timeout: longest wait for the answer of a slow neighbour.
        hold: time for which a reserved place is kept.
        lease: silence of a peer after which tasks that it has not started are taken back.
        poll_interval: pause between two checks of the waiting tasks.
        least_gain: seconds by which another domain must be better before a task moves.
        sooner: share of the time to its end here by which a task that will be in time must end sooner elsewhere to be
            offered as well; 1: it stays.
        retry_pause: pause after a negotiation in vain, doubled up to `longest_retry_pause`.
        longest_retry_pause: longest pause between two negotiations about one task.
    """

    name: str
    instance: str
    hops: int = 4
    fanout: int = 3
    advertising: AdvertisingSettings = AdvertisingSettings()
    applications: tuple[str, ...] = ()
    commands: bool = False
    manager: str = ""
    timeout: float = 2.0
    longest_timeout: float = 10.0
    hold: float = 10.0
    lease: float = 30.0
    poll_interval: float = 1.0
    least_gain: float = 1.0
    sooner: float = 1.0
    retry_pause: float = 5.0
    longest_retry_pause: float = 60.0
