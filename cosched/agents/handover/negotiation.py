"""Negotiations look for a better place for tasks that will be late here.

    late here -> Request -> Offer, Decline -> Reserve with the best -> Reserved -> `outgoing.py`
All volatile: until a place is kept nothing is promised, and the task may start here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from cosched.agents.discovery.candidates import Negotiation, find_candidates, most_promising, upper_candidates
from cosched.agents.protocol.messages import Fenced, Request, Reserve
from cosched.agents.protocol.round_trip import UNHURRIED_FACTOR
from cosched.coscheduler.events import CancelRequested, OfferEnded

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.agents.agent_settings import AgentSettings, Peer
    from cosched.agents.discovery.capability_tables import CapabilityTables
    from cosched.agents.domain_view import DomainView
    from cosched.agents.handover.outgoing import OutgoingHandovers
    from cosched.agents.outbox import AgentOutbox
    from cosched.agents.protocol.messages import Decline, Offer, Refused, Reserved
    from cosched.agents.protocol.round_trip import RoundTripTimes
    from cosched.agents.tickets import TaskKnowledge, TicketIssuer
    from cosched.coscheduler.task import Task

__all__ = ["FailedNegotiation", "Negotiator"]

_REQUEST, _RESERVE = "request", "reserve"  # questions whose answers are awaited
_MAX_TURNS = 3  # times that a kept place is given up for a better offer
_MAX_NEGOTIATIONS = 64  # tasks that are offered around at once


class FailedNegotiation(NamedTuple):
    """What has come of offering a task around.

    Attributes:
        again: when it is offered again, epoch seconds.
        tries: how often nobody did better.
        answers: why each of those that were asked the last time does not have it, for people.
    """

    again: float
    tries: int
    answers: tuple[str, ...] = ()


class Negotiator:
    """Offers tasks around."""

    def __init__(
        self,
        settings: AgentSettings,
        effects: AgentOutbox,
        tables: CapabilityTables,
        knowledge: TaskKnowledge,
        domain: DomainView,
        registry: TicketIssuer,
        handing: OutgoingHandovers,
        promptness: RoundTripTimes,
        peers: Callable[[], dict[str, Peer]],
    ) -> None:
        """Set up.

        Args:
            settings: of the agent.
            effects: where everything that changes goes.
            tables: what is known of services.
            knowledge: how long tasks take elsewhere.
            domain: our own.
            registry: issues papers.
            handing: takes over once a place is kept.
            promptness: how long neighbours take to answer.
            peers: returns the neighbours that may be offered something.
        """
        self._settings = settings
        self._effects = effects
        self._tables = tables
        self._knowledge = knowledge
        self._domain = domain
        self._registry = registry
        self._handing = handing
        self._promptness = promptness
        self._peers = peers
        self._talks: dict[str, Negotiation] = {}
        self._by_uuid: dict[str, str] = {}  # UUID → task
        self._vain: dict[str, FailedNegotiation] = {}  # by task
        self._looked = -math.inf

    @property
    def eager(self) -> bool:
        """Whether our own tasks that will be in time here are offered, too."""
        return self._settings.sooner < 1.0

    def look(self, time: float) -> None:
        """Offer what should rather run elsewhere; give up on answers that do not come."""
        for task in self._domain.transit():  # of a former life; first its neighbours have to say what they offer
            if self._vain.setdefault(task.id, FailedNegotiation(time + self._settings.patience, 0)).again <= time:
                self.offer_on(task, time)
        for talk in list(self._talks.values()):
            if self._is_overdue(talk, time):
                self._overdue(talk, time)
        if time < self._looked + self._settings.look or not self._peers():
            return
        self._looked = time
        for waiting in self._domain.expected(time):
            if len(self._talks) >= _MAX_NEGOTIATIONS:
                break
            task = waiting.task
            leaves = waiting.late or (self.eager and not task.origin)
            if (
                leaves
                and task.id not in self._talks
                and self._vain.get(task.id, FailedNegotiation(0.0, 0)).again <= time
            ):
                self._offer_around(task, waiting.end, time)

    def offer(self, name: str, here: float, time: float) -> None:
        """Offer a task at once that would leave now and end `here` (epoch seconds)."""
        task, talk = self._domain.task(name), self._talks.get(name)
        if talk is not None:
            if talk.left is None:
                talk.left = talk.since = time
        elif task is not None:
            self._offer_around(task, here, time, left=time)

    def offer_on(self, task: Task, time: float) -> None:
        """Offer a task that is in transit."""
        if task.id not in self._talks:
            self._offer_around(task, math.inf, time)

    def forget(self, task: str) -> None:
        """A task has left the queue by another way, or has ended."""
        self._end(task)
        self._vain.pop(task, None)

    def pause(self, task: str, time: float, answers: tuple[str, ...] = ()) -> None:
        """Do not offer a task for a while: longer each time, and for half the time to its deadline at most."""
        tries = self._vain.get(task, FailedNegotiation(0.0, 0)).tries
        pause = min(self._settings.again * 2.0 ** min(tries, 20), self._settings.again_longest)
        self._vain[task] = FailedNegotiation(time + min(pause, self._while_in_time(task, time)), tries + 1, answers)

    def in_vain(self, task: str) -> FailedNegotiation | None:
        """Return what has come of offering a task around; None where that has not been in vain once."""
        return self._vain.get(task)

    def offered(self, peer: str, offer: Offer, time: float) -> None:
        """Take an offer; the last one that is awaited decides."""
        self._promptness.answer(peer, _REQUEST, offer.task, offer.epoch, time)
        self._answered(peer, offer.task, offer.epoch, (time + offer.end, offer.where), time)

    def declined(self, peer: str, decline: Decline, time: float) -> None:
        """Take the refusal to make an offer."""
        self._promptness.answer(peer, _REQUEST, decline.task, decline.epoch, time)
        talk = self._talk(peer, decline.task, decline.epoch)
        if talk is not None:
            talk.refusals[peer] = decline.reason
        self._answered(peer, decline.task, decline.epoch, (math.inf, peer), time)

    def refused(self, peer: str, word: Refused, time: float) -> None:
        """A place is not kept: try the next best."""
        self._promptness.answer(peer, _RESERVE, word.task, word.epoch, time)
        talk = self._talk(peer, word.task, word.epoch)
        if talk is not None and talk.reserving == peer:
            talk.refusals[peer] = word.reason
            self._next(talk, time)

    def reserved(self, peer: str, word: Reserved, time: float) -> None:
        """A place is kept: hand the task over if that is still worth it."""
        self._promptness.answer(peer, _RESERVE, word.task, word.epoch, time)
        talk = self._talk(peer, word.task, word.epoch)
        if talk is None or talk.reserving != peer:
            return
        end = time + word.end
        talk.offers[peer] = (end, talk.offers[peer][1])
        self._renew(talk, time)
        others = min((promised for other, (promised, _) in talk.offers.items() if other != peer), default=math.inf)
        if end > talk.limit:
            self._effects.send(peer, Fenced(word.task, word.epoch))
            talk.refusals[peer] = "by now it would end too late there"
            self._next(talk, time)
            return
        if others < end - self._settings.gain and talk.turns < _MAX_TURNS:
            talk.turns += 1  # others have been faster there since the offer
            self._effects.send(peer, Fenced(word.task, word.epoch))
            self._choose(talk, time)
            return
        self._end(talk.task)
        if self._domain.waits(talk.task):
            candidate = talk.asked[peer]
            misjudged = None
            if candidate.estimate is not None:
                self._tables.debit(candidate.domain, candidate.estimate)
                misjudged = abs(end - (talk.began + candidate.end))
            self._effects.statistics.forward(candidate.age, misjudged)
            self._handing.begin(talk, peer, time)

    def _while_in_time(self, name: str, time: float) -> float:
        """Return for how long a task may be kept back, seconds: as a deadline comes nearer it is offered more often."""
        task = self._domain.task(name)
        if task is None or task.deadline is None or task.deadline <= time:
            return math.inf
        return max((task.deadline - time) / 2, self._settings.look)

    def _offer_around(self, task: Task, here: float, time: float, left: float | None = None) -> None:
        papers = self._registry.papers(task)
        asked = []
        limit = self._limit(here, task.deadline, time)
        if papers is not None:
            excluded = {*papers.visited, *self._handing.shunned(task.id)}
            peers = self._peers()
            found = find_candidates(self._tables, peers, self._knowledge, papers.document, excluded, time)
            asked = most_promising(found, limit - time, self._settings.fanout)
            if left is not None and here <= papers.document.deadline:
                asked = [one for one in asked if self._promptness.patience((one.peer,)) <= self._settings.patience]
            if here > papers.document.deadline:
                asked += upper_candidates(asked, peers, excluded, papers.document.deadline - time)
        if papers is None or not asked:
            self._in_vain(task.id, time)
            return
        epoch = self._handing.next_epoch(papers.uuid)
        self._effects.statistics.offered += 1
        self._talks[task.id] = Negotiation(
            task.id, papers, epoch, here, limit, time, {one.peer: one for one in asked}, began=time, left=left
        )
        self._by_uuid[papers.uuid] = task.id
        request = Request(papers.uuid, epoch, papers.hops, papers.visited, papers.sent(time))
        for candidate in asked:
            self._promptness.ask(candidate.peer, _REQUEST, papers.uuid, epoch, time)
            self._effects.send(candidate.peer, request)

    def _limit(self, here: float, deadline: float | None, time: float) -> float:
        """Return by when a task must end elsewhere to be worth moving: in time, or clearly less late than `here`.

        One that will be in time here must end sooner by a share of what it has left until then.
        """
        if deadline is None or here > deadline:
            return max(here - self._settings.gain, deadline or 0.0)
        return here - max(self._settings.sooner * (here - time), self._settings.gain)

    def _answered(self, peer: str, uuid: str, epoch: int, offer: tuple[float, str], time: float) -> None:
        talk = self._talk(peer, uuid, epoch)
        if talk is not None and not talk.reserving:
            talk.offers[peer] = offer
            if len(talk.offers) == len(talk.asked):
                self._choose(talk, time)

    def _renew(self, talk: Negotiation, time: float) -> None:
        """See the limit of a talk that has taken its time from now on: that time is lost for the task here as well."""
        if time <= talk.began + self._settings.gain:
            return
        here = talk.here if talk.left is None else talk.here + time - talk.left
        talk.limit = self._limit(here, talk.deadline, time)

    def _choose(self, talk: Negotiation, time: float) -> None:
        self._renew(talk, time)
        talk.reserving = talk.choice(self._settings.gain)
        talk.since = time
        if talk.reserving:
            self._promptness.ask(talk.reserving, _RESERVE, talk.papers.uuid, talk.epoch, time)
            self._effects.send(talk.reserving, Reserve(talk.papers.uuid, talk.epoch))
        else:
            self._end(talk.task)
            self._effects.statistics.in_vain += 1
            self._in_vain(talk.task, time, talk.unfit())

    def _in_vain(self, name: str, time: float, answers: tuple[str, ...] = ()) -> None:
        task = self._domain.task(name)
        if task is not None and task.in_transit:
            said = f" ({'; '.join(answers)})" if answers else ""
            reason = f"{self._settings.name} knows nobody that takes it{said}"
            self._effects.tell(CancelRequested(time, name, reason))
            return
        self.pause(name, time, answers)
        self._effects.tell(OfferEnded(time, name))

    def _next(self, talk: Negotiation, time: float) -> None:
        talk.offers.pop(talk.reserving, None)
        self._choose(talk, time)

    def _is_overdue(self, talk: Negotiation, time: float) -> bool:
        """Whether to go on without the answers that have not come.

        A task that waits for hosts anyway loses nothing by waiting for a slow neighbour's word where it has no better.
        """
        waited = time - talk.since
        if waited < self._settings.patience:
            return False
        idle = talk.left is not None
        if not talk.reserving and (talk.choice(self._settings.gain) or (idle and talk.here <= talk.deadline)):
            return True  # what will be in time here loses more by waiting than it can win
        silent = {talk.reserving} if talk.reserving else talk.asked.keys() - talk.offers.keys()
        patience = self._promptness.patience(silent)
        return waited >= (patience if idle else max(patience, UNHURRIED_FACTOR * self._settings.patience))

    def _overdue(self, talk: Negotiation, time: float) -> None:
        if talk.reserving:
            self._next(talk, time)
        else:
            self._choose(talk, time)

    def _talk(self, peer: str, uuid: str, epoch: int) -> Negotiation | None:
        talk = self._talks.get(self._by_uuid.get(uuid, ""))
        return talk if talk is not None and talk.epoch == epoch and peer in talk.asked else None

    def _end(self, task: str) -> None:
        talk = self._talks.pop(task, None)
        if talk is not None:
            self._by_uuid.pop(talk.papers.uuid, None)
