"""The negotiator seeks better places for tasks that will be late here. Start at `Negotiator.tick`.

    late here -> Request -> Offer, Decline -> Reserve with the best -> Reserved -> `outgoing.py`
Nothing of it survives a restart: until a place is kept nothing is promised, and the task may start here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.agents.discovery.candidates import most_promising
from cosched.agents.handover.negotiation import FailedNegotiation, NegotiatedOffer, Negotiation
from cosched.agents.protocol.letters import Fenced, Request, Reserve
from cosched.agents.protocol.round_trip import UNHURRIED_FACTOR
from cosched.coscheduler.events import CancelRequested, OfferEnded

if TYPE_CHECKING:
    from cosched.agents.context import AgentContext
    from cosched.agents.discovery.candidates import Candidate, CandidateFinder
    from cosched.agents.handover.outgoing import OutgoingHandovers
    from cosched.agents.protocol.letters import Decline, Offer, Refused, Reserved
    from cosched.agents.tickets import Ticket, TicketIssuer
    from cosched.coscheduler.task import Task

__all__ = ["Negotiator"]

_MAX_NEGOTIATIONS = 64  # at once
_NO_TICKET = "no letter can describe it, or it may not be passed on"
_NOBODY = "none is known that takes it and is expected to end it sooner"
_NEVER_FAILED = FailedNegotiation(0.0, 0)


class Negotiator:
    """Offers tasks around and hands them over once a place is kept."""

    def __init__(
        self, context: AgentContext, finder: CandidateFinder, tickets: TicketIssuer, outgoing: OutgoingHandovers
    ) -> None:
        """Set up.

        Args:
            context: context of the agent.
            finder: finds the neighbours to ask.
            tickets: issues the tickets of tasks that are offered.
            outgoing: takes over once a place is kept.
        """
        self._context = context
        self._settings = context.settings
        self._outcome = context.outcome
        self._domain = context.domain
        self._finder = finder
        self._tickets = tickets
        self._outgoing = outgoing
        self._negotiations: dict[str, Negotiation] = {}  # by task
        self._by_uuid: dict[str, str] = {}  # UUID → task
        self._failed: dict[str, FailedNegotiation] = {}  # by task
        self._last_poll = -math.inf

    @property
    def eager(self) -> bool:
        """Return whether our own tasks that will be in time here are offered, too."""
        return self._settings.sooner < 1.0

    def tick(self, time: float) -> None:
        """Offer late tasks; go on without answers that are overdue."""
        for task in self._domain.transit():  # of a former life; first neighbours have to advertise
            first = FailedNegotiation(time + self._settings.timeout, 0)
            if self._failed.setdefault(task.id, first).retry_at <= time:
                self.offer_in_transit(task, time)
        for negotiation in list(self._negotiations.values()):
            if self._is_overdue(negotiation, time):
                if negotiation.reserving:
                    negotiation.drop_offer()
                self._choose(negotiation, time)
        if time < self._last_poll + self._settings.poll_interval or not self._finder.has_peers():
            return
        self._last_poll = time
        for waiting in self._domain.expected(time):
            if len(self._negotiations) >= _MAX_NEGOTIATIONS:
                break
            task = waiting.task
            leaves = waiting.late or (self.eager and not task.origin)
            due = self._failed.get(task.id, _NEVER_FAILED).retry_at <= time
            if leaves and due and task.id not in self._negotiations:
                self._begin(task, waiting.end, time)

    def offer(self, name: str, here: float, time: float) -> None:
        """Offer a task at once that would leave now and end `here` (epoch seconds)."""
        task, negotiation = self._domain.task(name), self._negotiations.get(name)
        if negotiation is not None:
            negotiation.leave(time)
        elif task is not None:
            self._begin(task, here, time, left=time)

    def offer_in_transit(self, task: Task, time: float) -> None:
        """Offer a neighbour's task that cannot run here."""
        if task.id not in self._negotiations:
            self._begin(task, math.inf, time)

    def forget(self, task: str) -> None:
        """Drop a task that has left the queue by another way, or has ended."""
        self._end(task)
        self._failed.pop(task, None)

    def pause(self, task: str, time: float, answers: tuple[str, ...] = (), unasked: str = "") -> None:
        """Pause offering a task: longer each time, at most half the time to its deadline."""
        tries = self._failed.get(task, _NEVER_FAILED).tries
        pause = min(self._settings.retry_pause * 2.0 ** min(tries, 20), self._settings.longest_retry_pause)
        retry_at = time + min(pause, self._longest_pause(task, time))
        self._failed[task] = FailedNegotiation(retry_at, tries + 1, answers, unasked)

    def failed_negotiation(self, task: str) -> FailedNegotiation | None:
        """Return the last failed negotiation about a task that has stayed, or None."""
        return self._failed.get(task)

    def offered(self, peer: str, offer: Offer, time: float) -> None:
        """Take an offer; the last answer decides."""
        self._answered(self._find(peer, offer), peer, NegotiatedOffer(time + offer.end, offer.where), time)

    def declined(self, peer: str, decline: Decline, time: float) -> None:
        """Take the refusal to make an offer."""
        negotiation = self._find(peer, decline)
        if negotiation is not None:
            negotiation.refusals[peer] = decline.reason
        self._answered(negotiation, peer, NegotiatedOffer(math.inf, peer), time)

    def refused(self, peer: str, refused: Refused, time: float) -> None:
        """Try the next best: the place is not kept."""
        negotiation = self._find(peer, refused)
        if negotiation is not None and negotiation.reserving == peer:
            negotiation.drop_offer(refused.reason)
            self._choose(negotiation, time)

    def reserved(self, peer: str, reserved: Reserved, time: float) -> None:
        """Hand the task over, if the place that is kept is still worth it."""
        negotiation = self._find(peer, reserved)
        if negotiation is None or negotiation.reserving != peer:
            return
        end = time + reserved.end
        negotiation.offers[peer] = NegotiatedOffer(end, negotiation.offers[peer].where)
        self._renew_limit(negotiation, time)
        if end > negotiation.limit:
            self._outcome.send(peer, Fenced(reserved.task, reserved.epoch))
            negotiation.drop_offer("by now it would end too late there")
            self._choose(negotiation, time)
        elif negotiation.prefers_other(self._settings.least_gain):
            self._outcome.send(peer, Fenced(reserved.task, reserved.epoch))
            self._choose(negotiation, time)
        else:
            self._end(negotiation.task)
            if self._domain.waits(negotiation.task):
                self._hand_over(negotiation, peer, time)

    def _begin(self, task: Task, here: float, time: float, left: float | None = None) -> None:
        ticket = self._tickets.issue(task)
        limit = self._limit(here, task.spec.deadline, time)
        asked = [] if ticket is None else self._to_ask(task, ticket, here, limit, time, leaves=left is not None)
        if ticket is None or not asked:
            self._fail(task.id, time, unasked=_NO_TICKET if ticket is None else _NOBODY)
            return
        epoch = self._outgoing.next_epoch(ticket.uuid)
        self._outcome.statistics.count_offered()
        by_peer = {one.peer: one for one in asked}
        self._negotiations[task.id] = Negotiation(
            task.id, ticket, epoch, here, limit, time, by_peer, began=time, left=left
        )
        self._by_uuid[ticket.uuid] = task.id
        request = Request(ticket.uuid, epoch, ticket.hops, ticket.visited, ticket.document_at(time))
        for candidate in asked:
            self._context.ask(candidate.peer, request, time)

    def _to_ask(
        self, task: Task, ticket: Ticket, here: float, limit: float, time: float, *, leaves: bool
    ) -> list[Candidate]:
        """Return the neighbours to ask about a task.

        For one that `leaves` now and is in time here, only those that answer quickly.
        """
        deadline = ticket.document.deadline
        excluded = {*ticket.visited, *self._outgoing.avoided(task.id)}
        found = self._finder.candidates(ticket.document, excluded, time)
        asked = most_promising(found, limit - time, self._settings.fanout)
        if leaves and here <= deadline:
            return [one for one in asked if self._context.round_trips.timeout((one.peer,)) <= self._settings.timeout]
        if here > deadline and all(one.end > deadline - time for one in asked):
            asked += self._finder.upper_agents({*excluded, *(one.peer for one in asked)})
        return asked

    def _limit(self, here: float, deadline: float | None, time: float) -> float:
        """Return the latest end elsewhere that is worth a move.

        It is in time, or clearly before `here`.

        A task that will be in time here must end sooner by a share of the time until then.
        """
        if deadline is None or here > deadline:
            return max(here - self._settings.least_gain, deadline or 0.0)
        return here - max(self._settings.sooner * (here - time), self._settings.least_gain)

    def _renew_limit(self, negotiation: Negotiation, time: float) -> None:
        """Move the limit by the duration of a negotiation.

        The task has lost that time here as well.
        """
        if time <= negotiation.began + self._settings.least_gain:
            return
        here = negotiation.here if negotiation.left is None else negotiation.here + time - negotiation.left
        negotiation.limit = self._limit(here, negotiation.deadline, time)

    def _answered(self, negotiation: Negotiation | None, peer: str, offer: NegotiatedOffer, time: float) -> None:
        if negotiation is not None and not negotiation.reserving:
            negotiation.offers[peer] = offer
            if negotiation.complete:
                self._choose(negotiation, time)

    def _choose(self, negotiation: Negotiation, time: float) -> None:
        """Ask the neighbour with the best offer to keep the place, or give up."""
        self._renew_limit(negotiation, time)
        negotiation.reserve(negotiation.choice(self._settings.least_gain), time)
        if negotiation.reserving:
            self._context.ask(negotiation.reserving, Reserve(negotiation.ticket.uuid, negotiation.epoch), time)
        else:
            self._end(negotiation.task)
            self._outcome.statistics.count_failed()
            self._fail(negotiation.task, time, negotiation.refusal_texts())

    def _fail(self, name: str, time: float, answers: tuple[str, ...] = (), unasked: str = "") -> None:
        task = self._domain.task(name)
        if task is not None and task.in_transit:
            listed = f" ({'; '.join(answers)})" if answers else ""
            reason = f"{self._settings.name} knows nobody that takes it{listed}"
            self._outcome.tell(CancelRequested(time, name, reason))
            return
        self.pause(name, time, answers, unasked)
        self._outcome.tell(OfferEnded(time, name))

    def _hand_over(self, negotiation: Negotiation, peer: str, time: float) -> None:
        candidate = negotiation.asked[peer]
        misjudged = None
        if candidate.estimate is not None:
            misjudged = abs(negotiation.offers[peer].end - (negotiation.began + candidate.end))
        self._finder.debit(candidate)
        self._outcome.statistics.count_forwarded(candidate.age, misjudged)
        self._outgoing.begin(negotiation, peer, time)

    def _longest_pause(self, name: str, time: float) -> float:
        """Return half the seconds to a task's deadline, the longest pause between two offers.

        So the task is offered more often as its deadline comes nearer.
        """
        task = self._domain.task(name)
        if task is None or task.spec.deadline is None or task.spec.deadline <= time:
            return math.inf
        return max((task.spec.deadline - time) / 2, self._settings.poll_interval)

    def _is_overdue(self, negotiation: Negotiation, time: float) -> bool:
        """Return whether to go on without the missing answers.

        A task that waits for hosts anyway loses nothing by waiting for a slow neighbour where it has no better offer.
        """
        waited = time - negotiation.since
        if waited < self._settings.timeout:
            return False
        idle = negotiation.left is not None
        in_time_here = idle and negotiation.here <= negotiation.deadline
        if not negotiation.reserving and (in_time_here or negotiation.choice(self._settings.least_gain)):
            return True  # a task that will be in time here loses more by waiting than it can win
        timeout = self._context.round_trips.timeout(negotiation.silent)
        return waited >= (timeout if idle else max(timeout, UNHURRIED_FACTOR * self._settings.timeout))

    def _find(self, peer: str, answer: Offer | Decline | Reserved | Refused) -> Negotiation | None:
        negotiation = self._negotiations.get(self._by_uuid.get(answer.task, ""))
        if negotiation is None or negotiation.epoch != answer.epoch or peer not in negotiation.asked:
            return None
        return negotiation

    def _end(self, task: str) -> None:
        negotiation = self._negotiations.pop(task, None)
        if negotiation is not None:
            self._by_uuid.pop(negotiation.ticket.uuid, None)
