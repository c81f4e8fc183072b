"""Agent capability tables (ARMS) hold the advertised services of other domains for their lifetime.

L come from lower agents, G from the upper one, C are learned: neighbours' own services, and those of domains further
away that neighbours advertise. Our own service (T in ARMS) is made anew for each advertisement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from cosched.agents.agent_settings import PeerRole
from cosched.agents.protocol.advertisement import debited

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.agents.agent_settings import Peer
    from cosched.agents.protocol.advertisement import AdvertisedService, EndEstimate

__all__ = ["CapabilityEntry", "CapabilityTables", "TableKind"]


_MOST_CLASSES = 4096  # of hosts, in one neighbour's advertisement: a task that is offered around looks at all of them


class TableKind(StrEnum):
    """The table that an entry belongs to, by its source."""

    LOWER = "L"
    UPPER = "G"
    LEARNED = "C"


_TABLES = {
    PeerRole.LOWER: TableKind.LOWER,
    PeerRole.UPPER: TableKind.UPPER,
    PeerRole.NEIGHBOUR: TableKind.LEARNED,
}


@dataclass(frozen=True, slots=True)
class CapabilityEntry:
    """A service, the neighbour that advertised it, and when (our clock, epoch seconds)."""

    service: AdvertisedService
    via: str
    table: TableKind
    heard: float

    def age(self, time: float) -> float:
        """Return how old the service is at `time`, in seconds."""
        return self.service.age + max(time - self.heard, 0.0)

    def now(self, time: float) -> AdvertisedService:
        """Return the service with its age as of `time`."""
        return replace(self.service, age=self.age(time))


class CapabilityTables:
    """Holds one service of each other domain: from the nearest source, of these the freshest."""

    def __init__(self, lifetime: float) -> None:
        self._lifetime = lifetime
        self._entries: dict[tuple[str, str], CapabilityEntry] = {}  # domain and neighbour → entry

    def set_lifetime(self, seconds: float) -> None:
        """Set the seconds after which services are forgotten."""
        self._lifetime = seconds

    def update(self, peer: Peer, services: Iterable[AdvertisedService], own: str, time: float) -> None:
        """Take a neighbour's advertisement; it replaces the last one.

        Of one with very many services the first are kept.

        Args:
            peer: the neighbour.
            services: its own and others that it knows.
            own: name of this domain, whose service is skipped.
            time: now, epoch seconds.
        """
        self.forget(peer.name)
        classes = 0
        for service in services:
            classes += len(service.classes) or 1
            if classes > _MOST_CLASSES:
                break
            if service.domain == own or service.age > self._lifetime:
                continue
            if service.distance == 0 and service.domain != peer.name:
                continue  # only a domain itself advertises at distance 0
            self._entries[service.domain, peer.name] = CapabilityEntry(service, peer.name, _TABLES[peer.role], time)

    def forget(self, peer: str) -> None:
        """Drop all that a neighbour advertised."""
        self._entries = {key: entry for key, entry in self._entries.items() if key[1] != peer}

    def debit(self, domain: str, taken: EndEstimate) -> None:
        """Count hosts of a domain as busy until it advertises anew."""
        for key, entry in self._entries.items():
            if key[0] == domain and taken.host_class < len(entry.service.classes):
                self._entries[key] = replace(entry, service=debited(entry.service, taken))

    def entries(self, time: float) -> list[CapabilityEntry]:
        """Return one entry for each domain known now, by name.

        Of several entries, that of the nearest source counts, and of these the freshest.
        """
        best: dict[str, CapabilityEntry] = {}
        for entry in self._entries.values():
            if entry.age(time) > self._lifetime:
                continue
            known = best.get(entry.service.domain)
            if known is None or _rank(entry, time) < _rank(known, time):
                best[entry.service.domain] = entry
        return [best[domain] for domain in sorted(best)]


def _rank(entry: CapabilityEntry, time: float) -> tuple[int, float, str]:
    return entry.service.distance, entry.age(time), entry.via
