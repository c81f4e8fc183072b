"""The core at work: one thread that takes events, writes down what they change, and then acts.

    inbox ─► core.handle ─► store.commit (durable) ─► decisions ─► manager, search
                                                └─► answers to those who asked

Nothing is done, and nobody is told that anything was accepted, before it is on disk.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from cosched.agents.broker import Broker
from cosched.agents.outbox import SendLetter
from cosched.app.validation import check_predecessors
from cosched.coscheduler.changes import CancelAttempt, Changes, DispatchAttempt, LocateAttempt, Outcome, Replan
from cosched.coscheduler.events import Restored, SavedState, TaskSubmitted, Tick
from cosched.errors import UserError
from cosched.store.database import StoreFault
from cosched.store.handovers import HandoverTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cosched.agents.agent import Agent
    from cosched.agents.broker import AgentEvent
    from cosched.agents.protocol.messages import Letter
    from cosched.app.core_access import ChangeListener
    from cosched.coscheduler.changes import Decision, KeyedSubmission
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.task import Task
    from cosched.daemon.clock import Clock
    from cosched.daemon.manager import ResourceManager
    from cosched.daemon.search import SearchProcess
    from cosched.store.store import Store

__all__ = ["Engine"]

_log = structlog.get_logger("cosched.engine")
_T = TypeVar("_T")

_TICK = 0.25  # seconds after which the core is told that time went by, however many questions keep it busy
_BATCH = 200  # events written in one commit at most
_SNAPSHOT = 0.05  # seconds between two snapshots for the search at least
_SNAPSHOTS = 0.1  # share of this thread's time that snapshots may take: those of long queues are made less often
_STORE_AGAIN = 1.0  # seconds between tries to write


@dataclass(slots=True)
class _InboxItem:
    """Something for the core: an event, new tasks to accept, or a question."""

    event: Event | AgentEvent | None = None
    tasks: Sequence[Task] = ()
    submission: KeyedSubmission | None = None
    question: Callable[[Coscheduler, float], Any] | None = None
    answer: Future[Any] = field(default_factory=Future)


class Engine(threading.Thread):
    """Owns the core; everybody else talks to it through `post`, `accept` and `ask`, from any thread.

    Attributes:
        store_fault: why the database cannot be written; empty while it can.
        failed: the mistake that ended the thread; None while all is well.
        on_failure: called then, from the thread.
        manager: carries decisions out; set before anything is decided.
        search: gets snapshots; None under a policy that does not search.
        send: brings letters to neighbours; used where there is an agent.
    """

    def __init__(self, core: Coscheduler, store: Store, clock: Clock) -> None:
        super().__init__(name="engine", daemon=True)
        self._core = core
        self._broker = Broker(core)
        self._exchange = HandoverTable(store)
        self._store = store
        self._clock = clock
        self._inbox: queue.SimpleQueue[_InboxItem | None] = queue.SimpleQueue()
        self._number = store.last_number()
        self._replan = False
        self._plan_from = 0.0
        self._ticked_at = 0.0
        self._stopped = threading.Event()
        self.store_fault = ""
        self.failed: BaseException | None = None
        self.on_failure: Callable[[], None] = lambda: None
        self.manager: ResourceManager | None = None
        self.search: SearchProcess | None = None
        self.send: Callable[[Letter], None] = lambda _letter: None
        self._listeners: list[ChangeListener] = []

    def join_agent(self, agent: Agent) -> None:
        """Have an agent beside the core. Call before `restore`."""
        self._broker = Broker(self._core, agent)

    def subscribe(self, listener: ChangeListener) -> None:
        """Have a listener called with what has been written down, on this thread; it must be quick."""
        self._listeners.append(listener)

    def next_number(self) -> int:
        """Return the number of a new task; from this thread only."""
        self._number += 1
        return self._number

    def post(self, event: Event | AgentEvent) -> None:
        """Tell core and agent that something happened."""
        self._inbox.put(_InboxItem(event=event))

    def accept(self, tasks: Sequence[Task], submission: KeyedSubmission | None = None) -> Future[tuple[Task, ...]]:
        """Number these tasks and take them in, all or none; the answer comes when they are on disk.

        Until it is at work on them, cancelling the future takes them back.
        """
        item = _InboxItem(tasks=tasks, submission=submission)
        self._inbox.put(item)
        return item.answer

    def ask(self, question: Callable[[Coscheduler, float], _T]) -> Future[_T]:
        """Have a function called with the core and the time, between two events; it must change nothing."""
        item = _InboxItem(question=question)
        self._inbox.put(item)
        return item.answer

    def do(self, event: Event) -> Future[None]:
        """Tell the core that something happened; the answer comes when what it changed is on disk."""
        item = _InboxItem(event=event)
        self._inbox.put(item)
        return item.answer

    def now(self) -> float:
        """Return the time as the core will see it, seconds since the epoch."""
        return self._clock.now()

    def stop(self) -> None:
        """Finish what is in the inbox and end."""
        self._stopped.set()
        self._inbox.put(None)
        if self.ident is not None:
            self.join()

    def restore(self) -> None:
        """Load what a former process left and find out what became of its attempts. Call before `start`."""
        tasks, attempts = self._store.load()
        live = [attempt for attempt in attempts if attempt.state.live]
        # A task that has ended may still have an attempt to get rid of; the core wants only those that live on.
        waiting = [task for task in tasks if not task.state.final]
        names = {task.id for task in waiting}
        guests, ended = self._exchange.guests()
        now = self._clock.now()
        saved = SavedState(
            tasks=tuple(waiting),
            attempts=tuple(attempt for attempt in live if attempt.task in names),
            completed=self._store.completed(),
            reservations=self._store.reservations(now),
            handovers=self._exchange.handovers(),
            guests=guests,
            ended=ended,
        )
        outcome = self._broker.handle(Restored(now, saved))
        self._act(outcome.decisions)
        self._replan = True
        _log.info("restored", tasks=len(waiting), attempts=len(live))

    def run(self) -> None:
        """Serve the inbox until `stop`."""
        try:
            while not self._stopped.is_set() or not self._inbox.empty():
                batch = self._take()
                if batch:
                    self._serve(batch)
                self._plan()
        except StoreFault as fault:
            _log.error("ending with what cannot be written; nothing of it was done", fault=str(fault))
        except Exception as error:
            # What is in memory may be wrong now; what is on disk is not. Ending is the way back to it.
            _log.exception("cosched made a mistake")
            self.failed = error
            self.on_failure()

    def _take(self) -> list[_InboxItem]:
        items: list[_InboxItem | None] = []
        with contextlib.suppress(queue.Empty):
            items.append(self._inbox.get(timeout=_SNAPSHOT if self._replan else _TICK))
        while len(items) < _BATCH and not self._inbox.empty():
            items.append(self._inbox.get())
        waits = self._core.tasks or self._broker.agent is not None
        if waits and time.monotonic() >= self._ticked_at + _TICK:
            self._ticked_at = time.monotonic()
            items.append(_InboxItem(event=Tick(self._clock.now())))
        return [item for item in items if item is not None]

    def _serve(self, batch: list[_InboxItem]) -> None:
        """Handle items in order; consecutive ones share a commit, a question ends one."""
        step = _Step()
        for item in batch:
            if not item.answer.set_running_or_notify_cancel():
                continue  # whoever asked has been told that nothing will come of it
            if item.question is not None:
                self._finish(step)
                step = _Step()
                self._answer(item)
                continue
            if any(task.after for task in item.tasks):
                self._finish(step)  # so that what has ended is on disk
                step = _Step()
                if not self._in_time(item):
                    continue
            step.add(item, map(self._broker.handle, self._events(item)))
        self._finish(step)

    def _in_time(self, item: _InboxItem) -> bool:
        """Whether those that new tasks come after have not ended badly since the tasks were made; else refuse them."""
        try:
            check_predecessors(item.tasks, self._store.task)
        except (UserError, StoreFault) as error:
            item.answer.set_exception(error)
            return False
        return True

    def _events(self, item: _InboxItem) -> Sequence[Event | AgentEvent]:
        if item.event is not None:
            return [item.event]
        now = self._clock.now()
        numbered = []
        for task in item.tasks:
            number = self.next_number()
            numbered.append(replace(task, id=str(number), number=number, submitted=now))
        item.tasks = tuple(numbered)
        if item.submission is not None:
            item.submission = replace(item.submission, tasks=tuple(task.id for task in numbered))
        return [TaskSubmitted(now, task) for task in numbered]

    def _answer(self, item: _InboxItem) -> None:
        assert item.question is not None
        try:
            item.answer.set_result(item.question(self._core, self._clock.now()))
        except Exception as error:  # whatever it is belongs to the one who asked
            item.answer.set_exception(error)

    def _finish(self, step: _Step) -> None:
        outcome = step.outcome()
        if outcome.changes:
            self._save(outcome.changes)
        self._act(outcome.decisions)
        for item in step.items:
            item.answer.set_result(item.tasks or None)
        if outcome.events:
            for listener in self._listeners:
                listener(outcome.changes.tasks.values(), outcome.events)

    def _save(self, changes: Changes) -> None:
        """Write until it is written: to act on what could be forgotten is the one thing never to do.

        Raises:
            StoreFault: it cannot be written, and `stop` was called.
        """
        while True:
            try:
                self._store.commit(changes)
            except StoreFault as fault:
                if not self.store_fault:
                    _log.error("store", fault=str(fault))
                self.store_fault = str(fault)
                if self._stopped.is_set():
                    raise
                time.sleep(_STORE_AGAIN)
            else:
                self.store_fault = ""
                return

    def _act(self, decisions: Sequence[Decision]) -> None:
        assert self.manager is not None
        leaving = [(one.attempt, one.task) for one in decisions if isinstance(one, DispatchAttempt)]
        for attempt, task in leaving:
            _log.info("dispatch", task=task.id, attempt=attempt.uuid, hosts=",".join(attempt.hosts))
        if leaving:
            self.manager.submit(leaving)
        for decision in decisions:
            match decision:
                case CancelAttempt(attempt=uuid):
                    self.manager.cancel(uuid)
                case LocateAttempt(attempt=uuid, fence=fence):
                    self.manager.locate(uuid, fence=fence)
                case Replan():
                    self._replan = True
                case SendLetter(letter):
                    self.send(letter)

    def _plan(self) -> None:
        began = time.monotonic()
        if not self._replan or began < self._plan_from:
            return
        self._replan = False
        if self.search is not None:
            now = self._clock.now()
            snapshot = self._core.prospect.snapshot(now)
            if snapshot is not None:
                self.search.plan(now, *snapshot)
        took = time.monotonic() - began
        self._plan_from = began + max(_SNAPSHOT, took / _SNAPSHOTS)


class _Step:
    """What is written in one commit, and what follows from it."""

    def __init__(self) -> None:
        self.items: list[_InboxItem] = []
        self._outcomes: list[Outcome] = []

    def add(self, item: _InboxItem, outcomes: Iterable[Outcome]) -> None:
        """Add an item with the outcomes of its events."""
        self.items.append(item)
        self._outcomes += outcomes
        if item.submission is not None:
            self._outcomes.append(Outcome(Changes(submissions=(item.submission,))))

    def outcome(self) -> Outcome:
        """Return the outcome of all events together."""
        return Outcome.joined(self._outcomes)
