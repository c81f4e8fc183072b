"""What one event makes an agent write down, tell its core and tell its neighbours, in this order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.agent.statistics import Statistics

if TYPE_CHECKING:
    from cosched.agent.link import Link
    from cosched.agent.messages import Body, Letter
    from cosched.agent.records import Guest, Handover
    from cosched.coscheduler.events import Event

__all__ = ["Effects", "Send"]


@dataclass(frozen=True, slots=True)
class Send:
    """A decision: bring this letter to the neighbour it names. It may be lost; what matters is said again."""

    letter: Letter


class Effects:
    """Collects them while an event is under way.

    Attributes:
        links: to the neighbours, by name; what is for anybody else is dropped.
        statistics: count what is done.
        handovers: that changed, by UUID and epoch.
        guests: that changed, by neighbour and UUID.
        events: for the core, in order.
        sends: in order.
    """

    def __init__(self, links: dict[str, Link]) -> None:
        self.links = links
        self.statistics = Statistics()
        self.begin()

    def begin(self) -> None:
        """Begin with an event."""
        self.handovers: dict[tuple[str, int], Handover] = {}
        self.guests: dict[tuple[str, str], Guest] = {}
        self.events: list[Event] = []
        self.sends: list[Send] = []

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
            self.statistics.send(body)
            self.sends.append(Send(link.write(body)))
