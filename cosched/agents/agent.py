"""The agent of one domain: events in; records, events for the core and letters out.

No clock, no I/O, no randomness. Start reading at `Agent.received` and `Agent.tick`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from cosched.agents.discovery.bidding import Bidder
from cosched.agents.discovery.capability_tables import CapabilityTables
from cosched.agents.handover.incoming import IncomingHandovers
from cosched.agents.handover.negotiation import Negotiator
from cosched.agents.handover.outgoing import OutgoingHandovers
from cosched.agents.outbox import AgentOutbox, LetterSequence
from cosched.agents.protocol.advertisement import AdvertisedService
from cosched.agents.protocol.messages import (
    Accepted,
    Advertisement,
    Cancel,
    Commit,
    Decline,
    Fenced,
    Granted,
    Inquiry,
    Noted,
    Offer,
    Refused,
    Report,
    Request,
    Reserve,
    Reserved,
    Start,
)
from cosched.agents.protocol.round_trip import RoundTripTimes
from cosched.agents.tickets import TicketIssuer
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cosched.agents.agent_settings import AdvertisingSettings, AgentSettings, Peer
    from cosched.agents.discovery.capability_tables import CapabilityEntry
    from cosched.agents.domain_view import DomainView
    from cosched.agents.events import LetterReceived, PeersChanged
    from cosched.agents.handover.negotiation import FailedNegotiation
    from cosched.agents.protocol.messages import Letter
    from cosched.agents.records import Guest, Handover
    from cosched.agents.statistics import AgentFigures
    from cosched.agents.tickets import TaskKnowledge
    from cosched.coscheduler.task import Task

__all__ = ["Agent"]

_GREETING = "greeting"  # the question that the first letter to this life of ours answers
_CHANGED_SHARE = 0.2  # share of the free time of hosts that must have changed before it is advertised before its time


class Agent:
    """Advertises its domain, offers around what will be late there, and takes in what others offer.

    Attributes:
        peers: the neighbours by name.
        tables: what is known of services.
        handing: tasks that we have handed over.
        hosting: tasks that were handed to us.
        heard: neighbour → when its last letter came, epoch seconds.
    """

    def __init__(
        self,
        settings: AgentSettings,
        domain: DomainView,
        knowledge: TaskKnowledge,
        life: int,
        number: Callable[[], int],
    ) -> None:
        """Set up.

        Args:
            settings: what the administrator set.
            domain: our own.
            knowledge: describes tasks and knows how long they take elsewhere.
            life: number of this life, greater than that of any before it.
            number: gives the number of the next task that is taken in.
        """
        self.settings = settings
        self.peers: dict[str, Peer] = {}
        self.tables = CapabilityTables(settings.lifetime)
        self.heard: dict[str, float] = {}
        self._domain = domain
        self._life = life
        self._links: dict[str, LetterSequence] = {}
        self._effects = AgentOutbox(self._links)
        self._promptness = RoundTripTimes(settings.patience, settings.patience_longest)
        self._quoting = Bidder(settings, self._effects, self.tables, knowledge, domain, self._promptness, self.usable)
        self.hosting = IncomingHandovers(settings, self._effects, domain, self._quoting, number)
        registry = TicketIssuer(settings, knowledge, domain, self.hosting.guest_of)
        self.handing = OutgoingHandovers(
            settings, self._effects, domain, registry, self._promptness, self.hosting.ask_start, self._pause
        )
        self._offering = Negotiator(
            settings,
            self._effects,
            self.tables,
            knowledge,
            domain,
            registry,
            self.handing,
            self._promptness,
            self.usable,
        )
        self._readers: dict[type, tuple[Callable[[str, Any, float], None], ...]] = {
            Offer: (self._offering.offered, self._quoting.passing.offered),
            Decline: (self._offering.declined, self._quoting.passing.declined),
            Reserve: (self._quoting.reserve,),
            Reserved: (self._offering.reserved,),
            Refused: (self._offering.refused, self.handing.refused),
            Accepted: (self.handing.accepted,),
            Start: (self.handing.start,),
            Fenced: (self.hosting.fenced, self._quoting.fenced),
            Cancel: (self.hosting.cancel,),
            Report: (self.handing.reported,),
            Noted: (self.hosting.noted,),
        }
        self._accepts: tuple[tuple[str, ...], bool, str] = ((), False, "")
        self._advertised: dict[str, _AdvertisedState] = {}  # by neighbour
        self._inquired: dict[str, float] = {}
        self._looked = -math.inf
        self._begun = 0.0

    def begin(self) -> AgentOutbox:
        """Begin with an event; what it leads to is found in what this returns."""
        self._effects.begin()
        return self._effects

    def restore(
        self, handovers: Iterable[Handover], guests: Iterable[Guest], ended: Mapping[str, Task], time: float
    ) -> None:
        """Take up what a former life wrote down.

        Args:
            handovers: all hand-overs of tasks that live, those that have ended too.
            guests: those that are not settled.
            ended: tasks of guests that have ended, by identifier.
            time: now, epoch seconds.
        """
        self.handing.restore(handovers, time)
        self.hosting.restore(guests, ended, time)

    def accept(self, applications: tuple[str, ...], *, commands: bool, manager: str = "") -> None:
        """Say what is advertised as accepted.

        Args:
            applications: their names; empty: any.
            commands: whether commands run as they are given, and users' own files written for our manager.
            manager: kind of ours.
        """
        self._accepts = (applications, commands, manager)

    def known(self, time: float) -> list[CapabilityEntry]:
        """Return what is known of other domains now."""
        return self.tables.entries(time)

    def advertise_by(self, advertising: AdvertisingSettings) -> None:
        """Tell of services in this way from now on."""
        self.settings = self.settings.advertised(advertising)
        self.tables.lifetime = advertising.lifetime

    def figures(self) -> AgentFigures:
        """Return the statistics of this life."""
        return self._effects.statistics.figures(self._begun)

    def in_vain(self, task: str) -> FailedNegotiation | None:
        """Return what has come of offering a task around; None where that has not been in vain once."""
        return self._offering.in_vain(task)

    @property
    def eager(self) -> bool:
        """Whether neighbours are asked for tasks that will be in time here, too."""
        return self._offering.eager

    def usable(self) -> dict[str, Peer]:
        """Return the neighbours with which new tasks may be exchanged."""
        return {name: peer for name, peer in self.peers.items() if not peer.paused}

    def service(self, time: float) -> AdvertisedService:
        """Return our own service as it is now."""
        booked = self._quoting.booked(time)
        return AdvertisedService(self.settings.name, 0.0, 0, self._domain.classes(time, booked), *self._accepts)

    # ── events ───────────────────────────────────────────────────────────────────────────────────────────────

    def peers_changed(self, event: PeersChanged) -> None:
        """Take the list of neighbours; what is under way with one that is gone ends by its lease."""
        self.peers = {peer.name: peer for peer in event.peers if peer.name != self.settings.name}
        self._begun = self._begun or event.time
        for name in list(self._links):
            if name not in self.peers:
                del self._links[name]
                self.tables.forget(name)
                self._promptness.forget(name)
        for name in self.peers:
            if name not in self._links:
                self._links[name] = LetterSequence(self.settings.name, name, self._life)
                self._inquire(name, event.time)

    def received(self, event: LetterReceived) -> None:
        """Take a letter in, if it is one that is to be taken."""
        letter, time = event.letter, event.time
        link = self._links.get(letter.sender)
        if link is None or letter.receiver != self.settings.name:
            return
        if not link.take(letter):
            if letter.life >= link.life and letter.known != self._life:
                self._advertise(letter.sender, time)  # it knows us by a former life
            return
        self.heard[letter.sender] = time
        if letter.known == self._life:  # it has had our inquiry
            self._promptness.answer(letter.sender, _GREETING, "", 0, time)
        self._effects.statistics.receive(letter.body)
        self._read(letter, event.task, event.fault, time)

    def _read(self, letter: Letter, task: Task | None, fault: str, time: float) -> None:
        peer = letter.sender
        match letter.body:
            case Advertisement() as word:
                self.tables.hear(self.peers[peer], word.services, self.settings.name, time)
                if letter.known != self._life:
                    self._advertise(peer, time)
            case Inquiry():
                self._advertise(peer, time)
            case Request() as word:
                self._quoting.request(peer, word, task, fault, time)
            case Commit() as word:
                self.hosting.commit(peer, word, task, fault, time)
            case Granted() as word:
                self.handing.permitted(self.hosting.granted(peer, word, time))
            case word:
                for reader in self._readers[type(word)]:
                    reader(peer, word, time)

    def ask_start(self, task: str, time: float) -> None:
        """The core would let a guest leave now."""
        self.hosting.ask_start(task, time)

    def ask_peers(self, task: str, end: float, time: float) -> None:
        """The core would let a task leave now that neighbours are to be asked for first."""
        self._offering.offer(task, end, time)

    def task_changed(self, task: Task, time: float) -> None:
        """The core has changed a task."""
        self.hosting.task_changed(task, time)
        if not self._domain.waits(task.id):
            self._offering.forget(task.id)
        if task.state.final:
            self.handing.ended(task.id)
        elif task.in_transit and task.state is TaskState.QUEUED:
            self._offering.offer_on(task, time)
        elif task.state is TaskState.CANCELLING and task.peer:
            self.handing.cancel(task.id, task.reason, time)

    def tick(self, time: float) -> None:
        """Time went by."""
        self.handing.tick(time)
        self.hosting.tick(time)
        self._quoting.tick(time)
        self._offering.look(time)
        if time >= self._looked + self.settings.look:
            self._looked = time
            self.handing.reconsider(time)
            self._spread(time)

    # ── advertisement ────────────────────────────────────────────────────────────────────────────────────────

    def _spread(self, time: float) -> None:
        """Tell neighbours of our services when it is time, or when much has changed; ask those we know nothing of."""
        if not self._links:
            return
        own = self.service(time)
        now = _AdvertisedState(time, _mean_wait(own), len(self.tables.entries(time)))
        for peer in self._links:
            told = self._advertised.get(peer, _AdvertisedState(-math.inf, 0.0, 0))
            pause = self.settings.period / 5 if now.differs(told) else self.settings.period
            if self.settings.push and time >= told.time + pause:
                self._advertise(peer, time, own)
            silent = time >= self.heard.get(peer, -math.inf) + self.settings.lifetime / 2
            if silent and time >= self._inquired.get(peer, -math.inf) + self.settings.period:
                self._inquire(peer, time)

    def _inquire(self, peer: str, time: float) -> None:
        self._inquired[peer] = time
        self._promptness.ask(peer, _GREETING, "", 0, time)
        self._effects.send(peer, Inquiry())

    def _advertise(self, peer: str, time: float, own: AdvertisedService | None = None) -> None:
        own = own or self.service(time)
        self._advertised[peer] = _AdvertisedState(time, _mean_wait(own), len(self.tables.entries(time)))
        if self.peers[peer].paused:
            own = AdvertisedService(own.domain, 0.0, 0, ())
        others = [entry for entry in self.tables.entries(time) if entry.via != peer and entry.service.domain != peer]
        told = []
        for entry in others:
            service = entry.now(time)
            if service.distance < self.settings.scope:
                told.append(
                    AdvertisedService(
                        service.domain,
                        service.age,
                        service.distance + 1,
                        service.classes,
                        service.applications,
                        service.commands,
                        service.manager,
                    )
                )
        self._effects.send(peer, Advertisement((own, *told)))

    def _pause(self, task: str, time: float) -> None:
        self._offering.pause(task, time)


class _AdvertisedState(NamedTuple):
    """What a neighbour was told: when, how long one waits for a host, of how many other domains."""

    time: float
    free: float
    domains: int

    def differs(self, other: _AdvertisedState) -> bool:
        apart = abs(self.free - other.free) > _CHANGED_SHARE * max(self.free, other.free, 1.0)
        return apart or self.domains != other.domains


def _mean_wait(service: AdvertisedService) -> float:
    """Return how long one waits for a host of this service on average, in seconds."""
    times = [time for host_class in service.classes for time in host_class.times()]
    return sum(times) / len(times) if times else math.inf
