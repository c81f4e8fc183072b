"""The taking side of a hand-over, once a place is kept (`bidding.py`): neighbours' tasks here.

    Commit ─► HELD (in the queue) ─ Start, Granted ─► PERMITTED ─► ENDED
                 └─ Fenced, silence of its origin ─► SETTLED     └─ Noted ─┘

A guest waits in the queue like any other task; it starts only when its origin has granted that. A guest that cannot
run here is in transit: it is offered around until another domain takes it, and goes back if none does.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.agents.protocol.advertisement import FARTHEST
from cosched.agents.protocol.letters import Accepted, Refused, RemoteTaskState, RemoteTaskStatus, Report, Start
from cosched.coscheduler.events import CancelRequested, StartPermitted, TaskSubmitted
from cosched.coscheduler.handovers import Guest, GuestState, spec_of
from cosched.coscheduler.task import Task, TaskState
from cosched.user_names import guest_owner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.agents.context import AgentContext
    from cosched.agents.discovery.bidding import Bidder
    from cosched.agents.protocol.letters import Cancel, Commit, Fenced, Granted, Noted
    from cosched.coscheduler.handovers import TaskDocument

__all__ = ["IncomingHandovers"]

_PROGRESS = {
    TaskState.COMPLETED: RemoteTaskState.COMPLETED,
    TaskState.FAILED: RemoteTaskState.FAILED,
    TaskState.CANCELLED: RemoteTaskState.CANCELLED,
}
_MAX_NAME = 200  # characters of a name that is shown
_AT_ONCE = 500  # statuses of one letter, which may have 4 MiB: where it is too large, nothing is told of any of them
# As of agent.xsd. A job may say anything of its end: what no letter holds would keep back what is told of others.
_LARGEST_CODE = 2**31 - 1


class IncomingHandovers:
    """Takes tasks in and tells their origins what becomes of them."""

    def __init__(self, context: AgentContext, bidder: Bidder) -> None:
        """Set up.

        Args:
            context: context of the agent.
            bidder: has the places that were kept.
        """
        self._settings = context.settings
        self._outcome = context.outcome
        self._domain = context.domain
        self._bidder = bidder
        self._guests: dict[tuple[str, str], Guest] = {}  # by neighbour and UUID
        self._by_task: dict[str, tuple[str, str]] = {}
        self._ended: dict[str, Task] = {}  # guests that have ended and whose origin has not confirmed
        self._last_question = 0
        self._open_questions: dict[str, set[int]] = {}  # task → questions whether it may start; any answer will do
        self._last_heard: dict[str, float] = {}  # task → when its origin was heard of last
        self._last_report: dict[str, float] = {}  # neighbour → last report to it

    def restore(self, guests: Iterable[Guest], ended: Mapping[str, Task], time: float) -> None:
        """Restore the records of a former life: unsettled guests and their ended tasks."""
        for guest in guests:
            self._keep(guest)
            self._last_heard[guest.task] = time
        self._ended |= ended

    def guest_of(self, task: str) -> Guest | None:
        """Return the record of a guest's task; None for our own tasks."""
        key = self._by_task.get(task)
        return None if key is None else self._guests[key]

    def holds(self, peer: str, uuid: str) -> bool:
        """Return whether a neighbour's task is here, under any epoch."""
        return (peer, uuid) in self._guests

    def commit(self, peer: str, commit: Commit, task: Task | None, fault: str, time: float) -> None:
        """Take a task in, once for each hand-over, however often it is repeated."""
        present = self._guests.get((peer, commit.task))
        if present is not None and present.epoch >= commit.epoch:
            if present.epoch == commit.epoch:
                self._outcome.send(peer, Accepted(commit.task, commit.epoch))
            return
        if present is not None and present.state is GuestState.PERMITTED:
            return  # its origin let it start: it cannot have taken it back
        kept = self._bidder.redeem(peer, commit, time)
        # A promise holds, even if the neighbour has been paused meanwhile.
        reason = "" if kept is not None else self._bidder.objection(peer, commit.visited)
        if fault or task is None:
            onward = kept is not None and kept.where != self._settings.name
            reason = reason or ("" if onward else fault or "it cannot be run here")
            task = _in_transit(commit.document, peer, time)
        if reason:
            self._outcome.send(peer, Refused(commit.task, commit.epoch, reason))
            return
        if present is not None:
            self._drop(present, "its domain has handed it over anew", time)
        self._take_in(peer, commit, task, time)

    def granted(self, peer: str, granted: Granted, time: float) -> str:
        """Let a guest start and return its task; empty if the grant is not ours.

        It is ours where it answers a question that this life has asked.
        """
        guest = self._find(peer, granted.task, granted.epoch)
        if guest is None or granted.ask not in self._open_questions.get(guest.task, ()):
            return ""  # the answer to a question that we have not asked, or not in this life
        del self._open_questions[guest.task]
        self._last_heard[guest.task] = time
        if guest.state is GuestState.HELD:
            self._write(replace(guest, state=GuestState.PERMITTED))
            self._outcome.tell(StartPermitted(time, guest.task))
        return guest.task

    def fenced(self, peer: str, fenced: Fenced, time: float) -> None:
        """Drop a guest that its origin has taken back."""
        guest = self._find(peer, fenced.task, fenced.epoch)
        if guest is not None and guest.state is GuestState.HELD:
            self._drop(guest, f"taken back by {peer}", time)

    def cancel(self, peer: str, cancel: Cancel, time: float) -> None:
        """Cancel a guest for its origin."""
        guest = self._find(peer, cancel.task, cancel.epoch)
        if guest is None:
            gone = RemoteTaskStatus(
                cancel.task, cancel.epoch, RemoteTaskState.RETURNED, self._settings.name, "it is not known here"
            )
            self._outcome.send(peer, Report((gone,)))
        elif guest.state is GuestState.ENDED:
            self._report(guest, time)
        else:
            self._outcome.tell(CancelRequested(time, guest.task, f"{cancel.reason} (in {peer})"))

    def noted(self, peer: str, noted: Noted, time: float) -> None:
        """Settle ended guests after their origin has the report."""
        for note in noted.notes:
            guest = self._find(peer, note.task, note.epoch)
            if guest is None:
                continue
            self._last_heard[guest.task] = time
            if note.final and guest.state is GuestState.ENDED:
                self._settle(guest)

    def ask_start(self, task: str) -> None:
        """Ask a guest's origin to let it start."""
        guest = self.guest_of(task)
        if guest is not None and guest.state is GuestState.HELD:
            self._last_question += 1
            self._open_questions.setdefault(task, set()).add(self._last_question)
            self._outcome.send(guest.peer, Start(guest.uuid, guest.epoch, self._last_question))

    def task_changed(self, task: Task, time: float) -> None:
        """Report a guest's start and end to its origin."""
        guest = self.guest_of(task.id)
        if guest is None or guest.state not in (GuestState.HELD, GuestState.PERMITTED):
            return
        if task.status.state.final:
            self._ended[task.id] = task
            guest = replace(guest, state=GuestState.ENDED)
            self._write(guest)
            self._report(guest, time)
        elif task.status.started is not None and task.status.state in (TaskState.RUNNING, TaskState.FORWARDED):
            self._report(guest, time)

    def tick(self, time: float) -> None:
        """Report at intervals, repeat unconfirmed ends, return the guests of silent origins."""
        for guest in list(self._guests.values()):
            if guest.state is GuestState.HELD and time > self._last_heard[guest.task] + 2 * self._settings.lease:
                self._outcome.tell(CancelRequested(time, guest.task, f"{guest.peer} was silent for too long"))
        for peer in dict.fromkeys(guest.peer for guest in self._guests.values()):  # in an order that a replay repeats
            if time >= self._last_report.get(peer, -math.inf) + self._settings.lease / 4:
                self._last_report[peer] = time
                self._report_all(peer, time)

    def _take_in(self, peer: str, commit: Commit, task: Task, time: float) -> None:
        number = self._domain.next_number()
        task = replace(task, id=str(number), number=number, submitted=time, origin=peer).with_status(held=True)
        guest = Guest(
            commit.task,
            commit.epoch,
            peer,
            task.id,
            GuestState.HELD,
            commit.hops,
            commit.visited,
            commit.document,
            time,
        )
        self._write(guest)
        self._outcome.statistics.count_taken(len(commit.visited))
        self._last_heard[task.id] = time
        self._outcome.tell(TaskSubmitted(time, task))
        self._outcome.send(peer, Accepted(commit.task, commit.epoch))

    def _drop(self, guest: Guest, reason: str, time: float) -> None:
        """Drop a guest that has not started; its origin knows and gets no report."""
        ended = guest.state is GuestState.ENDED
        self._settle(guest)
        if not ended:
            self._outcome.tell(CancelRequested(time, guest.task, reason))

    def _report(self, guest: Guest, time: float) -> None:
        self._outcome.send(guest.peer, Report((self._status(guest, time, {}),)))

    def _report_all(self, peer: str, time: float) -> None:
        ends = self._domain.ends(time)
        statuses = [self._status(guest, time, ends) for guest in self._guests.values() if guest.peer == peer]
        for begin in range(0, len(statuses), _AT_ONCE):
            self._outcome.send(peer, Report(tuple(statuses[begin : begin + _AT_ONCE])))

    def _status(self, guest: Guest, time: float, ends: Mapping[str, float]) -> RemoteTaskStatus:
        task = self._ended.get(guest.task) or self._domain.task(guest.task)
        assert task is not None  # a guest that has not ended lives
        here = task.status
        state = _PROGRESS.get(here.state, RemoteTaskState.WAITING if here.started is None else RemoteTaskState.RUNNING)
        if state is RemoteTaskState.CANCELLED and not here.attempts and not here.peer:
            state = RemoteTaskState.RETURNED
        end = ends.get(guest.task)
        return RemoteTaskStatus(
            guest.uuid,
            guest.epoch,
            state,
            here.peer or self._settings.name,
            here.reason,
            here.hosts,
            None if end is None else _bounded(end - time, -FARTHEST, FARTHEST),
            None if here.started is None else _bounded(time - here.started, -FARTHEST, FARTHEST),
            None if here.finished is None else _bounded(time - here.finished, -FARTHEST, FARTHEST),
            None if here.actual is None else _bounded(here.actual, 0.0, FARTHEST),
            None if here.exit_code is None else int(_bounded(here.exit_code, -_LARGEST_CODE, _LARGEST_CODE)),
        )

    def _find(self, peer: str, uuid: str, epoch: int) -> Guest | None:
        guest = self._guests.get((peer, uuid))
        return guest if guest is not None and guest.epoch == epoch else None

    def _keep(self, guest: Guest) -> None:
        self._guests[guest.peer, guest.uuid] = guest
        self._by_task[guest.task] = (guest.peer, guest.uuid)

    def _write(self, guest: Guest) -> None:
        self._keep(guest)
        self._outcome.write_guest(guest)

    def _settle(self, guest: Guest) -> None:
        self._outcome.write_guest(replace(guest, state=GuestState.SETTLED))
        del self._guests[guest.peer, guest.uuid], self._by_task[guest.task]
        self._ended.pop(guest.task, None)
        self._open_questions.pop(guest.task, None)
        self._last_heard.pop(guest.task, None)


def _bounded(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)


def _in_transit(document: TaskDocument, peer: str, time: float) -> Task:
    """Return the task of an unchecked document that cannot run here."""
    name = document.name[:_MAX_NAME]
    spec = replace(
        spec_of(document, time),
        name=name,
        application=document.application[:_MAX_NAME] or name,
        parameters={each.name: each.value for each in document.parameters},
        environment={},
        directory="",
        prepare=(),
        native=None,
    )
    return Task("", 0, time, spec, owner=guest_owner(document.owner, peer))
