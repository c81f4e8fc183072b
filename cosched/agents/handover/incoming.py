"""The taking side, once a place is kept (`quoting.py`): neighbours' tasks here.

    Commit ─► HELD (in the queue) ─ Start, Granted ─► PERMITTED ─► ENDED
                 └─ Fenced, silence of its origin ─► SETTLED     └─ Noted ─┘

A guest waits in the queue like any other task; when it would leave, its origin is asked, and without its word it stays.
One that cannot run here is in transit: it is offered around until somebody takes it, and goes back if nobody does.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.agents.protocol.messages import Accepted, Refused, RemoteTaskState, RemoteTaskStatus, Report, Start
from cosched.agents.records import Guest, GuestState
from cosched.coscheduler.events import CancelRequested, StartPermitted, TaskSubmitted
from cosched.coscheduler.task import Task, TaskState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cosched.agents.agent_settings import AgentSettings
    from cosched.agents.discovery.bidding import Bidder
    from cosched.agents.domain_view import DomainView
    from cosched.agents.outbox import AgentOutbox
    from cosched.agents.protocol.messages import Cancel, Commit, Fenced, Granted, Noted, TaskDocument

__all__ = ["IncomingHandovers"]

_PROGRESS = {
    TaskState.COMPLETED: RemoteTaskState.COMPLETED,
    TaskState.FAILED: RemoteTaskState.FAILED,
    TaskState.CANCELLED: RemoteTaskState.CANCELLED,
}
_MAX_NAME = 200  # characters of a name that is shown


class IncomingHandovers:
    """Takes tasks in and tells their origins what becomes of them."""

    def __init__(
        self,
        settings: AgentSettings,
        effects: AgentOutbox,
        domain: DomainView,
        quoting: Bidder,
        number: Callable[[], int],
    ) -> None:
        """Set up.

        Args:
            settings: of the agent.
            effects: where everything that changes goes.
            domain: our own.
            quoting: has what was promised.
            number: gives the next task's number.
        """
        self._settings = settings
        self._effects = effects
        self._domain = domain
        self._quoting = quoting
        self._number = number
        self._guests: dict[tuple[str, str], Guest] = {}  # by neighbour and UUID
        self._by_task: dict[str, tuple[str, str]] = {}
        self._ended: dict[str, Task] = {}  # guests that have ended and whose origin has not confirmed
        self._questions = 0
        self._asked: dict[str, set[int]] = {}  # task → questions whether it may start; any answer will do
        self._heard: dict[str, float] = {}  # task → when its origin was heard of last
        self._reported: dict[str, float] = {}  # neighbour → last report to it

    def restore(self, guests: Iterable[Guest], ended: Mapping[str, Task], time: float) -> None:
        """Take up what a former life wrote down: guests that are not settled, and their tasks that have ended."""
        for guest in guests:
            self._keep(guest)
            self._heard[guest.task] = time
        self._ended |= ended

    def guest_of(self, task: str) -> Guest | None:
        """Return how a task came here; None for our own."""
        key = self._by_task.get(task)
        return None if key is None else self._guests[key]

    # ── guests ───────────────────────────────────────────────────────────────────────────────────────────────

    def commit(self, peer: str, word: Commit, task: Task | None, fault: str, time: float) -> None:
        """Take a task in, once for each hand-over, however often it is said."""
        known = self._guests.get((peer, word.task))
        if known is not None and known.epoch >= word.epoch:
            if known.epoch == word.epoch:
                self._effects.send(peer, Accepted(word.task, word.epoch))
            return
        if known is not None and known.state is GuestState.PERMITTED:
            return  # its origin let it start: it cannot have taken it back
        kept = self._quoting.redeem(peer, word, time)
        # What was promised holds, also if we have been paused meanwhile.
        reason = "" if kept is not None else self._quoting.objection(peer, word.visited)
        if fault or task is None:
            onward = kept is not None and kept.where != self._settings.name
            reason = reason or ("" if onward else fault or "it cannot be run here")
            task = _in_transit(word.document, peer, time)
        if reason:
            self._effects.send(peer, Refused(word.task, word.epoch, reason))
            return
        if known is not None:
            self._drop(known, "its domain has handed it over anew", time)
        self._take_in(peer, word, task, time)

    def granted(self, peer: str, word: Granted, time: float) -> str:
        """Its origin lets a guest start; return its task if that is so, else an empty string."""
        guest = self._find(peer, word.task, word.epoch)
        if guest is None or word.ask not in self._asked.get(guest.task, ()):
            return ""  # the answer to a question that we have not asked, or not in this life
        del self._asked[guest.task]
        self._heard[guest.task] = time
        if guest.state is GuestState.HELD:
            self._write(replace(guest, state=GuestState.PERMITTED))
            self._effects.tell(StartPermitted(time, guest.task))
        return guest.task

    def fenced(self, peer: str, word: Fenced, time: float) -> None:
        """Its origin has taken a guest back."""
        guest = self._find(peer, word.task, word.epoch)
        if guest is not None and guest.state is GuestState.HELD:
            self._drop(guest, f"taken back by {peer}", time)

    def cancel(self, peer: str, word: Cancel, time: float) -> None:
        """Its origin wants a guest not to run (any more)."""
        guest = self._find(peer, word.task, word.epoch)
        if guest is None:
            gone = RemoteTaskStatus(
                word.task, word.epoch, RemoteTaskState.RETURNED, self._settings.name, "it is not known here"
            )
            self._effects.send(peer, Report((gone,)))
        elif guest.state is GuestState.ENDED:
            self._report(guest, time)
        else:
            self._effects.tell(CancelRequested(time, guest.task, f"{word.reason} (in {peer})"))

    def noted(self, peer: str, word: Noted, time: float) -> None:
        """Its origin has taken in what we reported."""
        for note in word.notes:
            guest = self._find(peer, note.task, note.epoch)
            if guest is None:
                continue
            self._heard[guest.task] = time
            if note.final and guest.state is GuestState.ENDED:
                self._settle(guest)

    def ask_start(self, task: str, _time: float) -> None:
        """Ask a guest's origin to let it start."""
        guest = self.guest_of(task)
        if guest is not None and guest.state is GuestState.HELD:
            self._questions += 1
            self._asked.setdefault(task, set()).add(self._questions)
            self._effects.send(guest.peer, Start(guest.uuid, guest.epoch, self._questions))

    def task_changed(self, task: Task, time: float) -> None:
        """Tell a guest's origin when it starts and when it ends."""
        guest = self.guest_of(task.id)
        if guest is None or guest.state not in (GuestState.HELD, GuestState.PERMITTED):
            return
        if task.state.final:
            self._ended[task.id] = task
            guest = replace(guest, state=GuestState.ENDED)
            self._write(guest)
            self._report(guest, time)
        elif task.started is not None and task.state in (TaskState.RUNNING, TaskState.FORWARDED):
            self._report(guest, time)

    def tick(self, time: float) -> None:
        """Report at intervals, repeat what was not confirmed, give back what nobody seems to want any more."""
        for guest in list(self._guests.values()):
            if guest.state is GuestState.HELD and time > self._heard[guest.task] + 2 * self._settings.lease:
                self._effects.tell(CancelRequested(time, guest.task, f"{guest.peer} was silent for too long"))
        for peer in dict.fromkeys(guest.peer for guest in self._guests.values()):  # in an order that a replay repeats
            if time >= self._reported.get(peer, -math.inf) + self._settings.lease / 4:
                self._reported[peer] = time
                self._report_all(peer, time)

    # ── within ───────────────────────────────────────────────────────────────────────────────────────────────

    def _take_in(self, peer: str, word: Commit, task: Task, time: float) -> None:
        number = self._number()
        task = replace(task, id=str(number), number=number, submitted=time, origin=peer, held=True)
        guest = Guest(
            word.task, word.epoch, peer, task.id, GuestState.HELD, word.hops, word.visited, word.document, time
        )
        self._write(guest)
        self._effects.statistics.take(len(word.visited))
        self._heard[task.id] = time
        self._effects.tell(TaskSubmitted(time, task))
        self._effects.send(peer, Accepted(word.task, word.epoch))

    def _drop(self, guest: Guest, reason: str, time: float) -> None:
        """Forget a guest that has not started: its origin knows, so nothing is reported."""
        ended = guest.state is GuestState.ENDED
        self._settle(guest)
        if not ended:
            self._effects.tell(CancelRequested(time, guest.task, reason))

    def _report(self, guest: Guest, time: float) -> None:
        self._effects.send(guest.peer, Report((self._status(guest, time, {}),)))

    def _report_all(self, peer: str, time: float) -> None:
        ends = self._domain.ends(time)
        guests = [guest for guest in self._guests.values() if guest.peer == peer]
        self._effects.send(peer, Report(tuple(self._status(guest, time, ends) for guest in guests)))

    def _status(self, guest: Guest, time: float, ends: Mapping[str, float]) -> RemoteTaskStatus:
        task = self._ended.get(guest.task) or self._domain.task(guest.task)
        assert task is not None  # a guest that has not ended lives
        state = _PROGRESS.get(task.state, RemoteTaskState.WAITING if task.started is None else RemoteTaskState.RUNNING)
        if state is RemoteTaskState.CANCELLED and not task.attempts and not task.peer:
            state = RemoteTaskState.RETURNED
        end = ends.get(guest.task)
        return RemoteTaskStatus(
            guest.uuid,
            guest.epoch,
            state,
            task.peer or self._settings.name,
            task.reason,
            task.hosts,
            None if end is None else end - time,
            None if task.started is None else time - task.started,
            None if task.finished is None else time - task.finished,
            task.actual,
            task.exit_code,
        )

    def _find(self, peer: str, uuid: str, epoch: int) -> Guest | None:
        guest = self._guests.get((peer, uuid))
        return guest if guest is not None and guest.epoch == epoch else None

    def _keep(self, guest: Guest) -> None:
        self._guests[guest.peer, guest.uuid] = guest
        self._by_task[guest.task] = (guest.peer, guest.uuid)

    def _write(self, guest: Guest) -> None:
        self._keep(guest)
        self._effects.write_guest(guest)

    def _settle(self, guest: Guest) -> None:
        self._effects.write_guest(replace(guest, state=GuestState.SETTLED))
        del self._guests[guest.peer, guest.uuid], self._by_task[guest.task]
        self._ended.pop(guest.task, None)
        self._asked.pop(guest.task, None)
        self._heard.pop(guest.task, None)


def _in_transit(document: TaskDocument, peer: str, time: float) -> Task:
    """Return the task of a neighbour's document that cannot run here; nobody has looked at what is in it."""
    name = document.name[:_MAX_NAME]
    return Task(
        "",
        0,
        name,
        document.application[:_MAX_NAME] or name,
        document.command,
        time,
        owner=f"{document.owner}@{peer}",
        deadline=time + document.deadline,
        best_effort=document.best_effort,
        parameters={each.name: each.value for each in document.parameters},
        count=document.least,
        time_limit=document.time_limit,
    )
