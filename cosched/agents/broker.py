"""The broker drives a co-scheduler and its agent as one state machine.

The daemon, the simulation and the tests call `Broker.handle`; without an agent it is the co-scheduler alone.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.agents.events import AdvertisingChanged, LetterReceived, PeersChanged
from cosched.coscheduler.changes import AskPeers, AskStart
from cosched.coscheduler.events import Tick

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.agents.agent import Agent
    from cosched.agents.outbox import AgentOutbox, SendLetter
    from cosched.agents.records import Guest, Handover
    from cosched.coscheduler.changes import Decision, Outcome
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.reservations import Reservation
    from cosched.coscheduler.task import Attempt, Task

__all__ = ["AgentEvent", "Broker", "BrokerOutcome"]

AgentEvent = LetterReceived | PeersChanged | AdvertisingChanged


@dataclass(frozen=True, slots=True)
class BrokerOutcome:
    """The answer to one event: state to write down in one piece, then decisions to carry out in order.

    Attributes:
        tasks: that changed.
        attempts: that changed.
        handovers: that changed.
        guests: that changed.
        reservations: that changed.
        decisions: of the core, then letters to send.
        events: of the core's, in order: the one that was handled, where it is one, and what the agent made of it.
    """

    tasks: tuple[Task, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    handovers: tuple[Handover, ...] = ()
    guests: tuple[Guest, ...] = ()
    decisions: tuple[Decision | SendLetter, ...] = ()
    events: tuple[Event, ...] = ()
    reservations: tuple[Reservation, ...] = ()


class Broker:
    """Passes events to core and agent, and what each makes of them to the other, until nothing is left to say."""

    def __init__(self, core: Coscheduler, agent: Agent | None = None) -> None:
        self.core = core
        self.agent = agent
        core.eager = agent is not None and agent.eager

    def handle(self, event: Event | AgentEvent) -> BrokerOutcome:
        """Take one event and return what to write down and what to do."""
        gathered = _MergedOutcome()
        effects = None if self.agent is None else self.agent.begin()
        match event:
            case LetterReceived() if self.agent is not None:
                self.agent.received(event)
            case PeersChanged() if self.agent is not None:
                self.agent.peers_changed(event)
                self.core.neighbours = bool(self.agent.usable())
            case AdvertisingChanged() if self.agent is not None:
                self.agent.advertise_by(event.advertising)
            case LetterReceived() | PeersChanged() | AdvertisingChanged():
                pass  # nobody here to read it
            case _:
                self._core(event, gathered)
                if isinstance(event, Tick) and self.agent is not None:
                    self.agent.tick(event.time)
        return self._settle(gathered, effects)

    def restore(
        self,
        tasks: Iterable[Task],
        attempts: Iterable[Attempt],
        completed: Iterable[Task],
        handovers: Iterable[Handover],
        guests: Iterable[Guest],
        ended: Mapping[str, Task],
        time: float,
        reservations: Iterable[Reservation] = (),
    ) -> BrokerOutcome:
        """Take up where a former process stopped; see `Coscheduler.restore` and `Agent.restore`."""
        gathered = _MergedOutcome()
        effects = None if self.agent is None else self.agent.begin()
        gathered.add(self.core.restore(tasks, attempts, completed, time, reservations))
        if self.agent is not None:
            self.agent.restore(handovers, guests, ended, time)
        return self._settle(gathered, effects)

    def _core(self, event: Event, gathered: _MergedOutcome) -> None:
        outcome = self.core.handle(event)
        gathered.add(outcome, event)
        if self.agent is None:
            return
        for task in outcome.tasks:
            self.agent.task_changed(task, event.time)
        for decision in outcome.decisions:
            if isinstance(decision, AskStart):
                self.agent.ask_start(decision.task, event.time)
            elif isinstance(decision, AskPeers):
                self.agent.ask_peers(decision.task, decision.end, event.time)

    def _settle(self, gathered: _MergedOutcome, effects: AgentOutbox | None) -> BrokerOutcome:
        if effects is None:
            return gathered.outcome()
        waiting: deque[Event] = deque()
        while effects.events or waiting:
            waiting.extend(effects.events)
            effects.events.clear()
            self._core(waiting.popleft(), gathered)
        return gathered.outcome(effects)


class _MergedOutcome:
    """What all steps of one event have led to; of two values for one record the later counts."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._attempts: dict[str, Attempt] = {}
        self._decisions: list[Decision | SendLetter] = []
        self._events: list[Event] = []
        self._reservations: dict[str, Reservation] = {}

    def add(self, outcome: Outcome, event: Event | None = None) -> None:
        self._tasks |= {task.id: task for task in outcome.tasks}
        self._attempts |= {attempt.uuid: attempt for attempt in outcome.attempts}
        self._reservations |= {reservation.id: reservation for reservation in outcome.reservations}
        self._decisions += [decision for decision in outcome.decisions if not isinstance(decision, AskStart | AskPeers)]
        if event is not None:
            self._events.append(event)

    def outcome(self, effects: AgentOutbox | None = None) -> BrokerOutcome:
        return BrokerOutcome(
            tuple(self._tasks.values()),
            tuple(self._attempts.values()),
            () if effects is None else tuple(effects.handovers.values()),
            () if effects is None else tuple(effects.guests.values()),
            (*self._decisions, *(() if effects is None else effects.sends)),
            tuple(self._events),
            tuple(self._reservations.values()),
        )
