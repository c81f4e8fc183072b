"""Bids answer neighbours' requests with a place here or further on. Start at `Bidder.request`.

Request -> in time here, or further on by the tables -> Offer -> Reserve -> Reserved -> Commit (`incoming.py`)
neither: `ServiceDiscovery` forwards it one step (as in ARMS) -> Offer, Decline
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cosched.agents.protocol.advertisement import FARTHEST
from cosched.agents.protocol.letters import Decline, Offer, Refused, Request, Reserved
from cosched.agents.protocol.round_trip import UNHURRIED_FACTOR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.agents.context import AgentContext
    from cosched.agents.discovery.candidates import Candidate, CandidateFinder
    from cosched.agents.protocol.letters import Commit, Fenced, Reserve
    from cosched.coscheduler.task import Task

__all__ = ["DISCOVERY_EPOCH", "Bid", "Bidder", "ServiceDiscovery"]

DISCOVERY_EPOCH = 0
"""Epoch of a request that no hand-over follows."""

_MAX_FORWARDED = 64  # requests that are forwarded at once


@dataclass(frozen=True, slots=True)
class Bid:
    """A domain where a task could run, and its end there.

    `end` is epoch seconds, infinite where the task cannot run for `reason`.
    """

    end: float
    where: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _OpenBid:
    """A bid that is open until a time, as an offer or a kept place.

    It has no task where none can run here.
    """

    epoch: int
    task: Task | None
    bid: Bid
    until: float
    kept: bool = False


@dataclass(slots=True)
class _ForwardedRequest:
    """A neighbour's request that other neighbours were asked about.

    Attributes:
        peer: the neighbour that asked us.
        request: the request as received.
        task: that it describes; None: it cannot run here.
        best: the best bid so far.
        until: when that is answered at the latest, epoch seconds.
        awaited: neighbours that have not answered.
    """

    peer: str
    request: Request
    task: Task | None
    best: Bid
    until: float = math.inf
    awaited: set[str] = field(default_factory=set)


class Bidder:
    """Offer places to neighbours and keep the reserved ones; none survives a restart."""

    def __init__(self, context: AgentContext, finder: CandidateFinder) -> None:
        """Set up.

        Args:
            context: context of the agent.
            finder: finds domains further on.
        """
        self._settings = context.settings
        self._outcome = context.outcome
        self._domain = context.domain
        self._finder = finder
        self._open_bids: dict[tuple[str, str], _OpenBid] = {}  # by neighbour and UUID
        self._discovery = ServiceDiscovery(context, finder)

    def booked(self, time: float) -> list[Task]:
        """Return the tasks for which places are kept here."""
        return [
            one.task
            for one in self._open_bids.values()
            if one.kept and one.until > time and one.bid.where == self._settings.name and one.task is not None
        ]

    def request(self, peer: str, request: Request, task: Task | None, fault: str, time: float) -> None:
        """Offer an end here or further on; if neither is in time, ask other neighbours."""
        objection = self.objection(peer, request.visited)
        if objection:
            self._outcome.send(peer, Decline(request.task, request.epoch, objection))
            return
        best, deadline = self._bid_here(task, fault, time), time + request.document.deadline
        if best.end > deadline and request.hops:
            excluded = {*request.visited, self._settings.name, peer}
            candidates = self._finder.candidates(request.document, excluded, time)
            if candidates and time + candidates[0].end < best.end - self._settings.least_gain:
                best = Bid(time + candidates[0].end, candidates[0].domain)
            forwarded = _ForwardedRequest(peer, request, task, best)
            if best.end > deadline and self._discovery.forward(forwarded, candidates, time):
                return  # answered once the others have answered
        self._answer(peer, request, task, best, time)

    def offered(self, peer: str, offer: Offer, time: float) -> None:
        """Take the offer of a neighbour that a request was forwarded to."""
        self._answer_all(self._discovery.offered(peer, offer, time), time)

    def declined(self, peer: str, decline: Decline, time: float) -> None:
        """Take the refusal of a neighbour that a request was forwarded to."""
        self._answer_all(self._discovery.declined(peer, decline), time)

    def reserve(self, peer: str, reserve: Reserve, time: float) -> None:
        """Keep an offered place, as it is now."""
        key = (peer, reserve.task)
        found = self._open_bids.get(key)
        if found is None or found.epoch != reserve.epoch or found.until <= time:
            self._outcome.send(peer, Refused(reserve.task, reserve.epoch, "no such offer, or it has expired"))
            return
        end = found.bid.end
        if found.bid.where == self._settings.name and found.task is not None:
            end = self._domain.place(found.task, time, self.booked(time))
        if math.isinf(end):
            self._outcome.send(peer, Refused(reserve.task, reserve.epoch, "its hosts have gone down"))
            return
        self._open_bids[key] = replace(found, until=time + self._settings.hold, kept=True)
        self._outcome.send(peer, Reserved(reserve.task, reserve.epoch, min(end - time, FARTHEST), self._settings.hold))

    def fenced(self, peer: str, fenced: Fenced) -> None:
        """Give up a kept place; its offer stays open.

        The neighbour that is tried next may refuse, and this one may be asked again.
        """
        key = (peer, fenced.task)
        found = self._open_bids.get(key)
        if found is not None and found.epoch == fenced.epoch:
            self._open_bids[key] = replace(found, kept=False)

    def redeem(self, peer: str, commit: Commit, time: float) -> Bid | None:
        """Return and drop the kept bid of an arriving task, or None."""
        found = self._open_bids.pop((peer, commit.task), None)
        return found.bid if found is not None and found.kept and found.until > time else None

    def objection(self, peer: str, visited: tuple[str, ...]) -> str:
        """Return why a task with this route is refused to a neighbour; empty if taken."""
        if not self._finder.is_usable(peer):
            return f"{self._settings.name} takes nothing from {peer} now"
        return f"it has been in {self._settings.name}" if self._settings.name in visited else ""

    def tick(self, time: float) -> None:
        """Drop expired bids; answer forwarded requests whose time is up."""
        self._open_bids = {key: one for key, one in self._open_bids.items() if one.until > time}
        self._answer_all(self._discovery.expired(time), time)

    def _bid_here(self, task: Task | None, fault: str, time: float) -> Bid:
        if task is None or fault:
            return Bid(math.inf, self._settings.name, fault or "it cannot be run here")
        return Bid(self._domain.place(task, time, self.booked(time)), self._settings.name, "no place for it")

    def _answer_all(self, concluded: Sequence[_ForwardedRequest], time: float) -> None:
        for one in concluded:
            self._answer(one.peer, one.request, one.task, one.best, time)

    def _answer(self, peer: str, request: Request, task: Task | None, bid: Bid, time: float) -> None:
        if math.isinf(bid.end):
            self._outcome.send(peer, Decline(request.task, request.epoch, bid.reason))
            return
        if request.epoch != DISCOVERY_EPOCH:
            self._open_bids[peer, request.task] = _OpenBid(request.epoch, task, bid, time + self._settings.hold)
        self._outcome.send(peer, Offer(request.task, request.epoch, min(bid.end - time, FARTHEST), bid.where))


class ServiceDiscovery:
    """Forwards requests one step and collects the answers, as ARMS discovers services.

    A request goes to the most promising neighbour whose run times are not known here, and to the upper agent; each of
    them may forward it in turn. Domains that have had a request do not get it again, and it goes no further than its
    hops. Nothing survives a restart; no place is kept by it, and a task that comes then is negotiated as any other.
    """

    def __init__(self, context: AgentContext, finder: CandidateFinder) -> None:
        """Set up.

        Args:
            context: context of the agent.
            finder: knows the upper agents.
        """
        self._context = context
        self._settings = context.settings
        self._finder = finder
        self._forwarded: dict[tuple[str, str], _ForwardedRequest] = {}  # by the asking neighbour and UUID

    def forward(self, forwarded: _ForwardedRequest, candidates: Sequence[Candidate], time: float) -> bool:
        """Forward a request, to be answered later; return False where there is nobody to ask.

        Args:
            forwarded: the request with the best bid known here.
            candidates: the most promising first.
            time: now, epoch seconds.
        """
        request = forwarded.request
        key = (forwarded.peer, request.task)
        receivers = self._receivers(forwarded, candidates)
        if not receivers or (len(self._forwarded) >= _MAX_FORWARDED and key not in self._forwarded):
            return False
        # The asking agent waits this long for a task that waits anyway. We must answer before that, and those that we
        # ask must answer before us.
        timeout = UNHURRIED_FACTOR * self._context.round_trips.timeout(receivers)
        timeout = min(timeout, self._settings.longest_timeout) / (1 + len(request.visited))
        forwarded.until, forwarded.awaited = time + timeout, set(receivers)
        self._forwarded[key] = forwarded
        visited = (*request.visited, self._settings.name)
        for name in receivers:
            onward = Request(request.task, DISCOVERY_EPOCH, request.hops - 1, visited, request.document)
            self._context.ask(name, onward, time)
        return True

    def offered(self, peer: str, offer: Offer, time: float) -> list[_ForwardedRequest]:
        """Take an offer; return the requests that are answered by it."""
        if offer.epoch != DISCOVERY_EPOCH:
            return []
        return self._answered(peer, offer.task, time + offer.end, offer.where)

    def declined(self, peer: str, decline: Decline) -> list[_ForwardedRequest]:
        """Take a refusal; return the requests that are answered by it."""
        if decline.epoch != DISCOVERY_EPOCH:
            return []
        return self._answered(peer, decline.task, math.inf, peer)

    def expired(self, time: float) -> list[_ForwardedRequest]:
        """Return the overdue requests; they are answered with the best bid so far."""
        return self._conclude([key for key, one in self._forwarded.items() if time >= one.until])

    def _receivers(self, forwarded: _ForwardedRequest, candidates: Sequence[Candidate]) -> list[str]:
        """Return the first neighbour without known run times, and the upper one."""
        found = self._finder.upper_agents({forwarded.peer, *forwarded.request.visited})
        upper = [one.peer for one in found]
        unknown = [one.peer for one in candidates if one.estimate is None and one.peer not in upper]
        return [*unknown[:1], *upper]

    def _answered(self, peer: str, uuid: str, end: float, where: str) -> list[_ForwardedRequest]:
        finished = []
        for key, one in self._forwarded.items():
            if key[1] != uuid or peer not in one.awaited:
                continue
            one.awaited.discard(peer)
            if end < one.best.end - self._settings.least_gain:
                one.best = replace(one.best, end=end, where=where)
            if not one.awaited:
                finished.append(key)
        return self._conclude(finished)

    def _conclude(self, keys: Sequence[tuple[str, str]]) -> list[_ForwardedRequest]:
        return [self._forwarded.pop(key) for key in keys]
