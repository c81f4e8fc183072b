"""Application services reach the core of the domain here, and wait for its answers.

The daemon's inbox is the `CoreAccess`; start at `CoreClient.ask`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as NoAnswerError
from typing import TYPE_CHECKING, Protocol, TypeVar

from cosched.coscheduler.events import Event
from cosched.coscheduler.task import Task
from cosched.errors import SystemFault

if TYPE_CHECKING:
    from concurrent.futures import Future

    from cosched.coscheduler.changes import KeyedSubmission
    from cosched.coscheduler.core import Coscheduler

__all__ = ["ChangeListener", "CoreAccess", "CoreClient", "MistakeError"]

ChangeListener = Callable[[Collection[Task], Sequence[Event]], None]
"""Called with the tasks that changed and the events that were handled, in order."""

_T = TypeVar("_T")


class MistakeError(SystemFault):
    """Cosched made a mistake with a request; nothing of it was done."""


class CoreAccess(Protocol):
    """The thread that owns the core, for all other threads."""

    @property
    def store_fault(self) -> str:
        """The reason why the database cannot be written; empty while it can."""
        ...

    def now(self) -> float:
        """Return the time as the core will see it, seconds since the epoch."""
        ...

    def ask(self, question: Callable[[Coscheduler, float], _T]) -> Future[_T]:
        """Have a function called with core and time, between events; it must change nothing."""
        ...

    def apply(self, event: Event, check: Callable[[Coscheduler], None] | None = None) -> Future[None]:
        """Tell the core of an event; the answer comes when its changes are on disk.

        Args:
            event: what happened.
            check: called with the core just before the event; what it raises keeps the event from the core.
        """
        ...

    def accept(
        self,
        tasks: Sequence[Task],
        submission: KeyedSubmission | None = None,
        check: Callable[[Coscheduler], None] | None = None,
    ) -> Future[tuple[Task, ...]]:
        """Number new tasks and take them in, all or none; the answer means "on disk".

        Args:
            tasks: without numbers.
            submission: under which they come, with its idempotency key.
            check: called with the core just before they are taken in; what it raises refuses them.
        """
        ...


class CoreClient:
    """Asks the core and waits for its answers, but not for ever."""

    def __init__(self, core: CoreAccess, patience: float = 20.0) -> None:
        """Set up.

        Args:
            core: to be asked.
            patience: seconds to wait for an answer; what it says is on disk before.
        """
        self._core = core
        self._patience = patience

    def now(self) -> float:
        """Return the time as the core will see it, seconds since the epoch."""
        return self._core.now()

    def begin(self, question: Callable[[Coscheduler, float], _T]) -> Future[_T]:
        """Ask as `ask` does, without waiting for the answer."""
        return self._core.ask(question)

    def ask(self, question: Callable[[Coscheduler, float], _T]) -> _T:
        """Return what a function says of the core.

        It is called on the core's thread and must change nothing.
        """
        return self.wait(self._core.ask(question))

    def apply(self, event: Event, check: Callable[[Coscheduler], None] | None = None) -> None:
        """Tell the core of an event, unless a check of the core refuses it.

        On return its changes are on disk.
        """
        self.wait(self._core.apply(event, check))

    def accept(
        self,
        tasks: Sequence[Task],
        submission: KeyedSubmission | None = None,
        check: Callable[[Coscheduler], None] | None = None,
    ) -> Future[tuple[Task, ...]]:
        """Accept new tasks, all or none, unless a check of the core refuses them.

        Use `wait` for the answer.
        """
        return self._core.accept(tasks, submission, check)

    def wait(self, answer: Future[_T]) -> _T:
        """Return an answer of the core.

        Raises:
            SystemFault: it takes too long; says whether the request may yet be carried out.
        """
        try:
            return answer.result(self._patience)
        except (NoAnswerError, CancelledError) as error:
            why = self._core.store_fault or "it is busy"
            # Taken back where it has not been begun: a second try would else have it done twice.
            if answer.cancel():
                raise SystemFault(f"cosched cannot answer ({why}): try again; nothing was done") from error
            raise SystemFault(
                f"cosched cannot answer ({why}): it may yet be done, so look before you try again, or use the same key"
            ) from error
