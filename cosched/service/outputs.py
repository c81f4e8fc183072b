"""What tasks wrote, wherever they ran: from our resource manager, or from the neighbour that a task was handed to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.agent.outputs import MOST, OutputQuery
from cosched.agent.records import HandoverState
from cosched.portal.problems import NotFoundError
from cosched.store.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.agent.records import Handover
    from cosched.connector.interface import Output
    from cosched.store.store import Store

    Local = Callable[[str, str, int, int, int], Output | None]
    Distant = Callable[[str, OutputQuery], Output | None]

__all__ = ["Outputs"]


class Outputs:
    """Finds them. May be used from several threads.

    Attributes:
        ask: asks a neighbour; set where there is an agent.
    """

    def __init__(self, store: Store, local: Local) -> None:
        """Set up.

        Args:
            store: knows attempts and hand-overs.
            local: returns what a process of an attempt wrote here, by UUID, stream, rank, offset and limit.
        """
        self.ask: Distant | None = None
        self._store = store
        self._exchange = Exchange(store)
        self._local = local

    def read(self, task: str, stream: str, rank: int, attempt: int, offset: int, limit: int) -> Output | None:
        """Return part of what a process of a task wrote; None where nothing is kept.

        Tries here are numbered before those in another domain.

        Args:
            task: its identifier here.
            stream: "out" or "err".
            rank: of the process.
            attempt: which try, from 1; 0 for the last.
            offset: first byte; negative counts from the end.
            limit: most bytes.

        Raises:
            NotFoundError: there is no such try.
            SystemFault: the domain that has the output does not give it.
        """
        tries = self._store.attempts(task)
        handed = self._handed(task)
        if handed is not None and self.ask is not None and not 0 < attempt <= len(tries):
            there = max(attempt - len(tries), 0)
            return self.ask(handed.peer, OutputQuery(handed.uuid, stream, rank, there, offset, min(limit, MOST)))
        if attempt > len(tries):
            raise NotFoundError(f"task {task} has no attempt {attempt}: it has had {len(tries)}")
        return self._local(tries[attempt - 1].uuid, stream, rank, offset, limit) if tries else None

    def for_peer(self, peer: str, query: OutputQuery) -> Output | None:
        """Return what a task wrote that this neighbour gave us; see `read`."""
        guest = self._exchange.guest(peer, query.task)
        if guest is None:
            raise NotFoundError(f"no task {query.task} has come from {peer}")
        return self.read(guest.task, query.stream, query.rank, query.attempt, query.offset, query.limit)

    def _handed(self, task: str) -> Handover | None:
        """Return the hand-over by which a task has been started elsewhere."""
        last = self._exchange.handovers(task)[-1:]
        return last[0] if last and last[0].state in (HandoverState.GRANTED, HandoverState.ENDED) else None
