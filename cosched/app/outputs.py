"""Task outputs are read here or from the neighbour that ran the task."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.agents.transport.remote_output import MAX_OUTPUT_BYTES, OutputQuery
from cosched.api.problems import NotFoundError
from cosched.coscheduler.handovers import HandoverState
from cosched.store.handovers import HandoverTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.connector.jobs import Output
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.handovers import Handover
    from cosched.store.store import Store

    Local = Callable[[str, str, int, int, int], Output | None]
    Distant = Callable[[str, OutputQuery], Output | None]

__all__ = ["TaskOutputs"]


class TaskOutputs:
    """Finds what tasks wrote. May be used from several threads."""

    def __init__(self, store: Store, local: Local, distant: Distant | None = None) -> None:
        """Set up.

        Args:
            store: knows attempts and hand-overs.
            local: returns what a process of an attempt wrote here, by UUID, stream, rank, offset and limit.
            distant: reads an output at a neighbour; None without an agent.
        """
        self._distant = distant
        self._store = store
        self._exchange = HandoverTable(store)
        self._local = local

    def read(self, task: str, stream: str, rank: int, attempt: int, offset: int, limit: int) -> Output | None:
        """Return part of what a process of a task wrote; None where nothing is kept.

        Tries here are numbered before those in another domain.

        Args:
            task: its identifier here.
            stream: "out" or "err".
            rank: rank of the process; of an elastic task 0 for its lead, or a worker's number.
            attempt: which try, from 1; 0 for the last.
            offset: first byte; negative counts from the end.
            limit: most bytes.

        Raises:
            NotFoundError: there is no such try.
            SystemFault: the domain that has the output does not give it.
        """
        every = self._store.attempts(task)
        tries = [each for each in every if not each.worker]
        handed = self._handed(task)
        if handed is not None and self._distant is not None and not 0 < attempt <= len(tries):
            there = max(attempt - len(tries), 0)
            return self._distant(
                handed.peer, OutputQuery(handed.uuid, stream, rank, there, offset, min(limit, MAX_OUTPUT_BYTES))
            )
        if attempt > len(tries):
            raise NotFoundError(f"task {task} has no attempt {attempt}: it has had {len(tries)}")
        if not tries:
            return None
        chosen = tries[attempt - 1]
        if rank and chosen.lead is not None and not chosen.lead.restarts:
            chosen, rank = _worker(every, tries, chosen, rank), 0
        lead = chosen.lead  # the output of one program for several stages is in one place
        uuid = chosen.uuid if lead is None or not lead.job_of else lead.job_of
        return self._local(uuid, stream, rank, offset, limit)

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


def _worker(every: Sequence[Attempt], tries: Sequence[Attempt], lead: Attempt, number: int) -> Attempt:
    """Return a worker of a try by its number.

    Raises:
        NotFoundError: the try has had none of this number.
    """
    stays = lead.lead is not None and lead.lead.whole_chain
    since = 0.0 if stays else lead.created  # a stage has workers that came with an earlier one
    until = min((each.created for each in tries if each.created > lead.created), default=math.inf)
    found = [each for each in every if each.worker == number and since <= each.created < until]
    if found:
        return max(found, key=lambda each: each.created)
    raise NotFoundError(f"this try of task {lead.task} has had no worker {number}")
