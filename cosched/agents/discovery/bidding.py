"""Bids answer neighbours' requests: a place here, further on, or found by discovery.

Request -> in time here, or further on by the tables -> Offer -> Reserve -> Reserved -> Commit (`incoming.py`)
neither: `ServiceDiscovery` passes it on one step (as in ARMS) -> Offer, Decline
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cosched.agents.agent_settings import PeerRole
from cosched.agents.discovery.candidates import find_candidates
from cosched.agents.protocol.messages import Decline, Offer, Refused, Request, Reserved
from cosched.agents.protocol.round_trip import UNHURRIED_FACTOR

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.agents.agent_settings import AgentSettings, Peer
    from cosched.agents.discovery.candidates import Candidate
    from cosched.agents.discovery.capability_tables import CapabilityTables
    from cosched.agents.domain_view import DomainView
    from cosched.agents.outbox import AgentOutbox
    from cosched.agents.protocol.messages import Commit, Fenced, Reserve
    from cosched.agents.protocol.round_trip import RoundTripTimes
    from cosched.agents.tickets import TaskKnowledge
    from cosched.coscheduler.task import Task

__all__ = ["DISCOVERY_EPOCH", "Bid", "Bidder", "ServiceDiscovery"]

# ── What neighbours may expect of us: places for their tasks, here or further on, and places that are kept.
#
#     Request ─► in time here, or further on by the tables ─► Offer ─► Reserve ─► Reserved ─► Commit (`hosting.py`)
#         └─ neither: passed on (`passing.py`) ─► Offer, Decline
#
# Who cannot run a task may offer a place further on all the same: the task is then taken in and handed on.


@dataclass(frozen=True, slots=True)
class Bid:
    """Where a task could run and when it would end there, epoch seconds; infinite: nowhere, for this reason."""

    end: float
    where: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _OpenBid:
    """A place that was offered, or is kept where `kept`, until a time. No task: it cannot run here."""

    epoch: int
    task: Task | None
    place: Bid
    until: float
    kept: bool = False


class Bidder:
    """Offers places and keeps them. Volatile, all of it.

    Attributes:
        passing: requests that were passed on.
    """

    def __init__(
        self,
        settings: AgentSettings,
        effects: AgentOutbox,
        tables: CapabilityTables,
        knowledge: TaskKnowledge,
        domain: DomainView,
        promptness: RoundTripTimes,
        peers: Callable[[], dict[str, Peer]],
    ) -> None:
        """Set up.

        Args:
            settings: of the agent.
            effects: where everything that changes goes.
            tables: what is known of services, to offer what others could do.
            knowledge: how long tasks take elsewhere.
            domain: our own.
            promptness: how long neighbours take to answer.
            peers: returns the neighbours from which something is taken.
        """
        self._settings = settings
        self._effects = effects
        self._tables = tables
        self._knowledge = knowledge
        self._domain = domain
        self._peers = peers
        self._quotes: dict[tuple[str, str], _OpenBid] = {}  # by neighbour and UUID
        self.passing = ServiceDiscovery(settings, effects, promptness, self._answer)

    def booked(self, time: float) -> list[Task]:
        """Return the tasks for which places are kept here."""
        own = self._settings.name
        return [
            q.task
            for q in self._quotes.values()
            if q.kept and q.until > time and q.place.where == own and q.task is not None
        ]

    def request(self, peer: str, word: Request, task: Task | None, fault: str, time: float) -> None:
        """Say when a task could end here, or further on; where that is not known, ask on."""
        objection = self.objection(peer, word.visited)
        if objection:
            self._effects.send(peer, Decline(word.task, word.epoch, objection))
            return
        best, deadline = self._here(task, fault, time), time + word.document.deadline
        if best.end > deadline and word.hops:
            excluded = {*word.visited, self._settings.name, peer}
            found = find_candidates(self._tables, self._peers(), self._knowledge, word.document, excluded, time)
            if found and time + found[0].end < best.end - self._settings.gain:
                best = Bid(time + found[0].end, found[0].domain)
            if best.end > deadline and self.passing.ask(peer, word, task, best, found, self._peers(), time):
                return  # it answers when it has been answered
        self._answer(peer, word, task, best, time)

    def reserve(self, peer: str, word: Reserve, time: float) -> None:
        """Keep an offered place, as it is now."""
        quote = self._quotes.get((peer, word.task))
        if quote is None or quote.epoch != word.epoch or quote.until <= time:
            self._effects.send(peer, Refused(word.task, word.epoch, "no such offer, or it has expired"))
            return
        end = quote.place.end
        if quote.place.where == self._settings.name and quote.task is not None:
            end = self._domain.place(quote.task, time, self.booked(time))
        if math.isinf(end):
            self._effects.send(peer, Refused(word.task, word.epoch, "its hosts have gone down"))
            return
        self._quotes[peer, word.task] = replace(quote, until=time + self._settings.hold, kept=True)
        self._effects.send(peer, Reserved(word.task, word.epoch, end - time, self._settings.hold))

    def redeem(self, peer: str, word: Commit, time: float) -> Bid | None:
        """Return the place that was kept for a task that comes now, which is then kept no more; None for none."""
        quote = self._quotes.pop((peer, word.task), None)
        return quote.place if quote is not None and quote.kept and quote.until > time else None

    def fenced(self, peer: str, word: Fenced, _time: float) -> None:
        """A place need not be kept; it is offered still, for the other one that is tried may be refused."""
        quote = self._quotes.get((peer, word.task))
        if quote is not None and quote.epoch == word.epoch:
            self._quotes[peer, word.task] = replace(quote, kept=False)

    def tick(self, time: float) -> None:
        """Forget what has expired; answer for those who do not."""
        self._quotes = {key: quote for key, quote in self._quotes.items() if quote.until > time}
        self.passing.tick(time)

    def objection(self, peer: str, visited: tuple[str, ...]) -> str:
        """Return why nothing is taken from a neighbour that has been where it says; empty: it is."""
        if peer not in self._peers():
            return f"{self._settings.name} takes nothing from {peer} now"
        return f"it has been in {self._settings.name}" if self._settings.name in visited else ""

    def _here(self, task: Task | None, fault: str, time: float) -> Bid:
        if task is None or fault:
            return Bid(math.inf, self._settings.name, fault or "it cannot be run here")
        return Bid(self._domain.place(task, time, self.booked(time)), self._settings.name, "no place for it")

    def _answer(self, peer: str, word: Request, task: Task | None, place: Bid, time: float) -> None:
        if math.isinf(place.end):
            self._effects.send(peer, Decline(word.task, word.epoch, place.reason))
            return
        if word.epoch != DISCOVERY_EPOCH:
            self._quotes[peer, word.task] = _OpenBid(word.epoch, task, place, time + self._settings.hold)
        self._effects.send(peer, Offer(word.task, word.epoch, place.end - time, place.where))


# ── Requests that we cannot fulfil and nobody that we know, passed on one step (discovery as in ARMS).
#
# They go to the neighbour that could turn out best, of whose times nothing is known here, and to the upper agent; each
# of
# them may pass them on in turn. Domains that have had a request do not get it again, and it goes no further than its
# hops. Volatile: no place is kept by it, and a task that comes then is offered around as any other.


DISCOVERY_EPOCH = 0  # epoch of a request that no hand-over follows
_REQUEST = "request"  # the question whose answer is an offer or a refusal
_MAX_FORWARDED = 64  # requests that are passed on at once


@dataclass(slots=True)
class _ForwardedRequest:
    """A request on its way further on.

    Attributes:
        word: as it came.
        task: what we have made of it; None: it cannot run here.
        best: the best place by what is known now.
        until: when it is answered with that, epoch seconds.
        awaited: neighbours whose answers are.
    """

    word: Request
    task: Task | None
    best: Bid
    until: float
    awaited: set[str] = field(default_factory=set)


class ServiceDiscovery:
    """Passes requests on and answers them with what comes back."""

    def __init__(
        self,
        settings: AgentSettings,
        effects: AgentOutbox,
        promptness: RoundTripTimes,
        answer: Callable[[str, Request, Task | None, Bid, float], None],
    ) -> None:
        """Set up.

        Args:
            settings: of the agent.
            effects: where letters go.
            promptness: how long neighbours take to answer.
            answer: answers a neighbour's request with a place, at a time.
        """
        self._settings = settings
        self._effects = effects
        self._promptness = promptness
        self._answer = answer
        self._passed: dict[tuple[str, str], _ForwardedRequest] = {}  # by who asks and UUID

    def ask(
        self,
        peer: str,
        word: Request,
        task: Task | None,
        known: Bid,
        found: Sequence[Candidate],
        peers: Mapping[str, Peer],
        time: float,
    ) -> bool:
        """Pass a request on, to be answered later.

        Args:
            peer: who asks.
            word: the request.
            task: what we have made of it; None: it cannot run here.
            known: the best place by what is known here.
            found: whom to ask by what is known, the most promising first.
            peers: usable neighbours by name.
            time: now, epoch seconds.

        Returns:
            Whether there is anybody to pass it on to.
        """
        asked = _next_receivers(found, word, peer, peers)
        if not asked or (len(self._passed) >= _MAX_FORWARDED and (peer, word.task) not in self._passed):
            return False
        # Who asks waits so long for a task that waits anyway: we must answer before that, and those after us before us.
        patience = min(UNHURRIED_FACTOR * self._promptness.patience(asked), self._settings.patience_longest)
        patience /= 1 + len(word.visited)
        self._passed[peer, word.task] = _ForwardedRequest(word, task, known, time + patience, set(asked))
        visited = (*word.visited, self._settings.name)
        onward = Request(word.task, DISCOVERY_EPOCH, word.hops - 1, visited, word.document)
        for name in asked:
            self._promptness.ask(name, _REQUEST, word.task, DISCOVERY_EPOCH, time)
            self._effects.send(name, onward)
        return True

    def offered(self, peer: str, word: Offer, time: float) -> None:
        """Somebody further on has a place."""
        if word.epoch == DISCOVERY_EPOCH:
            self._heard(peer, word.task, time + word.end, word.where, time)

    def declined(self, peer: str, word: Decline, time: float) -> None:
        """Somebody further on has none, and knows nobody."""
        if word.epoch == DISCOVERY_EPOCH:
            self._heard(peer, word.task, math.inf, peer, time)

    def tick(self, time: float) -> None:
        """Wait no longer than we may."""
        for key in [key for key, passed in self._passed.items() if time >= passed.until]:
            self._conclude(key, time)

    def _heard(self, peer: str, uuid: str, end: float, where: str, time: float) -> None:
        self._promptness.answer(peer, _REQUEST, uuid, DISCOVERY_EPOCH, time)
        for key, passed in list(self._passed.items()):
            if key[1] != uuid or peer not in passed.awaited:
                continue
            passed.awaited.discard(peer)
            if end < passed.best.end - self._settings.gain:
                passed.best = replace(passed.best, end=end, where=where)
            if not passed.awaited:
                self._conclude(key, time)

    def _conclude(self, key: tuple[str, str], time: float) -> None:
        passed = self._passed.pop(key)
        self._answer(key[0], passed.word, passed.task, passed.best, time)


def _next_receivers(found: Sequence[Candidate], word: Request, peer: str, peers: Mapping[str, Peer]) -> list[str]:
    """Return the first neighbour whose times are not known here, and the upper one."""
    upper = [
        one.name
        for one in peers.values()
        if one.role is PeerRole.UPPER and one.name != peer and one.name not in word.visited
    ]
    unknown = [one.peer for one in found if one.estimate is None and one.peer not in upper]
    return [*unknown[:1], *upper]
