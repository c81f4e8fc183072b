"""The agent of one domain: events in; records, events for the core and letters out.

No clock, no I/O, no randomness. Start reading at `Agent.received` and `Agent.tick`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.agents.agent_outcome import AgentOutcome
from cosched.agents.context import AgentContext
from cosched.agents.discovery.advertiser import Advertiser
from cosched.agents.discovery.bidding import Bidder
from cosched.agents.discovery.candidates import CandidateFinder
from cosched.agents.discovery.capability_tables import CapabilityTables
from cosched.agents.handover.incoming import IncomingHandovers
from cosched.agents.handover.negotiator import Negotiator
from cosched.agents.handover.outgoing import OutgoingHandovers
from cosched.agents.letter_sequence import LetterSequence
from cosched.agents.protocol.letters import (
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
    from collections.abc import Iterable, Mapping

    from cosched.agents.agent_settings import AdvertisingSettings, AgentSettings, Peer
    from cosched.agents.discovery.capability_tables import CapabilityEntry
    from cosched.agents.domain_view import DomainView
    from cosched.agents.events import LetterReceived, PeersChanged
    from cosched.agents.handover.negotiation import FailedNegotiation
    from cosched.agents.protocol.advertisement import AdvertisedService
    from cosched.agents.protocol.letters import Letter
    from cosched.agents.statistics import AgentFigures
    from cosched.agents.tickets import TaskKnowledge
    from cosched.coscheduler.handovers import Guest, Handover
    from cosched.coscheduler.task import Task

__all__ = ["Agent"]


class Agent:
    """Advertises its domain, offers late tasks around, and takes in tasks of other domains.

    Attributes:
        peers: the neighbours by name.
        tables: advertised services.
        last_heard: neighbour → when its last letter came, epoch seconds.
    """

    def __init__(self, settings: AgentSettings, domain: DomainView, knowledge: TaskKnowledge, life: int) -> None:
        """Set up.

        Args:
            settings: the administrator's settings.
            domain: our own.
            knowledge: describes tasks and knows how long they take elsewhere.
            life: number of this life, greater than that of any before it.
        """
        self.peers: dict[str, Peer] = {}
        self.last_heard: dict[str, float] = {}
        self._life = life
        self._links: dict[str, LetterSequence] = {}
        self._outcome = AgentOutcome(self._links)
        self._domain = domain
        self._knowledge = knowledge
        self._begun = 0.0
        self._begin(settings)

    def _begin(self, settings: AgentSettings) -> None:
        """Begin anew: nothing is known of services, negotiations and hand-overs."""
        domain, knowledge = self._domain, self._knowledge
        self.tables = CapabilityTables(settings.advertising.lifetime)
        self._round_trips = RoundTripTimes(settings.timeout, settings.longest_timeout)
        self._context = AgentContext(settings, domain, self._outcome, self._round_trips)
        finder = CandidateFinder(self.tables, knowledge, self.usable)
        self._bidder = Bidder(self._context, finder)
        self._advertiser = Advertiser(self._context, self.tables, self._bidder)
        self._incoming = IncomingHandovers(self._context, self._bidder)
        tickets = TicketIssuer(settings, knowledge, domain, self._incoming.guest_of)
        self._outgoing = OutgoingHandovers(self._context, tickets)
        self._negotiator = Negotiator(self._context, finder, tickets, self._outgoing)
        self._last_poll = -math.inf

    @property
    def settings(self) -> AgentSettings:
        """The settings in force, with the advertising as it has changed."""
        return replace(self._context.settings, advertising=self._advertiser.advertising)

    @property
    def eager(self) -> bool:
        """Return whether neighbours are asked for tasks that will be in time here, too."""
        return self._negotiator.eager

    def usable(self) -> dict[str, Peer]:
        """Return the neighbours with which new tasks may be exchanged."""
        return {name: peer for name, peer in self.peers.items() if not peer.paused}

    def service(self, time: float) -> AdvertisedService:
        """Return our own service as it is now."""
        return self._advertiser.service(time)

    def entries(self, time: float) -> list[CapabilityEntry]:
        """Return the services of other domains that are known now."""
        return self.tables.entries(time)

    def figures(self) -> AgentFigures:
        """Return the statistics of this life."""
        return self._outcome.statistics.figures(self._begun)

    def forecast(self, task: str) -> float | None:
        """Return when the domain that has a task of ours expects it to end, epoch seconds; None if unknown."""
        return self._outgoing.forecasts.get(task)

    def failed_negotiation(self, task: str) -> FailedNegotiation | None:
        """Return the last failed negotiation about a task that has stayed, or None."""
        return self._negotiator.failed_negotiation(task)

    def begin(self) -> AgentOutcome:
        """Begin with an event and return the outcome that collects what it makes."""
        self._outcome.begin()
        return self._outcome

    def restore(
        self,
        handovers: Iterable[Handover],
        guests: Iterable[Guest],
        ended: Mapping[str, Task],
        time: float,
        life: int = 0,
    ) -> None:
        """Take up the records of a former life.

        Args:
            handovers: all hand-overs of live tasks, ended ones too.
            guests: unsettled ones.
            ended: tasks of guests that have ended, by identifier.
            time: now, epoch seconds.
            life: number of a life that begins now, greater than that of any before it; 0: this one goes on.
        """
        if life:
            self._begin(self.settings)
            self._live_again(life, time)
        self._outgoing.restore(handovers, time)
        self._incoming.restore(guests, ended, time)

    def _live_again(self, life: int, time: float) -> None:
        """Tell the neighbours of a new life; letters of the former one are void.

        So are letters to it.
        """
        self._life = life
        former = dict(self._links)
        self._links.clear()
        for name in self.peers:
            link = self._links[name] = LetterSequence(self._context.settings.name, name, life)
            if name in former:
                link.life = former[name].life
            self._advertiser.inquire(name, time)

    def refuse(self, letter: Letter, reason: str) -> None:
        """Answer a letter that could not be handled, if it needs an answer."""
        match letter.body:
            case Request(task=task, epoch=epoch):
                self._outcome.send(letter.sender, Decline(task, epoch, reason))
            case Reserve(task=task, epoch=epoch):
                self._outcome.send(letter.sender, Refused(task, epoch, reason))
            case Commit(task=task, epoch=epoch) if not self._incoming.holds(letter.sender, task):
                self._outcome.send(letter.sender, Refused(task, epoch, reason))

    def advertise_by(self, advertising: AdvertisingSettings) -> None:
        """Advertise in this way from now on."""
        self._advertiser.set_advertising(advertising)

    def peers_changed(self, event: PeersChanged) -> None:
        """Take the list of neighbours; hand-overs to a removed one end by their lease."""
        self.peers = {peer.name: peer for peer in event.peers if peer.name != self._context.settings.name}
        self._begun = self._begun or event.time
        for name in list(self._links):
            if name not in self.peers:
                del self._links[name]
                self.tables.forget(name)
                self._round_trips.forget(name)
        for name in self.peers:
            if name not in self._links:
                self._links[name] = LetterSequence(self._context.settings.name, name, self._life)
                self._advertiser.inquire(name, event.time)

    def received(self, event: LetterReceived) -> None:
        """Handle a new letter from a neighbour to this life."""
        letter, time = event.letter, event.time
        link = self._links.get(letter.sender)
        if link is None or letter.receiver != self._context.settings.name:
            return
        if not link.take(letter):
            if letter.life >= link.life and letter.known != self._life:
                self._advertiser.advertise(self.peers[letter.sender], time)  # it knows us by a former life
            return
        self.last_heard[letter.sender] = time
        if letter.known == self._life:
            self._advertiser.inquiry_reached(letter.sender, time)
        self._outcome.statistics.count_received(letter.body)
        self._read(event, letter.sender, time)

    def _read(self, event: LetterReceived, peer: str, time: float) -> None:  # noqa: C901  a case for each letter
        match event.letter.body:
            case Advertisement() as advertisement:
                self.tables.update(self.peers[peer], advertisement.services, self._context.settings.name, time)
                if event.letter.known != self._life:
                    self._advertiser.advertise(self.peers[peer], time)
            case Inquiry():
                self._advertiser.advertise(self.peers[peer], time)
            case Request() as request:
                self._bidder.request(peer, request, event.task, event.fault, time)
            case Offer() as offer:
                self._context.record_answer(peer, Request, offer, time)
                self._negotiator.offered(peer, offer, time)
                self._bidder.offered(peer, offer, time)
            case Decline() as decline:
                self._context.record_answer(peer, Request, decline, time)
                self._negotiator.declined(peer, decline, time)
                self._bidder.declined(peer, decline, time)
            case Reserve() as reserve:
                self._bidder.reserve(peer, reserve, time)
            case Reserved() as reserved:
                self._context.record_answer(peer, Reserve, reserved, time)
                self._negotiator.reserved(peer, reserved, time)
            case Refused() as refused:
                self._context.record_answer(peer, Reserve, refused, time)
                self._negotiator.refused(peer, refused, time)
                self._pause(self._outgoing.refused(peer, refused, time), time)
            case Commit() as commit:
                self._incoming.commit(peer, commit, event.task, event.fault, time)
            case Accepted() as accepted:
                self._context.record_answer(peer, Commit, accepted, time)
                self._outgoing.accepted(peer, accepted, time)
            case Start() as start:
                self._incoming.ask_start(self._outgoing.start(peer, start, time))
            case Granted() as granted:
                self._outgoing.permitted(self._incoming.granted(peer, granted, time))
            case Fenced() as fenced:
                self._incoming.fenced(peer, fenced, time)
                self._bidder.fenced(peer, fenced)
            case Cancel() as cancel:
                self._incoming.cancel(peer, cancel, time)
            case Report() as report:
                self._pause(self._outgoing.reported(peer, report, time), time)
            case Noted() as noted:
                self._incoming.noted(peer, noted, time)

    def _pause(self, returned: Iterable[str], time: float) -> None:
        """Do not offer tasks that came back again at once."""
        for task in returned:
            self._negotiator.pause(task, time)

    def ask_start(self, task: str, _time: float) -> None:
        """Ask a guest's origin to let it start: the core would run it now."""
        self._incoming.ask_start(task)

    def ask_peers(self, task: str, end: float, time: float) -> None:
        """Offer a task at once: the core would run it now, until `end` (epoch seconds)."""
        self._negotiator.offer(task, end, time)

    def task_changed(self, task: Task, time: float) -> None:
        """Take note that the core has changed a task."""
        self._incoming.task_changed(task, time)
        if not self._context.domain.waits(task.id):
            self._negotiator.forget(task.id)
        if task.status.state.final:
            self._outgoing.ended(task.id)
        elif task.in_transit and task.status.state is TaskState.QUEUED:
            self._negotiator.offer_in_transit(task, time)
        elif task.status.state is TaskState.CANCELLING and task.status.peer:
            self._outgoing.cancel(task.id, task.status.reason, time)

    def task_edited(self, task: Task) -> None:
        """Drop the offers of a task as it was before an edit.

        Late answers to them match nothing.
        """
        self._negotiator.forget(task.id)
        self._outgoing.skip_epoch(task)

    def tick(self, time: float) -> None:
        """Do all that is due by now."""
        self._outgoing.tick(time)
        self._incoming.tick(time)
        self._bidder.tick(time)
        self._negotiator.tick(time)
        if time >= self._last_poll + self._context.settings.poll_interval:
            self._last_poll = time
            self._outgoing.reconsider(time)
            self._advertiser.tick([self.peers[name] for name in self._links], self.last_heard, time)
