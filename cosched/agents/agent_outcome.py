"""An agent's outcome: what one event makes it write, tell its core and send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.agents.statistics import AgentStatistics
from cosched.coscheduler.changes import Changes, Decision

if TYPE_CHECKING:
    from cosched.agents.letter_sequence import LetterSequence
    from cosched.agents.protocol.letters import Body, Letter
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.handovers import Guest, Handover

__all__ = ["AgentOutcome", "SendLetter"]


@dataclass(frozen=True, slots=True)
class SendLetter(Decision):
    """A decision to bring a letter to its receiver.

    The letter may be lost, as important ones are repeated.
    """

    letter: Letter


class AgentOutcome:
    """Collects records, events and letters while the agent handles one event.

    Attributes:
        links: letter sequences by neighbour; a letter to an unknown neighbour is dropped.
        statistics: counts of letters and forwarded tasks, over the agent's whole life.
        handovers: changed hand-overs, by UUID and epoch.
        guests: changed guests, by neighbour and UUID.
        events: events for the core, in order.
        sends: letters to send, in order.
    """

    def __init__(self, links: dict[str, LetterSequence]) -> None:
        self.links = links
        self.statistics = AgentStatistics()
        self.begin()

    def begin(self) -> None:
        """Forget the former event's outcome."""
        self.handovers: dict[tuple[str, int], Handover] = {}
        self.guests: dict[tuple[str, str], Guest] = {}
        self.events: list[Event] = []
        self.sends: list[SendLetter] = []

    def changes(self) -> Changes:
        """Return the records that changed."""
        return Changes(handovers=self.handovers, guests=self.guests)

    def write_handover(self, handover: Handover) -> None:
        """Have our side of a hand-over written down."""
        self.handovers[handover.uuid, handover.epoch] = handover

    def write_guest(self, guest: Guest) -> None:
        """Have the other side of a hand-over written down."""
        self.guests[guest.peer, guest.uuid] = guest

    def tell(self, event: Event) -> None:
        """Have the core told of something."""
        self.events.append(event)

    def send(self, peer: str, body: Body) -> None:
        """Have a neighbour told of something, once the records are written."""
        link = self.links.get(peer)
        if link is not None:
            self.statistics.count_sent(body)
            self.sends.append(SendLetter(link.write(body)))
