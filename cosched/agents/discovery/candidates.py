"""Candidates are the neighbours to ask about a task, read from the capability tables.

Start at `CandidateFinder`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.agents.agent_settings import PeerRole
from cosched.agents.protocol.advertisement import estimate_end

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from cosched.agents.agent_settings import Peer
    from cosched.agents.discovery.capability_tables import CapabilityTables
    from cosched.agents.protocol.advertisement import EndEstimate
    from cosched.agents.tickets import TaskKnowledge
    from cosched.coscheduler.handovers import TaskDocument

__all__ = ["Candidate", "CandidateFinder", "most_promising"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A neighbour to ask, and the domain behind it that made it one.

    Attributes:
        peer: the neighbour.
        domain: the neighbour itself, or one that it advertised.
        estimate: end by the tables, in seconds from now; None where its run times are not known here.
        age: age of its advertisement, seconds; None where there is none.
    """

    peer: str
    domain: str
    estimate: EndEstimate | None
    age: float | None = None

    @property
    def end(self) -> float:
        """Estimated end in seconds from now; infinite where not known."""
        return math.inf if self.estimate is None else self.estimate.end


class CandidateFinder:
    """Finds neighbours that could run a task."""

    def __init__(
        self, tables: CapabilityTables, knowledge: TaskKnowledge, usable_peers: Callable[[], Mapping[str, Peer]]
    ) -> None:
        """Set up.

        Args:
            tables: advertised services.
            knowledge: run times on other domains' hardware.
            usable_peers: returns the neighbours with which new tasks are exchanged, by name.
        """
        self._tables = tables
        self._knowledge = knowledge
        self._usable_peers = usable_peers

    def has_peers(self) -> bool:
        """Return whether new tasks are exchanged with any neighbour."""
        return bool(self._usable_peers())

    def is_usable(self, peer: str) -> bool:
        """Return whether new tasks are exchanged with this neighbour."""
        return peer in self._usable_peers()

    def candidates(self, document: TaskDocument, excluded: Collection[str], time: float) -> list[Candidate]:
        """Return the neighbours to ask, the most promising first, each once.

        First those with an estimated end, then those whose hardware is not known here, last the upper agent.

        Args:
            document: the task.
            excluded: domains that it must not go to or through.
            time: now, epoch seconds.
        """
        peers = self._usable_peers()
        found: dict[str, Candidate] = {}
        for entry in self._tables.entries(time):
            service = entry.now(time)
            if entry.via not in peers or entry.via in excluded or service.domain in excluded:
                continue
            if not service.takes(document.application, "" if document.native is None else document.native.manager):
                continue
            estimate = estimate_end(
                service, document, lambda hardware, hosts: self._knowledge.profile(document, hardware, hosts)
            )
            candidate, best = Candidate(entry.via, service.domain, estimate, service.age), found.get(entry.via)
            if best is None or candidate.end < best.end:
                found[entry.via] = candidate
        upper = self.upper_agents({*excluded, *found})
        return sorted([*found.values(), *upper], key=lambda candidate: (candidate.end, candidate.peer))

    def upper_agents(self, excluded: Collection[str]) -> list[Candidate]:
        """Return the upper agent unless excluded; it may know further domains."""
        return [
            Candidate(peer.name, peer.name, None)
            for peer in self._usable_peers().values()
            if peer.role is PeerRole.UPPER and peer.name not in excluded
        ]

    def debit(self, candidate: Candidate) -> None:
        """Count a candidate's hosts for a task as busy until it advertises anew."""
        if candidate.estimate is not None:
            self._tables.debit(candidate.domain, candidate.estimate)


def most_promising(candidates: list[Candidate], limit: float, fanout: int) -> list[Candidate]:
    """Return the first `fanout` candidates that end by `limit` (seconds from now), or may."""
    return [candidate for candidate in candidates if candidate.estimate is None or candidate.end <= limit][:fanout]
