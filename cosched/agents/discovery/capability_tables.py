"""Agent capability tables (ARMS) hold the advertised services of other domains for their lifetime.

T is our own service, L come from lower agents, G from the upper one, C are learned: neighbours' own services, and
those of domains further away that neighbours tell of.
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


class TableKind(StrEnum):
    """By source."""

    OWN = "T"
    LOWER = "L"
    UPPER = "G"
    LEARNED = "C"


@dataclass(frozen=True, slots=True)
class CapabilityEntry:
    """A service, the neighbour it was heard from, and when (our clock, epoch seconds)."""

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
    """All that is known of other domains: for each, the freshest word, the nearer source where that is the same.

    Attributes:
        lifetime: seconds after which a word is forgotten.
    """

    def __init__(self, lifetime: float) -> None:
        self.lifetime = lifetime
        self._entries: dict[tuple[str, str], CapabilityEntry] = {}  # domain and neighbour → entry

    def hear(self, peer: Peer, services: Iterable[AdvertisedService], own: str, time: float) -> None:
        """Take what a neighbour tells; it replaces all that it told before."""
        for key in [key for key in self._entries if key[1] == peer.name]:
            del self._entries[key]
        for service in services:
            if service.domain == own or service.age > self.lifetime:
                continue
            if service.distance == 0 and service.domain != peer.name:
                continue  # nobody speaks for another as for itself
            table = {PeerRole.LOWER: TableKind.LOWER, PeerRole.UPPER: TableKind.UPPER}.get(peer.role, TableKind.LEARNED)
            self._entries[service.domain, peer.name] = CapabilityEntry(service, peer.name, table, time)

    def forget(self, peer: str) -> None:
        """Forget all that a neighbour told."""
        self._entries = {key: entry for key, entry in self._entries.items() if key[1] != peer}

    def debit(self, domain: str, taken: EndEstimate) -> None:
        """Take hosts off what is known of a domain, until it advertises anew."""
        for key, entry in self._entries.items():
            if key[0] == domain and taken.host_class < len(entry.service.classes):
                self._entries[key] = replace(entry, service=debited(entry.service, taken))

    def entries(self, time: float) -> list[CapabilityEntry]:
        """Return one entry for each domain that is known now: the nearest way to it, of these the freshest."""
        best: dict[str, CapabilityEntry] = {}
        for entry in self._entries.values():
            if entry.age(time) > self.lifetime:
                continue
            known = best.get(entry.service.domain)
            if known is None or _rank(entry, time) < _rank(known, time):
                best[entry.service.domain] = entry
        return [best[domain] for domain in sorted(best)]


def _rank(entry: CapabilityEntry, time: float) -> tuple[int, float, str]:
    return entry.service.distance, entry.age(time), entry.via
