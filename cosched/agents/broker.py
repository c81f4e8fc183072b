"""The broker drives a co-scheduler and its agent as one state machine.

The daemon, the simulation and the tests call `Broker.handle`; without an agent it is the co-scheduler alone.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from cosched.agents.events import AdvertisingChanged, LetterFailed, LetterReceived, PeersChanged
from cosched.coscheduler.changes import AskPeers, AskStart, Changes, Outcome
from cosched.coscheduler.events import EditRequested, NeighboursChanged, Restored, Tick
from cosched.coscheduler.log_entries import log_entries

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.agents.agent import Agent
    from cosched.agents.agent_outcome import AgentOutcome
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.events import Event

__all__ = ["AgentEvent", "Broker"]

AgentEvent = LetterReceived | LetterFailed | PeersChanged | AdvertisingChanged


class Broker:
    """Passes events to core and agent, and then their answers to each other."""

    def __init__(
        self,
        core: Coscheduler,
        agent: Agent | None = None,
        record: Callable[[Event, Outcome | None], None] | None = None,
    ) -> None:
        """Set up.

        Args:
            core: is told of its domain.
            agent: speaks with other domains; None for none.
            record: called with each event that the core has handled and its outcome, None where the core failed;
                None for nothing.
        """
        self.core = core
        self.agent = agent
        self._record = record

    def handle(self, event: Event | AgentEvent) -> Outcome:
        """Take one event and return what to write down and what to do."""
        outcome = Outcome()
        agent_outcome = None if self.agent is None else self.agent.begin()
        match event:
            case LetterReceived() if self.agent is not None:
                self.agent.received(event)
            case LetterFailed() if self.agent is not None:
                self.agent.refuse(event.letter, event.reason)
            case PeersChanged() if self.agent is not None:
                self.agent.peers_changed(event)
                outcome = self._tell_core(_neighbours(self.agent, event.time))
            case AdvertisingChanged() if self.agent is not None:
                self.agent.advertise_by(event.advertising)
            case LetterReceived() | LetterFailed() | PeersChanged() | AdvertisingChanged():
                pass  # nobody here to read it
            case _:
                outcome = self._tell_core(event)
                if self.agent is not None:
                    self._tell_agent(self.agent, event)
                    if isinstance(event, Restored) and self.agent.peers:
                        outcome |= self._tell_core(_neighbours(self.agent, event.time))
        return self._settle(outcome, agent_outcome)

    @staticmethod
    def _tell_agent(agent: Agent, event: Event) -> None:
        match event:
            case Tick():
                agent.tick(event.time)
            case Restored(time, saved):
                agent.restore(saved.handovers, saved.guests, saved.ended, time, saved.life)

    def _tell_core(self, event: Event) -> Outcome:
        """Have the core handle an event, and the agent its outcome and questions."""
        outcome = self._handled(event)
        if self.agent is not None:
            for task in outcome.changes.tasks.values():
                self.agent.task_changed(task, event.time)
            if isinstance(event, EditRequested) and event.task in outcome.changes.tasks:
                self.agent.task_edited(outcome.changes.tasks[event.task])
            for decision in outcome.decisions:
                if isinstance(decision, AskStart):
                    self.agent.ask_start(decision.task, event.time)
                elif isinstance(decision, AskPeers):
                    self.agent.ask_peers(decision.task, decision.end, event.time)
        others = tuple(one for one in outcome.decisions if not isinstance(one, AskStart | AskPeers))
        return Outcome(outcome.changes, others, outcome.events)

    def _handled(self, event: Event) -> Outcome:
        outcome = None
        try:
            outcome = self.core.handle(event)
        finally:
            if self._record is not None:
                self._record(event, outcome)
        return outcome

    def _settle(self, outcome: Outcome, agent_outcome: AgentOutcome | None) -> Outcome:
        """Pass the agent's events to the core until none is left; letters come last."""
        waiting: deque[Event] = deque()
        while agent_outcome is not None and (agent_outcome.events or waiting):
            waiting.extend(agent_outcome.events)
            agent_outcome.events.clear()
            outcome |= self._tell_core(waiting.popleft())
        changes = outcome.changes | Changes(log=log_entries(outcome.events, outcome.changes))
        if agent_outcome is None:
            return Outcome(changes, outcome.decisions, outcome.events)
        return Outcome(changes | agent_outcome.changes(), (*outcome.decisions, *agent_outcome.sends), outcome.events)


def _neighbours(agent: Agent, time: float) -> NeighboursChanged:
    return NeighboursChanged(time, bool(agent.usable()), agent.eager)
