"""The giving side of a hand-over, from the moment that it is written down.

    COMMITTING ─ Accepted ─► HELD ─ Start ─► GRANTED ─ Report ─► ENDED
        └─ Refused ─► REFUSED  └─ silence, cancel, better here ─► RECLAIMED     (RETURNED: given back unstarted)

We stay the one who decides where a task may start. Until GRANTED is written down it can be taken back by our word
alone, for its holder must ask before it starts it and is then told `Fenced`. From then on it is the holder's, however
long that is silent. So no clock, no late letter and no crash can make a task start twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.agents.protocol.messages import Cancel, Commit, Fenced, Granted, Noted, RemoteTaskState, StatusReceipt
from cosched.agents.records import Handover, HandoverState
from cosched.coscheduler.events import PeerReported, TaskForwarded, TaskReturned
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cosched.agents.agent_settings import AgentSettings
    from cosched.agents.discovery.candidates import Negotiation
    from cosched.agents.domain_view import DomainView
    from cosched.agents.outbox import AgentOutbox
    from cosched.agents.protocol.messages import Accepted, Refused, RemoteTaskStatus, Report, Start
    from cosched.agents.protocol.round_trip import RoundTripTimes
    from cosched.agents.tickets import TicketIssuer

__all__ = ["OutgoingHandovers"]

_FINAL = {
    RemoteTaskState.COMPLETED: TaskState.COMPLETED,
    RemoteTaskState.FAILED: TaskState.FAILED,
    RemoteTaskState.CANCELLED: TaskState.CANCELLED,
}
_COMMIT = "commit"  # the question whose answer says that the task has arrived
_RAN = (RemoteTaskState.COMPLETED, RemoteTaskState.FAILED)  # what has started may say


class OutgoingHandovers:
    """Keeps the live hand-overs.

    Attributes:
        forecasts: task → when its holder expects it to end, epoch seconds.
    """

    def __init__(
        self,
        settings: AgentSettings,
        effects: AgentOutbox,
        domain: DomainView,
        registry: TicketIssuer,
        promptness: RoundTripTimes,
        ask_origin: Callable[[str, float], None],
        pause: Callable[[str, float], None],
    ) -> None:
        """Set up.

        Args:
            settings: of the agent.
            effects: where everything that changes goes.
            domain: our own.
            registry: issues papers.
            promptness: how long neighbours take to answer.
            ask_origin: asks the origin of a guest that we have handed on to let it start.
            pause: keeps a task from being offered again at once.
        """
        self.forecasts: dict[str, float] = {}
        self._settings = settings
        self._effects = effects
        self._domain = domain
        self._registry = registry
        self._promptness = promptness
        self._ask_origin = ask_origin
        self._pause = pause
        self._live: dict[str, Handover] = {}  # by task
        self._by_key: dict[tuple[str, int], str] = {}  # UUID and epoch → task
        self._epochs: dict[str, int] = {}  # UUID → the last one used
        self._names: dict[str, str] = {}  # task → UUID
        self._heard: dict[str, float] = {}  # task → when its holder was heard of last
        self._said: dict[str, float] = {}  # task → when its commit or cancel was sent last
        self._shunned: dict[str, set[str]] = {}  # task → neighbours that gave it back or fell silent
        self._asks: dict[str, int] = {}  # task → its holder's question that waits for our own origin's word

    def restore(self, handovers: Iterable[Handover], time: float) -> None:
        """Take up what a former life wrote down: all hand-overs of tasks that live."""
        for handover in handovers:
            self._epochs[handover.uuid] = max(self._epochs.get(handover.uuid, 0), handover.epoch)
            self._names[handover.task] = handover.uuid
            if handover.state.live:
                self._keep(handover)
                self._heard[handover.task] = time

    def live(self) -> list[Handover]:
        """Return the live hand-overs."""
        return list(self._live.values())

    def next_epoch(self, uuid: str) -> int:
        """Return the number that the next hand-over of a task would have."""
        return self._epochs.get(uuid, 0) + 1

    def shunned(self, task: str) -> set[str]:
        """Return the neighbours to which a task had better not go again."""
        return self._shunned.get(task, set())

    # ── from the agent ───────────────────────────────────────────────────────────────────────────────────────

    def begin(self, talk: Negotiation, peer: str, time: float) -> None:
        """Hand a task over: from now on it cannot start here."""
        why = talk.why(peer, self._settings.name)
        handover = Handover(talk.papers.uuid, talk.epoch, talk.task, peer, HandoverState.COMMITTING, why, time)
        self._epochs[handover.uuid] = handover.epoch
        self._names[handover.task] = handover.uuid
        self._write(handover)
        self._heard[talk.task] = time
        self.forecasts[talk.task] = talk.offers[peer][0]
        self._effects.tell(TaskForwarded(time, talk.task, peer, why))
        self._commit(handover, time)

    def tick(self, time: float) -> None:
        """Repeat what was not answered; take back what a silent neighbour has not started."""
        for handover in list(self._live.values()):
            task = self._domain.task(handover.task)
            granted = handover.state is HandoverState.GRANTED
            if task is not None and task.state is TaskState.CANCELLING:
                self.cancel(handover.task, task.reason, time)
            elif not granted and time > self._heard[handover.task] + self._settings.lease:
                self._shun(handover)
                self.reclaim(handover, f"{handover.peer} was silent for {self._settings.lease:.0f} s", time)
            elif handover.state is HandoverState.COMMITTING and self._is_due(handover, time):
                self._commit(handover, time)

    def reconsider(self, time: float) -> None:
        """Take back what waits elsewhere, would be late there, and would now end clearly sooner here."""
        for handover in list(self._live.values()):
            task = self._domain.task(handover.task)
            there = self.forecasts.get(handover.task)
            if handover.state is not HandoverState.HELD or there is None or task is None or task.deadline is None:
                continue
            if there > task.deadline and self._domain.place(task, time, ()) < there - self._settings.gain:
                self.reclaim(handover, f"it would now end sooner here than in {handover.peer}", time)

    def cancel(self, task: str, reason: str, time: float) -> None:
        """See to it that a forwarded task does not run: take it back, or ask whoever may have started it."""
        handover = self._live.get(task)
        if handover is None:
            return
        if handover.state is not HandoverState.GRANTED:
            self.reclaim(handover, reason, time)
        elif self._is_due(handover, time):
            self._said[task] = time
            self._effects.send(handover.peer, Cancel(handover.uuid, handover.epoch, reason))

    def reclaim(self, handover: Handover, reason: str, time: float) -> None:
        """Take a task back that may not have started anywhere; its holder is told, and fenced if it does not hear."""
        self._close(handover, HandoverState.RECLAIMED, reason, time)
        self._effects.send(handover.peer, Fenced(handover.uuid, handover.epoch))
        self._effects.tell(TaskReturned(time, handover.task, f"taken back: {reason}"))

    def permitted(self, task: str) -> None:
        """The origin of a guest lets it start: pass that on to whoever holds it for us."""
        handover = self._live.get(task)
        ask = self._asks.pop(task, None)
        if handover is not None and ask is not None:
            self._grant(handover, ask)

    def ended(self, task: str) -> None:
        """A task has ended."""
        self._shunned.pop(task, None)
        self.forecasts.pop(task, None)
        self._epochs.pop(self._names.pop(task, ""), None)

    # ── from neighbours ──────────────────────────────────────────────────────────────────────────────────────

    def accepted(self, peer: str, word: Accepted, time: float) -> None:
        """The task has arrived."""
        self._promptness.answer(peer, _COMMIT, word.task, word.epoch, time)
        handover = self._find(peer, word.task, word.epoch)
        if handover is not None:
            self._heard[handover.task] = time
            if handover.state is HandoverState.COMMITTING:
                self._write(replace(handover, state=HandoverState.HELD))

    def refused(self, peer: str, word: Refused, time: float) -> None:
        """The task is not taken. Once it has arrived that is a late word about a place, and not about the task."""
        handover = self._find(peer, word.task, word.epoch)
        if handover is not None and handover.state is HandoverState.COMMITTING:
            self._came_back(handover, HandoverState.REFUSED, f"{peer} refused it: {word.reason}", time)

    def start(self, peer: str, word: Start, time: float) -> None:
        """The task's holder wants to start it."""
        handover = self._find(peer, word.task, word.epoch)
        if handover is None:
            self._effects.send(peer, Fenced(word.task, word.epoch))
            return
        self._heard[handover.task] = time
        task = self._domain.task(handover.task)
        if task is not None and task.held:
            self._asks[handover.task] = word.ask
            self._ask_origin(handover.task, time)
        else:
            self._grant(handover, word.ask)

    def reported(self, peer: str, report: Report, time: float) -> None:
        """Take in what our tasks do there."""
        notes = []
        for status in report.statuses:
            handover = self._find(peer, status.task, status.epoch)
            if handover is None and not status.state.final:
                self._effects.send(peer, Fenced(status.task, status.epoch))
                continue
            if handover is not None:
                self._take_in(handover, status, time)
            notes.append(StatusReceipt(status.task, status.epoch, status.state.final))
        if notes:
            self._effects.send(peer, Noted(tuple(notes)))

    def _take_in(self, handover: Handover, status: RemoteTaskStatus, time: float) -> None:
        self._heard[handover.task] = time
        if status.state is RemoteTaskState.RETURNED:
            reason = f"{handover.peer} gave it back: {status.reason or 'no reason given'}"
            self._came_back(handover, HandoverState.RETURNED, reason, time)
            return
        if status.state in _RAN and handover.state is not HandoverState.GRANTED:
            self._shun(handover)
            self.reclaim(handover, f"{handover.peer} says that it has {status.state}, and was never let start it", time)
            return
        if status.end is not None:
            self.forecasts[handover.task] = time + status.end
        if handover.state is HandoverState.COMMITTING:
            self._write(replace(handover, state=HandoverState.HELD))
        started = None if status.started is None else time - status.started
        finished = None if status.finished is None else time - status.finished
        if status.state.final:
            outcome = f"{status.state} in {status.where}"
            self._close(handover, HandoverState.ENDED, outcome, time)
            self._effects.tell(
                PeerReported(
                    time,
                    handover.task,
                    _FINAL[status.state],
                    status.reason,
                    status.hosts,
                    started,
                    finished,
                    status.actual,
                    status.exit_code,
                    status.where,
                )
            )
        elif status.state is RemoteTaskState.RUNNING:
            task = self._domain.task(handover.task)
            if task is not None and task.started is None:
                self._effects.tell(PeerReported(time, handover.task, TaskState.RUNNING, "", status.hosts, started))

    # ── within ───────────────────────────────────────────────────────────────────────────────────────────────

    def _commit(self, handover: Handover, time: float) -> None:
        self._said[handover.task] = time
        task = self._domain.task(handover.task)
        papers = None if task is None else self._registry.papers(task)
        if papers is not None:
            commit = Commit(papers.uuid, handover.epoch, papers.hops, papers.visited, papers.sent(time))
            self._promptness.ask(handover.peer, _COMMIT, papers.uuid, handover.epoch, time)
            self._effects.send(handover.peer, commit)

    def _grant(self, handover: Handover, ask: int) -> None:
        if handover.state is not HandoverState.GRANTED:
            self._write(replace(handover, state=HandoverState.GRANTED))
        self._effects.send(handover.peer, Granted(handover.uuid, handover.epoch, ask))

    def _came_back(self, handover: Handover, state: HandoverState, reason: str, time: float) -> None:
        self._shun(handover)
        self._close(handover, state, reason, time)
        self._effects.tell(TaskReturned(time, handover.task, reason))
        self._pause(handover.task, time)

    def _shun(self, handover: Handover) -> None:
        self._shunned.setdefault(handover.task, set()).add(handover.peer)

    def _is_due(self, handover: Handover, time: float) -> bool:
        return time >= self._said.get(handover.task, 0.0) + self._promptness.patience((handover.peer,))

    def _find(self, peer: str, uuid: str, epoch: int) -> Handover | None:
        handover = self._live.get(self._by_key.get((uuid, epoch), ""))
        return handover if handover is not None and handover.peer == peer and handover.epoch == epoch else None

    def _keep(self, handover: Handover) -> None:
        self._live[handover.task] = handover
        self._by_key[handover.uuid, handover.epoch] = handover.task

    def _write(self, handover: Handover) -> None:
        self._keep(handover)
        self._effects.write_handover(handover)

    def _close(self, handover: Handover, state: HandoverState, outcome: str, time: float) -> None:
        self._effects.statistics.came_back += state is not HandoverState.ENDED
        self._effects.write_handover(replace(handover, state=state, outcome=outcome, closed=time))
        del self._live[handover.task], self._by_key[handover.uuid, handover.epoch]
        self.forecasts.pop(handover.task, None)
        for known in (self._heard, self._said, self._asks):
            known.pop(handover.task, None)
