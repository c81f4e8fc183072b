"""Agent capability tables (ARMS): what is known of whose services, from whom, and for how long.

T is our own service, L come from lower agents, G from the upper one, C are learned: neighbours' own services, and
those of domains further away that neighbours tell of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from cosched.agent.service import debited
from cosched.agent.settings import Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.agent.service import Estimate, Service
    from cosched.agent.settings import Peer

__all__ = ["Entry", "Table", "Tables"]


class Table(StrEnum):
    """By source."""

    OWN = "T"
    LOWER = "L"
    UPPER = "G"
    LEARNED = "C"


@dataclass(frozen=True, slots=True)
class Entry:
    """A service, the neighbour it was heard from, and when (our clock, epoch seconds)."""

    service: Service
    via: str
    table: Table
    heard: float

    def age(self, time: float) -> float:
        """Return how old the service is at `time`, in seconds."""
        return self.service.age + max(time - self.heard, 0.0)

    def now(self, time: float) -> Service:
        """Return the service with its age as of `time`."""
        return replace(self.service, age=self.age(time))


class Tables:
    """All that is known of other domains: for each, the freshest word, the nearer source where that is the same.

    Attributes:
        lifetime: seconds after which a word is forgotten.
    """

    def __init__(self, lifetime: float) -> None:
        self.lifetime = lifetime
        self._entries: dict[tuple[str, str], Entry] = {}  # domain and neighbour → entry

    def hear(self, peer: Peer, services: Iterable[Service], own: str, time: float) -> None:
        """Take what a neighbour tells; it replaces all that it told before."""
        for key in [key for key in self._entries if key[1] == peer.name]:
            del self._entries[key]
        for service in services:
            if service.domain == own or service.age > self.lifetime:
                continue
            if service.distance == 0 and service.domain != peer.name:
                continue  # nobody speaks for another as for itself
            table = {Role.LOWER: Table.LOWER, Role.UPPER: Table.UPPER}.get(peer.role, Table.LEARNED)
            self._entries[service.domain, peer.name] = Entry(service, peer.name, table, time)

    def forget(self, peer: str) -> None:
        """Forget all that a neighbour told."""
        self._entries = {key: entry for key, entry in self._entries.items() if key[1] != peer}

    def debit(self, domain: str, taken: Estimate) -> None:
        """Take hosts off what is known of a domain, until it advertises anew."""
        for key, entry in self._entries.items():
            if key[0] == domain and taken.host_class < len(entry.service.classes):
                self._entries[key] = replace(entry, service=debited(entry.service, taken))

    def entries(self, time: float) -> list[Entry]:
        """Return one entry for each domain that is known now: the nearest way to it, of these the freshest."""
        best: dict[str, Entry] = {}
        for entry in self._entries.values():
            if entry.age(time) > self.lifetime:
                continue
            known = best.get(entry.service.domain)
            if known is None or _rank(entry, time) < _rank(known, time):
                best[entry.service.domain] = entry
        return [best[domain] for domain in sorted(best)]


def _rank(entry: Entry, time: float) -> tuple[int, float, str]:
    return entry.service.distance, entry.age(time), entry.via
