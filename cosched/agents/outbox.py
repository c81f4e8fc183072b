"""The outbox collects what one event makes an agent write, tell its core and send.

`LetterSequence` numbers the letters to one neighbour and takes each of its letters once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.agents.protocol.messages import Advertisement, Body, Inquiry, Letter
from cosched.agents.statistics import AgentStatistics
from cosched.coscheduler.changes import Changes, Decision

if TYPE_CHECKING:
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.handovers import Guest, Handover

__all__ = ["AgentOutbox", "LetterSequence", "SendLetter"]


# Letters that may overtake one another; what comes later than that counts as lost. Its sender says it again.
_WINDOW = 1024


class LetterSequence:
    """The two directions between us and one neighbour.

    A letter names both agents' lives: what was written to or by a former life is not taken, for it may have been taken
    then. Within a life each letter has a number of its own.

    Attributes:
        life: the neighbour's life as far as it is known; 0: not yet.
    """

    def __init__(self, name: str, peer: str, own_life: int) -> None:
        self.life = 0
        self._name = name
        self._peer = peer
        self._own_life = own_life
        self._written = 0
        self._newest = 0
        self._taken: set[int] = set()

    def write(self, body: Body) -> Letter:
        """Return the letter that carries this to the neighbour."""
        self._written += 1
        return Letter(self._name, self._peer, self._own_life, self.life, self._written, body)

    def take(self, letter: Letter) -> bool:
        """Return whether to accept a letter: it is new, and from this life to this life.

        Advertisements and inquiries need not know our life: by them lives become known.
        """
        if letter.life < self.life:
            return False
        greeting = isinstance(letter.body, Advertisement | Inquiry)
        if letter.known != self._own_life and not greeting:
            return False
        if letter.life > self.life:
            self.life, self._newest, self._taken = letter.life, 0, set()
        if letter.number in self._taken or letter.number <= self._newest - _WINDOW:
            return False
        self._taken.add(letter.number)
        self._newest = max(self._newest, letter.number)
        if len(self._taken) > 2 * _WINDOW:
            self._taken = {number for number in self._taken if number > self._newest - _WINDOW}
        return True


@dataclass(frozen=True, slots=True)
class SendLetter(Decision):
    """A decision: bring this letter to the neighbour it names. It may be lost; what matters is said again."""

    letter: Letter


class AgentOutbox:
    """Collects them while an event is under way.

    Attributes:
        links: to the neighbours, by name; what is for anybody else is dropped.
        statistics: count what is done.
        handovers: that changed, by UUID and epoch.
        guests: that changed, by neighbour and UUID.
        events: for the core, in order.
        sends: in order.
    """

    def __init__(self, links: dict[str, LetterSequence]) -> None:
        self.links = links
        self.statistics = AgentStatistics()
        self.begin()

    def begin(self) -> None:
        """Begin with an event."""
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
