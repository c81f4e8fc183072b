"""One negotiation: a task, the neighbours that were asked, and their offers. `negotiator.py` conducts it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from cosched.durations import format_duration

if TYPE_CHECKING:
    from cosched.agents.discovery.candidates import Candidate
    from cosched.agents.tickets import Ticket

__all__ = ["FailedNegotiation", "NegotiatedOffer", "Negotiation"]

_MAX_REASON = 200  # characters of a neighbour's reason that are shown
_MAX_SWITCHES = 3  # times that a kept place is given up for a better offer


class NegotiatedOffer(NamedTuple):
    """An offer's end, epoch seconds, and its domain; infinite: the neighbour declined."""

    end: float
    where: str


class FailedNegotiation(NamedTuple):
    """The outcome of negotiations about a task that has stayed here.

    Attributes:
        retry_at: when it is offered again, epoch seconds.
        tries: how many negotiations have failed.
        answers: why each neighbour of the last one does not have it, for people.
        unasked: why the last one asked nobody, for people; empty where it did.
    """

    retry_at: float
    tries: int
    answers: tuple[str, ...] = ()
    unasked: str = ""


@dataclass(slots=True)
class Negotiation:
    """A task that is being offered around.

    Attributes:
        epoch: epoch of the hand-over that may follow.
        here: when it would end here, epoch seconds.
        limit: by when it must end elsewhere to be worth moving, epoch seconds.
        since: when the present step began.
        asked: candidate asked, by neighbour.
        offers: offer received, by neighbour.
        reserving: the neighbour that is asked to keep the place; empty before that.
        switches: how many times a kept place was given up for a better offer.
        began: when the task was offered, epoch seconds.
        left: when it would have left here, epoch seconds: since then its hosts stand idle. None: it waits here anyway.
        refusals: neighbour → why it does not have the task, as it said itself.
    """

    task: str
    ticket: Ticket
    epoch: int
    here: float
    limit: float
    since: float
    asked: dict[str, Candidate]
    offers: dict[str, NegotiatedOffer] = field(default_factory=dict)
    reserving: str = ""
    switches: int = 0
    began: float = 0.0
    left: float | None = None
    refusals: dict[str, str] = field(default_factory=dict)

    @property
    def deadline(self) -> float:
        """Of the task, epoch seconds."""
        return self.ticket.document.deadline

    @property
    def complete(self) -> bool:
        """Return whether every neighbour that was asked has answered."""
        return len(self.offers) == len(self.asked)

    @property
    def silent(self) -> set[str]:
        """Return the neighbours without an answer yet."""
        return {self.reserving} if self.reserving else self.asked.keys() - self.offers.keys()

    def leave(self, time: float) -> None:
        """Count the time from now on as lost: the task would have left here."""
        if self.left is None:
            self.left = self.since = time

    def reserve(self, peer: str, time: float) -> None:
        """Begin to ask a neighbour to keep the place; empty: none is worth asking."""
        self.reserving, self.since = peer, time

    def drop_offer(self, reason: str | None = None) -> None:
        """Drop the offer of the neighbour that was to keep the place, with its reason."""
        if reason is not None:
            self.refusals[self.reserving] = reason
        self.offers.pop(self.reserving, None)

    def prefers_other(self, gain: float) -> bool:
        """Return whether to give up the kept place for a better offer; count the changes."""
        kept = self.offers[self.reserving].end
        others = (offer.end for peer, offer in self.offers.items() if peer != self.reserving)
        if min(others, default=math.inf) >= kept - gain or self.switches >= _MAX_SWITCHES:
            return False
        self.switches += 1
        return True

    def choice(self, gain: float) -> str:
        """Return the neighbour with the earliest offer; empty where none is better than here.

        Of those that differ by less than the gain the task's UUID chooses: else all would go to the same one.
        """
        fit = [
            (offer.end // max(gain, 1e-3), crc32(f"{self.ticket.uuid}{peer}".encode()), peer)
            for peer, offer in self.offers.items()
            if offer.end <= self.limit and math.isfinite(offer.end)
        ]
        return min(fit)[2] if fit else ""

    def refusal_texts(self) -> tuple[str, ...]:
        """Say for people why each asked neighbour does not have the task."""
        return tuple(f"{peer}: {self._refusal(peer)[:_MAX_REASON]}" for peer in sorted(self.asked))

    def _refusal(self, peer: str) -> str:
        if peer in self.refusals:
            return self.refusals[peer]
        return f"would end it {self._margin(self.offers[peer].end)}" if peer in self.offers else "has not answered"

    def why(self, peer: str, here: str) -> str:
        """Say why the task goes to a neighbour, for people."""
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
        return f"{format_duration(margin)} before its deadline" if margin >= 0 else f"{format_duration(-margin)} late"
