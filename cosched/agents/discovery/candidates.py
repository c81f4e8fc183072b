"""Candidates for a task come from the capability tables; a negotiation asks the best.

All of it is volatile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from zlib import crc32

from cosched.agents.agent_settings import PeerRole
from cosched.agents.protocol.advertisement import estimate_end

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cosched.agents.agent_settings import Peer
    from cosched.agents.discovery.capability_tables import CapabilityTables
    from cosched.agents.protocol.advertisement import EndEstimate
    from cosched.agents.protocol.messages import TaskDocument
    from cosched.agents.tickets import TaskKnowledge, Ticket

__all__ = ["Candidate", "Negotiation", "find_candidates", "most_promising", "upper_candidates"]


_MAX_REASON = 200  # characters of a neighbour's reason that are shown


@dataclass(frozen=True, slots=True)
class Candidate:
    """A neighbour to ask, and the domain behind it that made it one.

    Attributes:
        peer: the neighbour.
        domain: itself, or one that it told of.
        estimate: by the tables, seconds from now; None where its times are not known here.
        age: of what the tables have of it, seconds; None where they have nothing.
    """

    peer: str
    domain: str
    estimate: EndEstimate | None
    age: float | None = None

    @property
    def end(self) -> float:
        """Estimated end in seconds from now; infinite where not known."""
        return math.inf if self.estimate is None else self.estimate.end


@dataclass(slots=True)
class Negotiation:
    """A task that is being offered around.

    Attributes:
        epoch: of the hand-over that may follow.
        here: when it would end here, epoch seconds.
        limit: by when it must end elsewhere to be worth moving, epoch seconds.
        since: when the present step began.
        began: when it was offered, epoch seconds.
        left: when it would have left here, epoch seconds: since then its hosts stand idle while answers are awaited.
            None: it waits here anyway.
        asked: neighbours whose answers are awaited, or offered something.
        offers: by neighbour: when it would end there, epoch seconds, and where that is.
        reserving: the neighbour that is asked to keep the place; empty before that.
        turns: how many times another was asked because its offer had become the better one.
        refusals: neighbour → why it does not have the task, as it said itself.
    """

    task: str
    papers: Ticket
    epoch: int
    here: float
    limit: float
    since: float
    asked: dict[str, Candidate]
    offers: dict[str, tuple[float, str]] = field(default_factory=dict)
    reserving: str = ""
    turns: int = 0
    began: float = 0.0
    left: float | None = None
    refusals: dict[str, str] = field(default_factory=dict)

    @property
    def deadline(self) -> float:
        """Of the task, epoch seconds."""
        return self.papers.document.deadline

    def choice(self, gain: float) -> str:
        """Return the neighbour whose offer is best: the earliest; empty where none is better than here.

        Of those that differ by less than the gain the task's name chooses: else all would go to the same one.
        """
        fit = [
            (end // max(gain, 1e-3), crc32(f"{self.papers.uuid}{peer}".encode()), peer)
            for peer, (end, _) in self.offers.items()
            if end <= self.limit and math.isfinite(end)
        ]
        return min(fit)[2] if fit else ""

    def unfit(self) -> tuple[str, ...]:
        """Say of each neighbour that was asked why it does not have the task, for people."""
        return tuple(f"{peer}: {self._unfit(peer)[:_MAX_REASON]}" for peer in sorted(self.asked))

    def _unfit(self, peer: str) -> str:
        if peer in self.refusals:
            return self.refusals[peer]
        return f"would end it {self._margin(self.offers[peer][0])}" if peer in self.offers else "has not answered"

    def why(self, peer: str, here: str) -> str:
        """Say why it goes to a neighbour, for people."""
        end, where = self.offers[peer]
        there = where if where == peer else f"{where} through {peer}"
        asked = f"; {len(self.offers)} of {len(self.asked)} asked made offers" if len(self.asked) > 1 else ""
        only = "only " if end > self.deadline else ""
        theirs = f"{only}{self._margin(end)}{asked}"
        if math.isinf(self.here):
            return f"{here} cannot run it, {there} would end it {theirs}"
        return f"{here} would end it {self._margin(self.here)}, {there} {theirs}"

    def _margin(self, end: float) -> str:
        margin = self.deadline - end
        return f"{margin:.1f} s before its deadline" if margin >= 0 else f"{-margin:.1f} s late"


def find_candidates(
    tables: CapabilityTables,
    peers: Mapping[str, Peer],
    knowledge: TaskKnowledge,
    document: TaskDocument,
    excluded: Collection[str],
    time: float,
) -> list[Candidate]:
    """Return whom to ask, the most promising first, each neighbour once.

    First those that have a time by the tables, then those whose hardware is not known here, last the upper agent.

    Args:
        tables: what is known of services.
        peers: usable neighbours by name.
        knowledge: how long the task takes on which hardware.
        document: the task.
        excluded: domains that it must not go to or through.
        time: now, epoch seconds.
    """
    found: dict[str, Candidate] = {}
    for entry in tables.entries(time):
        service = entry.now(time)
        if entry.via not in peers or entry.via in excluded or service.domain in excluded:
            continue
        if not service.takes(document.application, "" if document.native is None else document.native.manager):
            continue
        there = estimate_end(service, lambda hardware, hosts: knowledge.profile(document, hardware, hosts))
        known = found.get(entry.via)
        new = Candidate(entry.via, service.domain, there, service.age)
        if known is None or new.end < known.end:
            found[entry.via] = new
    for peer in peers.values():
        if peer.role is PeerRole.UPPER and peer.name not in found and peer.name not in excluded:
            found[peer.name] = Candidate(peer.name, peer.name, None)
    return sorted(found.values(), key=lambda candidate: (candidate.end, candidate.peer))


def most_promising(found: list[Candidate], limit: float, fanout: int) -> list[Candidate]:
    """Return the first few that promise an end by `limit` (seconds from now), or promise nothing known."""
    return [candidate for candidate in found if candidate.estimate is None or candidate.end <= limit][:fanout]


def upper_candidates(
    asked: list[Candidate], peers: Mapping[str, Peer], excluded: Collection[str], allowance: float
) -> list[Candidate]:
    """Return the upper agent where nobody that is asked promises an end in time: it may know of domains that we do not.

    Args:
        asked: chosen by what is known.
        peers: usable neighbours by name.
        excluded: domains that the task must not go to or through.
        allowance: seconds to the deadline.
    """
    if any(candidate.end <= allowance for candidate in asked):
        return []
    known = {*excluded, *(candidate.peer for candidate in asked)}
    return [
        Candidate(peer.name, peer.name, None)
        for peer in peers.values()
        if peer.role is PeerRole.UPPER and peer.name not in known
    ]
