"""The engine is the core at work: its thread takes events, commits their changes, then acts.

inbox ─► broker.handle ─► store.commit (durable) ─► effects ─► manager, search, letters
└─► answers, listeners
"""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from cosched.app.validation import check_predecessors
from cosched.coscheduler.changes import Changes, Outcome, Replan
from cosched.coscheduler.events import Restored, TaskSubmitted, Tick
from cosched.daemon.effects import SNAPSHOT_INTERVAL
from cosched.daemon.inbox import InboxItem
from cosched.daemon.recovery import saved_state
from cosched.errors import UserError
from cosched.store.database import StoreFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cosched.agents.broker import AgentEvent, Broker
    from cosched.app.core_access import ChangeListener
    from cosched.coscheduler.events import Event
    from cosched.daemon.effects import Effects
    from cosched.daemon.inbox import Inbox
    from cosched.store.store import Store

__all__ = ["Engine"]

_log = structlog.get_logger("cosched.engine")

_TICK = 0.25  # seconds after which the core is told that time went by, however many questions keep it busy
_BATCH = 200  # events written in one commit at most


class Engine(threading.Thread):
    """Own the core and empty the inbox, the only way to it for other threads.

    Nothing is done, and nobody is told that anything was accepted, before it is on disk.

    Attributes:
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
        """Take up the records of a former process, then serve the inbox on a thread of its own."""
        self.restore()
        super().start()

    def restore(self) -> None:
        """Take up the records of a former process, locate its attempts, and tell the listeners."""
        now = self._inbox.now()
        saved = saved_state(self._store, now)
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
                self._effects.give_snapshot(self._broker.core, self._inbox.now())
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
        if (broker.core.tasks or broker.agent is not None) and time.monotonic() >= self._ticked_at + _TICK:
            self._ticked_at = time.monotonic()
            items.append(InboxItem(event=Tick(self._inbox.now())))
        return items

    def serve(self, batch: Sequence[InboxItem]) -> None:
        """Handle items in order; consecutive ones share a commit, a question ends one."""
        step = _Step()
        for item in batch:
            if not item.answer.set_running_or_notify_cancel():
                continue  # its client has been told that nothing was done
            if item.question is not None:
                self._finish(step)
                step = _Step()
                self._answer(item)
                continue
            if any(task.spec.after for task in item.tasks):
                self._finish(step)  # so that what has ended is on disk
                step = _Step()
                if not self._check_predecessors(item):
                    continue
            step.add(item, map(self._broker.handle, self._events(item)))
        self._finish(step)

    def _check_predecessors(self, item: InboxItem) -> bool:
        """Return whether the predecessors may still succeed; refuse the tasks where not."""
        try:
            check_predecessors(item.tasks, self._store.task)
        except (UserError, StoreFault) as error:
            item.answer.set_exception(error)
            return False
        return True

    def _events(self, item: InboxItem) -> Sequence[Event | AgentEvent]:
        if item.event is not None:
            return [item.event]
        now = self._inbox.now()
        numbers = itertools.count(self._broker.core.next_number)
        item.tasks = tuple(
            replace(task, id=str(number), number=number, submitted=now)
            for number, task in zip(numbers, item.tasks, strict=False)
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
        outcome = step.outcome()
        if outcome.changes:
            self._save(outcome.changes)
        self._effects.carry_out(outcome.decisions)
        for item in step.items:
            item.answer.set_result(item.tasks or None)
        self._tell_listeners(outcome)

    def _tell_listeners(self, outcome: Outcome) -> None:
        if outcome.events:
            for listener in self._listeners:
                listener(outcome.changes.tasks.values(), outcome.events)

    def _save(self, changes: Changes) -> None:
        """Write until it is written: never act on what a crash could forget.

        Raises:
            StoreFault: it cannot be written, and `stop` was called.
        """
        while True:
            try:
                self._store.commit(changes)
            except StoreFault as fault:
                if not self._inbox.store_fault:
                    _log.error("store", fault=str(fault))
                self._inbox.note_store_fault(str(fault))
                if self._stopped.is_set():
                    raise
                time.sleep(self._retry)
            else:
                self._inbox.note_store_fault("")
                return


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
