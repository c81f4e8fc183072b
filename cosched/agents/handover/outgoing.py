"""The giving side of a hand-over, once that is stored. Start at `OutgoingHandovers.begin`.

    COMMITTING ─ Accepted ─► HELD ─ Start ─► GRANTED ─ Report ─► ENDED
        └─ Refused ─► REFUSED  └─ silence, cancel, better here ─► RECLAIMED     (RETURNED: given back unstarted)

This domain decides where its task may start. Until GRANTED is stored it can take the task back alone, for the holder
must ask before it starts the task and is then answered `Fenced`. From GRANTED on the task is the holder's, however long
that is silent. So no clock, no late letter and no crash can make a task start twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.agents.protocol.letters import Cancel, Commit, Fenced, Granted, Noted, RemoteTaskState, StatusReceipt
from cosched.coscheduler.events import PeerReported, TaskForwarded, TaskReturned
from cosched.coscheduler.handovers import Handover, HandoverState
from cosched.coscheduler.task import TaskState
from cosched.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.agents.context import AgentContext
    from cosched.agents.handover.negotiation import Negotiation
    from cosched.agents.protocol.letters import Accepted, Refused, RemoteTaskStatus, Report, Start
    from cosched.agents.tickets import TicketIssuer
    from cosched.coscheduler.task import Task


__all__ = ["OutgoingHandovers"]

_FINAL = {
    RemoteTaskState.COMPLETED: TaskState.COMPLETED,
    RemoteTaskState.FAILED: TaskState.FAILED,
    RemoteTaskState.CANCELLED: TaskState.CANCELLED,
}
_RAN = (RemoteTaskState.COMPLETED, RemoteTaskState.FAILED)  # states that only a started task reaches


class OutgoingHandovers:
    """Keeps the live hand-overs.

    Attributes:
        forecasts: task → when its holder expects it to end, epoch seconds.
    """

    def __init__(self, context: AgentContext, tickets: TicketIssuer) -> None:
        """Set up.

        Args:
            context: context of the agent.
            tickets: issues the tickets of tasks that are handed over.
        """
        self.forecasts: dict[str, float] = {}
        self._context = context
        self._settings = context.settings
        self._outcome = context.outcome
        self._domain = context.domain
        self._tickets = tickets
        self._live: dict[str, Handover] = {}  # by task
        self._by_key: dict[tuple[str, int], str] = {}  # UUID and epoch → task
        self._epochs: dict[str, int] = {}  # UUID → the last one used
        self._names: dict[str, str] = {}  # task → UUID
        self._last_heard: dict[str, float] = {}  # task → when its holder wrote last
        self._last_sent: dict[str, float] = {}  # task → when its commit or cancel was sent last
        self._avoided: dict[str, set[str]] = {}  # task → neighbours that gave it back or fell silent
        self._open_questions: dict[str, int] = {}  # task → its holder's question that waits for our own origin's answer

    def restore(self, handovers: Iterable[Handover], time: float) -> None:
        """Take up the records of a former life: all hand-overs of live tasks."""
        for handover in handovers:
            self._epochs[handover.uuid] = max(self._epochs.get(handover.uuid, 0), handover.epoch)
            self._names[handover.task] = handover.uuid
            if handover.state.live:
                self._keep(handover)
                self._last_heard[handover.task] = time

    def next_epoch(self, uuid: str) -> int:
        """Return the number that the next hand-over of a task would have."""
        return self._epochs.get(uuid, 0) + 1

    def skip_epoch(self, task: Task) -> None:
        """Give the next hand-over of a waiting task another number."""
        ticket = self._tickets.issue(task)
        if ticket is not None:
            self._epochs[ticket.uuid] = self.next_epoch(ticket.uuid)

    def avoided(self, task: str) -> set[str]:
        """Return the neighbours that gave a task back or fell silent."""
        return self._avoided.get(task, set())

    def begin(self, negotiation: Negotiation, peer: str, time: float) -> None:
        """Hand a task over; from now on it cannot start here."""
        why = negotiation.why(peer, self._settings.name)
        handover = Handover(
            negotiation.ticket.uuid, negotiation.epoch, negotiation.task, peer, HandoverState.COMMITTING, why, time
        )
        self._epochs[handover.uuid] = handover.epoch
        self._names[handover.task] = handover.uuid
        self._write(handover)
        self._last_heard[negotiation.task] = time
        self.forecasts[negotiation.task] = negotiation.offers[peer].end
        self._outcome.tell(TaskForwarded(time, negotiation.task, peer, why))
        self._commit(handover, time)

    def tick(self, time: float) -> None:
        """Repeat unanswered letters; take back tasks that a silent neighbour has not started."""
        for handover in list(self._live.values()):
            task = self._domain.task(handover.task)
            granted = handover.state is HandoverState.GRANTED
            if task is not None and task.status.state is TaskState.CANCELLING:
                self.cancel(handover.task, task.status.reason, time)
            elif not granted and time > self._last_heard[handover.task] + self._settings.lease:
                self._avoid(handover)
                self.reclaim(handover, f"{handover.peer} was silent for {format_duration(self._settings.lease)}", time)
            elif handover.state is HandoverState.COMMITTING and self._is_due(handover, time):
                self._commit(handover, time)

    def reconsider(self, time: float) -> None:
        """Take back tasks that wait, would be late elsewhere and clearly end sooner here."""
        for handover in list(self._live.values()):
            task = self._domain.task(handover.task)
            there = self.forecasts.get(handover.task)
            if handover.state is not HandoverState.HELD or there is None or task is None or task.spec.deadline is None:
                continue
            if there > task.spec.deadline and self._domain.place(task, time, ()) < there - self._settings.least_gain:
                self.reclaim(handover, f"it would now end sooner here than in {handover.peer}", time)

    def cancel(self, task: str, reason: str, time: float) -> None:
        """Cancel a forwarded task: take it back, or ask its holder to cancel it.

        Only a holder that may have started the task is asked.
        """
        handover = self._live.get(task)
        if handover is None:
            return
        if handover.state is not HandoverState.GRANTED:
            self.reclaim(handover, reason, time)
        elif self._is_due(handover, time):
            self._last_sent[task] = time
            self._outcome.send(handover.peer, Cancel(handover.uuid, handover.epoch, reason))

    def reclaim(self, handover: Handover, reason: str, time: float) -> None:
        """Take a task back before it may start, and tell its holder."""
        self._close(handover, HandoverState.RECLAIMED, reason, time)
        self._outcome.send(handover.peer, Fenced(handover.uuid, handover.epoch))
        self._outcome.tell(TaskReturned(time, handover.task, f"taken back: {reason}"))

    def permitted(self, task: str) -> None:
        """Pass the origin's grant for a guest on to the domain that holds it."""
        handover = self._live.get(task)
        ask = self._open_questions.pop(task, None)
        if handover is not None and ask is not None:
            self._grant(handover, ask)

    def ended(self, task: str) -> None:
        """Drop the records of an ended task."""
        self._avoided.pop(task, None)
        self.forecasts.pop(task, None)
        self._epochs.pop(self._names.pop(task, ""), None)

    def accepted(self, peer: str, accepted: Accepted, time: float) -> None:
        """Note that the task has arrived."""
        handover = self._find(peer, accepted.task, accepted.epoch)
        if handover is not None:
            self._last_heard[handover.task] = time
            if handover.state is HandoverState.COMMITTING:
                self._write(replace(handover, state=HandoverState.HELD))

    def refused(self, peer: str, refused: Refused, time: float) -> tuple[str, ...]:
        """Take a refused task back and return it; ignore a refusal after it has arrived."""
        handover = self._find(peer, refused.task, refused.epoch)
        if handover is None or handover.state is not HandoverState.COMMITTING:
            return ()
        return self._came_back(handover, HandoverState.REFUSED, f"{peer} refused it: {refused.reason}", time)

    def start(self, peer: str, start: Start, time: float) -> str:
        """Let the holder start a task, unless the task's own origin must be asked first.

        Return the task in that case, else "".
        """
        handover = self._find(peer, start.task, start.epoch)
        if handover is None:
            self._outcome.send(peer, Fenced(start.task, start.epoch))
            return ""
        self._last_heard[handover.task] = time
        task = self._domain.task(handover.task)
        if task is not None and task.status.held:
            self._open_questions[handover.task] = start.ask
            return handover.task
        self._grant(handover, start.ask)
        return ""

    def reported(self, peer: str, report: Report, time: float) -> tuple[str, ...]:
        """Take in what tasks do in another domain; return those that came back from there."""
        receipts: list[StatusReceipt] = []
        returned: list[str] = []
        for status in report.statuses:
            handover = self._find(peer, status.task, status.epoch)
            if handover is None and not status.state.final:
                self._outcome.send(peer, Fenced(status.task, status.epoch))
                continue
            if handover is not None:
                returned += self._take_in(handover, status, time)
            receipts.append(StatusReceipt(status.task, status.epoch, status.state.final))
        if receipts:
            self._outcome.send(peer, Noted(tuple(receipts)))
        return tuple(returned)

    def _take_in(self, handover: Handover, status: RemoteTaskStatus, time: float) -> tuple[str, ...]:
        """Take in one status; return the task if it came back."""
        self._last_heard[handover.task] = time
        if status.state is RemoteTaskState.RETURNED:
            reason = f"{handover.peer} gave it back: {status.reason or 'no reason given'}"
            return self._came_back(handover, HandoverState.RETURNED, reason, time)
        if status.state in _RAN and handover.state is not HandoverState.GRANTED:
            self._avoid(handover)
            self.reclaim(handover, f"{handover.peer} says that it has {status.state}, and was never let start it", time)
            return ()
        if status.end is not None:
            self.forecasts[handover.task] = time + status.end
        if handover.state is HandoverState.COMMITTING:
            self._write(replace(handover, state=HandoverState.HELD))
        started = None if status.started is None else time - status.started
        finished = None if status.finished is None else time - status.finished
        if status.state.final:
            outcome = f"{status.state} in {status.where}"
            self._close(handover, HandoverState.ENDED, outcome, time)
            self._outcome.tell(_final_report(handover.task, status, started, finished, time))
        elif status.state is RemoteTaskState.RUNNING:
            task = self._domain.task(handover.task)
            if task is not None and task.status.started is None:
                self._outcome.tell(PeerReported(time, handover.task, TaskState.RUNNING, "", status.hosts, started))
        return ()

    def _commit(self, handover: Handover, time: float) -> None:
        self._last_sent[handover.task] = time
        task = self._domain.task(handover.task)
        ticket = None if task is None else self._tickets.issue(task)
        if ticket is not None:
            commit = Commit(handover.uuid, handover.epoch, ticket.hops, ticket.visited, ticket.document_at(time))
            self._context.ask(handover.peer, commit, time)

    def _grant(self, handover: Handover, ask: int) -> None:
        if handover.state is not HandoverState.GRANTED:
            self._write(replace(handover, state=HandoverState.GRANTED))
        self._outcome.send(handover.peer, Granted(handover.uuid, handover.epoch, ask))

    def _came_back(self, handover: Handover, state: HandoverState, reason: str, time: float) -> tuple[str]:
        self._avoid(handover)
        self._close(handover, state, reason, time)
        self._outcome.tell(TaskReturned(time, handover.task, reason))
        return (handover.task,)

    def _avoid(self, handover: Handover) -> None:
        self._avoided.setdefault(handover.task, set()).add(handover.peer)

    def _is_due(self, handover: Handover, time: float) -> bool:
        return time >= self._last_sent.get(handover.task, 0.0) + self._context.round_trips.timeout((handover.peer,))

    def _find(self, peer: str, uuid: str, epoch: int) -> Handover | None:
        handover = self._live.get(self._by_key.get((uuid, epoch), ""))
        return handover if handover is not None and handover.peer == peer and handover.epoch == epoch else None

    def _keep(self, handover: Handover) -> None:
        self._live[handover.task] = handover
        self._by_key[handover.uuid, handover.epoch] = handover.task

    def _write(self, handover: Handover) -> None:
        self._keep(handover)
        self._outcome.write_handover(handover)

    def _close(self, handover: Handover, state: HandoverState, outcome: str, time: float) -> None:
        if state is not HandoverState.ENDED:
            self._outcome.statistics.count_came_back()
        self._outcome.write_handover(replace(handover, state=state, outcome=outcome, closed=time))
        del self._live[handover.task], self._by_key[handover.uuid, handover.epoch]
        self.forecasts.pop(handover.task, None)
        for record in (self._last_heard, self._last_sent, self._open_questions):
            record.pop(handover.task, None)


def _final_report(
    task: str, status: RemoteTaskStatus, started: float | None, finished: float | None, time: float
) -> PeerReported:
    return PeerReported(
        time,
        task,
        _FINAL[status.state],
        status.reason,
        status.hosts,
        started,
        finished,
        status.actual,
        status.exit_code,
        status.where,
    )
