"""What neighbours may expect of us: places for their tasks, here or further on, and places that are kept.

    Request ─► in time here, or further on by the tables ─► Offer ─► Reserve ─► Reserved ─► Commit (`hosting.py`)
        └─ neither: passed on (`passing.py`) ─► Offer, Decline

Who cannot run a task may offer a place further on all the same: the task is then taken in and handed on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.agent.messages import Decline, Offer, Refused, Reserved
from cosched.agent.passing import DISCOVERY, Passing
from cosched.agent.talks import candidates

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.agent.capability import Tables
    from cosched.agent.effects import Effects
    from cosched.agent.knowledge import Knowledge
    from cosched.agent.local import LocalDomain
    from cosched.agent.messages import Commit, Fenced, Request, Reserve
    from cosched.agent.promptness import Promptness
    from cosched.agent.settings import AgentSettings, Peer
    from cosched.coscheduler.task import Task

__all__ = ["Place", "Quoting"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task could run and when it would end there, epoch seconds; infinite: nowhere, for this reason."""

    end: float
    where: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Quote:
    """A place that was offered, or is kept where `kept`, until a time. No task: it cannot run here."""

    epoch: int
    task: Task | None
    place: Place
    until: float
    kept: bool = False


class Quoting:
    """Offers places and keeps them. Volatile, all of it.

    Attributes:
        passing: requests that were passed on.
    """

    def __init__(
        self,
        settings: AgentSettings,
        effects: Effects,
        tables: Tables,
        knowledge: Knowledge,
        domain: LocalDomain,
        promptness: Promptness,
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
        self._quotes: dict[tuple[str, str], _Quote] = {}  # by neighbour and UUID
        self.passing = Passing(settings, effects, promptness, self._answer)

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
            found = candidates(self._tables, self._peers(), self._knowledge, word.document, excluded, time)
            if found and time + found[0].end < best.end - self._settings.gain:
                best = Place(time + found[0].end, found[0].domain)
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

    def redeem(self, peer: str, word: Commit, time: float) -> Place | None:
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

    def _here(self, task: Task | None, fault: str, time: float) -> Place:
        if task is None or fault:
            return Place(math.inf, self._settings.name, fault or "it cannot be run here")
        return Place(self._domain.place(task, time, self.booked(time)), self._settings.name, "no place for it")

    def _answer(self, peer: str, word: Request, task: Task | None, place: Place, time: float) -> None:
        if math.isinf(place.end):
            self._effects.send(peer, Decline(word.task, word.epoch, place.reason))
            return
        if word.epoch != DISCOVERY:
            self._quotes[peer, word.task] = _Quote(word.epoch, task, place, time + self._settings.hold)
        self._effects.send(peer, Offer(word.task, word.epoch, place.end - time, place.where))
