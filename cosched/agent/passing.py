"""Requests that we cannot fulfil and nobody that we know, passed on one step (discovery as in ARMS).

They go to the neighbour that could turn out best, of whose times nothing is known here, and to the upper agent; each of
them may pass them on in turn. Domains that have had a request do not get it again, and it goes no further than its
hops. Volatile: no place is kept by it, and a task that comes then is offered around as any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cosched.agent.messages import Request
from cosched.agent.promptness import UNHURRIED
from cosched.agent.settings import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.agent.effects import Effects
    from cosched.agent.messages import Decline, Offer
    from cosched.agent.promptness import Promptness
    from cosched.agent.quoting import Place
    from cosched.agent.settings import AgentSettings, Peer
    from cosched.agent.talks import Candidate
    from cosched.coscheduler.task import Task

__all__ = ["DISCOVERY", "Passing"]

DISCOVERY = 0  # epoch of a request that no hand-over follows
_REQUEST = "request"  # the question whose answer is an offer or a refusal
_MOST = 64  # requests that are passed on at once


@dataclass(slots=True)
class _Passed:
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
    best: Place
    until: float
    awaited: set[str] = field(default_factory=set)


class Passing:
    """Passes requests on and answers them with what comes back."""

    def __init__(
        self,
        settings: AgentSettings,
        effects: Effects,
        promptness: Promptness,
        answer: Callable[[str, Request, Task | None, Place, float], None],
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
        self._passed: dict[tuple[str, str], _Passed] = {}  # by who asks and UUID

    def ask(
        self,
        peer: str,
        word: Request,
        task: Task | None,
        known: Place,
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
        asked = _whom(found, word, peer, peers)
        if not asked or (len(self._passed) >= _MOST and (peer, word.task) not in self._passed):
            return False
        # Who asks waits so long for a task that waits anyway: we must answer before that, and those after us before us.
        patience = min(UNHURRIED * self._promptness.patience(asked), self._settings.patience_longest)
        patience /= 1 + len(word.visited)
        self._passed[peer, word.task] = _Passed(word, task, known, time + patience, set(asked))
        visited = (*word.visited, self._settings.name)
        onward = Request(word.task, DISCOVERY, word.hops - 1, visited, word.document)
        for name in asked:
            self._promptness.ask(name, _REQUEST, word.task, DISCOVERY, time)
            self._effects.send(name, onward)
        return True

    def offered(self, peer: str, word: Offer, time: float) -> None:
        """Somebody further on has a place."""
        if word.epoch == DISCOVERY:
            self._heard(peer, word.task, time + word.end, word.where, time)

    def declined(self, peer: str, word: Decline, time: float) -> None:
        """Somebody further on has none, and knows nobody."""
        if word.epoch == DISCOVERY:
            self._heard(peer, word.task, math.inf, peer, time)

    def tick(self, time: float) -> None:
        """Wait no longer than we may."""
        for key in [key for key, passed in self._passed.items() if time >= passed.until]:
            self._conclude(key, time)

    def _heard(self, peer: str, uuid: str, end: float, where: str, time: float) -> None:
        self._promptness.answer(peer, _REQUEST, uuid, DISCOVERY, time)
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


def _whom(found: Sequence[Candidate], word: Request, peer: str, peers: Mapping[str, Peer]) -> list[str]:
    """Return the first neighbour whose times are not known here, and the upper one."""
    upper = [
        one.name
        for one in peers.values()
        if one.role is Role.UPPER and one.name != peer and one.name not in word.visited
    ]
    unknown = [one.peer for one in found if one.estimate is None and one.peer not in upper]
    return [*unknown[:1], *upper]
