"""The engine runs the core: its thread takes events, commits their changes, then acts.

inbox ─► broker.handle ─► store.commit (durable) ─► effects ─► manager, search, letters
                                            └─► answers, listeners

An event that cannot be handled may leave core and agent half changed: nothing of it is written, and both begin anew
with the stored state. The events that shared its commit follow one by one; those that fail alone are refused, see
`_recover`.
"""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import structlog

from cosched.agents.events import LetterFailed, LetterReceived
from cosched.app.core_access import MistakeError
from cosched.app.submission.admission import check_predecessors
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import Changes, LocateAttempt, Outcome, Replan
from cosched.coscheduler.events import HostsObserved, JobReported, Restored, TaskSubmitted, Tick
from cosched.coscheduler.stages.ways import in_chain
from cosched.daemon.effects import SNAPSHOT_INTERVAL
from cosched.daemon.inbox import InboxItem
from cosched.daemon.mistakes import HOSTS, EventSource, Mistakes, source_of
from cosched.daemon.recovery import saved_again, saved_state
from cosched.durations import format_duration
from cosched.store.database import RefusedError, StoreFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cosched.agents.broker import AgentEvent, Broker
    from cosched.app.core_access import ChangeListener
    from cosched.coscheduler.events import Event, SavedState
    from cosched.coscheduler.task import Task
    from cosched.daemon.effects import Effects
    from cosched.daemon.inbox import Inbox
    from cosched.store.store import Store

__all__ = ["Engine"]

_log = structlog.get_logger("cosched.engine")

_TICK = 0.25  # seconds after which the core is told that time went by, however many questions keep it busy
_BATCH = 200  # events written in one commit at most
_SNAPSHOT = EventSource("snapshot")
_T = TypeVar("_T")


class Engine(threading.Thread):
    """Own the core and empty the inbox, the only way to it for other threads.

    Decisions are carried out and acceptances reported only after the changes are on disk.

    Attributes:
        mistakes: internal errors of cosched after which it went on.
        failed: the mistake that ended the thread; None while all is well.
    """

    def __init__(self, broker: Broker, store: Store, inbox: Inbox, effects: Effects, *, retry: float = 1.0) -> None:
        """Set up; nothing is handled before `start`.

        Args:
            broker: drives core and agent.
            store: keeps what they change.
            inbox: holds what they are to handle.
            effects: carries out what they decide.
            retry: seconds between tries to write.
        """
        super().__init__(name="engine", daemon=True)
        self._broker = broker
        self._store = store
        self._inbox = inbox
        self._effects = effects
        self._retry = retry
        self._ticked_at = 0.0
        self._stopped = threading.Event()
        self._listeners: list[ChangeListener] = []
        self._failure_listeners: list[Callable[[], None]] = []
        self._hosts: HostsObserved | None = None  # the connector's last list
        self.mistakes = Mistakes()
        self.failed: BaseException | None = None

    def subscribe(self, listener: ChangeListener) -> None:
        """Call a listener with all that was written, on this thread; it must be quick."""
        self._listeners.append(listener)

    def subscribe_failure(self, listener: Callable[[], None]) -> None:
        """Have a listener called, on this thread, when a mistake of cosched ends it."""
        self._failure_listeners.append(listener)

    def stop(self) -> None:
        """Finish the inbox's items and end."""
        self._stopped.set()
        self._inbox.wake()
        if self.ident is not None:
            self.join()

    def start(self) -> None:
        """Load the stored records, then serve the inbox on a thread of its own."""
        self.restore()
        super().start()

    def restore(self) -> None:
        """Take up the records of a former process, locate its attempts, and tell the listeners."""
        now = self._inbox.now()
        self._take_up(saved_state(self._store, now), now)

    def _take_up(self, saved: SavedState, now: float) -> None:
        outcome = self._broker.handle(Restored(now, saved))
        self._effects.carry_out((*outcome.decisions, Replan()))
        self._tell_listeners(outcome)
        _log.info("restored", tasks=len(saved.tasks), attempts=len(saved.attempts))

    def run(self) -> None:
        """Serve the inbox until `stop`."""
        try:
            while not self._stopped.is_set() or not self._inbox.empty():
                batch = self.take()
                if batch:
                    self.serve(batch)
                self._give_snapshot()
        except StoreFault as fault:
            _log.error("ending with what cannot be written; nothing of it was done", fault=str(fault))
        except Exception as error:
            # What is in memory may be wrong now; what is on disk is not. Ending is the way back to it.
            _log.exception("cosched made a mistake")
            self.failed = error
            for listener in self._failure_listeners:
                listener()

    def take(self) -> list[InboxItem]:
        """Wait for items of the inbox, for a tick at most.

        A tick of the clock is among them from time to time.
        """
        items = self._inbox.take(SNAPSHOT_INTERVAL if self._effects.snapshot_due else _TICK, _BATCH)
        broker = self._broker
        ticking = broker.core.tasks or broker.agent is not None or self.mistakes.holding
        if ticking and time.monotonic() >= self._ticked_at + _TICK:
            self._ticked_at = time.monotonic()
            items.append(InboxItem(event=Tick(self._inbox.now())))
        return items

    def serve(self, batch: Sequence[InboxItem]) -> None:
        """Handle items in order; consecutive ones share a commit, a question ends one."""
        self._release()
        step = _Step()
        for item, following in itertools.zip_longest(batch, batch[1:]):
            if not item.answer.set_running_or_notify_cancel():
                continue  # its client has been told that nothing was done
            if isinstance(item.event, HostsObserved):
                self._hosts = item.event
            if self._is_held_back(item):
                continue
            if item.question is not None:
                self._finish(step)
                step = _Step()
                self._answer(item)
                continue
            if any(task.spec.after for task in item.tasks):
                self._finish(step)  # so that what has ended is on disk
                step = _Step()
            if not self._is_acceptable(item):
                continue
            try:
                self._add(step, item, more=following is not None and isinstance(following.event, JobReported | Tick))
            except Exception as error:
                self._recover(step, error)
                step = _Step()
        self._finish(step)

    def _add(self, step: _Step, item: InboxItem, *, more: bool = False) -> None:
        """Handle an item; with `more` a report or a tick follows, and core looks at the hosts once for both."""
        events = self._events(item)
        if more and isinstance(item.event, JobReported):
            events = [replace(item.event, more=True)]
        step.add(item, map(self._broker.handle, events))

    def _is_acceptable(self, item: InboxItem) -> bool:
        """Return whether an item passes its check and its tasks' predecessors may still succeed.

        One that does not is refused with the fault.
        """
        try:
            if item.check is not None:
                item.check(self._broker.core)
            check_predecessors(item.tasks, self._store.task)
        except Exception as error:  # it is the caller's
            item.answer.set_exception(error)
            return False
        return True

    def _events(self, item: InboxItem) -> Sequence[Event | AgentEvent]:
        if item.event is not None:
            return [item.event]
        now = self._inbox.now()
        numbers = itertools.count(self._broker.core.next_number)
        item.tasks = _chains(
            _arrays(
                replace(task, id=str(number), number=number, submitted=now)
                for number, task in zip(numbers, item.tasks, strict=False)
            )
        )
        if item.submission is not None:
            item.submission = replace(item.submission, tasks=tuple(task.id for task in item.tasks))
        return [TaskSubmitted(now, task) for task in item.tasks]

    def _answer(self, item: InboxItem) -> None:
        assert item.question is not None
        try:
            item.answer.set_result(item.question(self._broker.core, self._inbox.now()))
        except Exception as error:  # it is the caller's
            item.answer.set_exception(error)

    def _finish(self, step: _Step) -> None:
        try:
            outcome = self._save(step)
        except (StoreFault, RefusedError):
            raise
        except Exception as error:
            self._recover(step, error)
        else:
            self._follow_up(step, outcome)

    def _save(self, step: _Step) -> Outcome:
        outcome = step.outcome()
        if outcome.changes:
            self._until_done(lambda: self._store.commit(outcome.changes))
        return outcome

    def _follow_up(self, step: _Step, outcome: Outcome) -> None:
        """Carry out the decisions of a stored step, and tell callers and listeners."""
        mistake = None
        try:
            self._effects.carry_out(outcome.decisions)
        except Exception as error:
            mistake = error
        for item in step.items:
            item.answer.set_result(tuple(_with_claim(task, outcome.changes) for task in item.tasks) or None)
        self._tell_listeners(outcome)
        if mistake is not None:  # all attempts are looked for, those among them that were not submitted
            self._note("its decisions", mistake)
            self._begin_anew()
            self._tell_hosts()

    def _tell_listeners(self, outcome: Outcome) -> None:
        for listener in self._listeners if outcome.events else ():
            try:
                listener(outcome.changes.tasks.values(), outcome.events)
            except Exception as error:
                self._note("what it shows of its events", error)

    def _give_snapshot(self) -> None:
        now = self._inbox.now()
        if self.mistakes.held_for(_SNAPSHOT, now):
            return
        try:
            self._effects.give_snapshot(self._broker.core, now)
        except Exception as error:
            self._note("the search's problem", error)
            self.mistakes.hold(_SNAPSHOT, now)

    def _recover(self, step: _Step, error: Exception) -> None:
        """Recover from an internal error: handle the items of a step again, one by one.

        An item that fails again is refused.

        What brings no task is handled before the hosts are known, so that nothing is dispatched with it: a task that
        cannot be dispatched is not taken for a fault of the report that made a host idle.

        Raises:
            StoreFault: something cannot be written, and `stop` was called.
        """
        self._note(str(source_of(step.items[-1])) if len(step.items) == 1 else f"{len(step.items)} events", error)
        self._begin_anew()
        for item in step.items:
            if item.tasks or isinstance(item.event, LetterReceived):
                self._tell_hosts()
            if not self._is_held_back(item):
                self._handle_alone(item)
        self._tell_hosts()

    def _handle_alone(self, item: InboxItem) -> None:
        step = _Step()
        try:
            self._add(step, item)
            outcome = self._save(step)
        except (StoreFault, RefusedError):
            raise
        except Exception as error:
            source = source_of(item)
            self._note(str(source), error)
            self.mistakes.hold(source, self._inbox.now())
            self._begin_anew()
            self._refuse(item, error)
        else:
            self._follow_up(step, outcome)

    def _refuse(self, item: InboxItem, error: Exception) -> None:
        reason = f"cosched made a mistake with it ({type(error).__name__}; its log says where), nothing of it was done"
        item.answer.set_exception(MistakeError(f"{reason}: tell its administrator"))
        if isinstance(item.event, LetterReceived):
            self._handle_alone(InboxItem(event=LetterFailed(self._inbox.now(), item.event.letter, reason)))

    def _is_held_back(self, item: InboxItem) -> bool:
        """Return whether the source of an item is held back; then the item is refused."""
        if self.mistakes.none or item.question is not None or isinstance(item.event, LetterFailed):
            return False
        seconds = self.mistakes.held_for(source_of(item), self._inbox.now())
        if seconds:
            item.answer.set_exception(
                MistakeError(
                    f"cosched made a mistake with the last such request: try again in {format_duration(seconds)}"
                )
            )
        return seconds > 0

    def _release(self) -> None:
        """Ask again for reports of sources that are no longer held back."""
        for source in self.mistakes.release(self._inbox.now()) if self.mistakes.holding else ():
            attempt = self._broker.core.attempts.get(source.name)
            if attempt is not None:
                fence = attempt.state is AttemptState.CANCELLING
                self._effects.carry_out((LocateAttempt(attempt.uuid, fence=fence),))
            elif source == HOSTS:
                self._tell_hosts()
            elif source == _SNAPSHOT:
                self._effects.carry_out((Replan(),))

    def _tell_hosts(self) -> None:
        """Tell a core that has begun anew of the hosts."""
        if self._hosts is None or self._broker.core.domain.hosts or self.mistakes.held_for(HOSTS, self._inbox.now()):
            return
        self._handle_alone(InboxItem(event=replace(self._hosts, time=self._inbox.now())))

    def _begin_anew(self) -> None:
        """Reset core and agent to the stored state, and keep the plan."""
        now, plan = self._inbox.now(), self._broker.core.plan
        has_agent = self._broker.agent is not None
        self._take_up(self._until_done(lambda: saved_again(self._store, now, plan, has_agent=has_agent)), now)

    def _note(self, what: str, error: Exception) -> None:
        _log.error("cosched made a mistake and goes on", where=what, exc_info=error)
        self.mistakes.note(what, error, self._inbox.now())

    def _until_done(self, action: Callable[[], _T]) -> _T:
        """Ask the database until it answers: never act on what a crash could forget.

        Raises:
            StoreFault: it does not, and `stop` was called.
        """
        while True:
            try:
                done = action()
            except StoreFault as fault:
                if not self._inbox.store_fault:
                    _log.error("store", fault=str(fault))
                self._inbox.note_store_fault(str(fault))
                if self._stopped.is_set():
                    raise
                time.sleep(self._retry)
            else:
                self._inbox.note_store_fault("")
                return done


def _with_claim(task: Task, changes: Changes) -> Task:
    """Return a task as it was taken in, with what its deadline claims."""
    accepted = changes.tasks.get(task.id, task)
    if task.stage is not None:  # the way that was chosen says what it is
        return accepted
    return task if accepted.status.claim is None else task.with_status(claim=accepted.status.claim)


class _Step:
    """Items of one commit, and their outcomes."""

    def __init__(self) -> None:
        self.items: list[InboxItem] = []
        self._outcomes: list[Outcome] = []

    def add(self, item: InboxItem, outcomes: Iterable[Outcome]) -> None:
        """Add an item with the outcomes of its events."""
        self.items.append(item)
        self._outcomes += outcomes
        if item.submission is not None:
            self._outcomes.append(Outcome(Changes(submissions=(item.submission,))))

    def outcome(self) -> Outcome:
        """Return the outcome of all events together."""
        return Outcome.joined(self._outcomes)


def _arrays(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return new tasks of one submission; those with indices are an array."""
    array, found = "", []
    for task in tasks:
        if task.spec.array_index is not None:
            array = array or task.id
            task = replace(task, spec=replace(task.spec, array=array))
        found.append(task)
    return tuple(found)


def _chains(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return new tasks of one submission; each stage comes after the one before it."""
    found: list[Task] = []
    chain = ""
    for task in tasks:
        if task.stage is not None:
            before = found[-1].id if task.stage.index else ""
            chain = chain if before else task.id
            task = in_chain(task, chain, before)
        found.append(task)
    return tuple(found)
