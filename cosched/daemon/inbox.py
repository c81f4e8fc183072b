"""The inbox takes from any thread what the core is to handle, accept or answer.

Start at `Inbox`; the engine empties it.
"""

from __future__ import annotations

import contextlib
import queue
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.agents.broker import AgentEvent
    from cosched.coscheduler.changes import KeyedSubmission
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.task import Task
    from cosched.daemon.clock import Clock

__all__ = ["Inbox", "InboxItem"]

_T = TypeVar("_T")


@dataclass(slots=True)
class InboxItem:
    """An item of the inbox: an event, new tasks to accept, or a question.

    An event or new tasks may have a check that must pass.
    """

    event: Event | AgentEvent | None = None
    tasks: Sequence[Task] = ()
    submission: KeyedSubmission | None = None
    check: Callable[[Coscheduler], None] | None = None
    question: Callable[[Coscheduler, float], Any] | None = None
    answer: Future[Any] = field(default_factory=Future)


class Inbox:
    """The way to the core for all other threads; the `CoreAccess` of a daemon.

    Attributes:
        store_fault: why the database cannot be written; empty while it can.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._items: queue.SimpleQueue[InboxItem | None] = queue.SimpleQueue()
        self._taken = time.monotonic()
        self.store_fault = ""

    def now(self) -> float:
        """Return the time as the core will see it, seconds since the epoch."""
        return self._clock.now()

    def post(self, event: Event | AgentEvent) -> None:
        """Tell core and agent that something happened."""
        self._items.put(InboxItem(event=event))

    def apply(self, event: Event, check: Callable[[Coscheduler], None] | None = None) -> Future[None]:
        """Tell the core of an event; the answer comes when its changes are on disk.

        Args:
            event: what happened.
            check: called with the core just before the event; what it raises keeps the event from the core.
        """
        return self._put(InboxItem(event=event, check=check))

    def accept(
        self,
        tasks: Sequence[Task],
        submission: KeyedSubmission | None = None,
        check: Callable[[Coscheduler], None] | None = None,
    ) -> Future[tuple[Task, ...]]:
        """Number tasks and take them in, all or none; the answer means "on disk".

        Until the engine is at work on them, cancelling the future takes them back.

        Args:
            tasks: without numbers.
            submission: under which they come, with its idempotency key.
            check: called with the core just before they are taken in; what it raises refuses them.
        """
        return self._put(InboxItem(tasks=tasks, submission=submission, check=check))

    def ask(self, question: Callable[[Coscheduler, float], _T]) -> Future[_T]:
        """Have a function called with core and time, between events; it must change nothing."""
        return self._put(InboxItem(question=question))

    def take(self, patience: float, most: int) -> list[InboxItem]:
        """Return the next items, waiting `patience` seconds for the first; for the engine."""
        items: list[InboxItem | None] = []
        with contextlib.suppress(queue.Empty):
            items.append(self._items.get(timeout=patience))
        while len(items) < most and not self._items.empty():
            items.append(self._items.get())
        self._taken = time.monotonic()
        return [item for item in items if item is not None]

    def wake(self) -> None:
        """End a `take` that waits."""
        self._items.put(None)

    def empty(self) -> bool:
        """Return whether nothing waits to be taken."""
        return self._items.empty()

    def silence(self) -> float:
        """Return for how many seconds the engine has taken nothing from the inbox.

        It looks several times a second.
        """
        return time.monotonic() - self._taken

    def note_store_fault(self, fault: str) -> None:
        """Note why the database cannot be written; empty when it can. For the engine."""
        self.store_fault = fault

    def _put(self, item: InboxItem) -> Future[Any]:
        self._items.put(item)
        return item.answer
