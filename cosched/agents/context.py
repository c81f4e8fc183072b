"""Hold what every part of an agent works with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.agents.agent_outcome import AgentOutcome
    from cosched.agents.agent_settings import AgentSettings
    from cosched.agents.domain_view import DomainView
    from cosched.agents.protocol.letters import Accepted, Commit, Decline, Offer, Refused, Request, Reserve, Reserved
    from cosched.agents.protocol.round_trip import RoundTripTimes

    _Answer = Offer | Decline | Reserved | Refused | Accepted

__all__ = ["AgentContext"]


@dataclass(frozen=True, slots=True)
class AgentContext:
    """Common parts of an agent: settings, domain, outcome, round trips.

    Attributes:
        settings: as they were at the start; advertising may have changed since.
        domain: the agent's own.
        outcome: takes records, events for the core and letters.
        round_trips: round-trip times of the neighbours.
    """

    settings: AgentSettings
    domain: DomainView
    outcome: AgentOutcome
    round_trips: RoundTripTimes

    def ask(self, peer: str, question: Request | Reserve | Commit, time: float) -> None:
        """Send a letter about a hand-over and measure how long its answer takes."""
        self.round_trips.record_question(peer, type(question).__name__, question.task, question.epoch, time)
        self.outcome.send(peer, question)

    def record_answer(self, peer: str, kind: type[Request | Reserve | Commit], answer: _Answer, time: float) -> None:
        """Measure how long the answer to a question of that kind has taken."""
        self.round_trips.record_answer(peer, kind.__name__, answer.task, answer.epoch, time)
