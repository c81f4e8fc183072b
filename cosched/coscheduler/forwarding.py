"""Forwarding keeps tasks that another domain runs for us, and those we run for another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.coscheduler.changes import AskPeers, AskStart
from cosched.coscheduler.events import (
    NeighboursChanged,
    OfferEnded,
    PeerReported,
    StartPermitted,
    TaskForwarded,
    TaskReturned,
)
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.lifecycle import AttemptLifecycle
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task

__all__ = ["Forwarding"]

_OFFER = 10.0  # seconds after which the agent is reminded of a task that it offers around; it says when nobody wants it


class Forwarding:
    """Takes tasks out of the queue and back into it when the agent says so.

    Attributes:
        neighbours: the last word about them.
    """

    def __init__(self, settings: CoreSettings, state: CoreState, queue: TaskQueue, lifecycle: AttemptLifecycle) -> None:
        self.neighbours = NeighboursChanged(-math.inf, available=False)
        self._settings = settings
        self._state = state
        self._queue = queue
        self._lifecycle = lifecycle

    def load(self, neighbours: NeighboursChanged) -> None:
        """Go on from a snapshot."""
        self.neighbours = neighbours

    def handle(
        self, event: TaskForwarded | TaskReturned | PeerReported | StartPermitted | OfferEnded | NeighboursChanged
    ) -> None:
        """Note what the agent says of the neighbours or of a task; ignore it if too late."""
        if isinstance(event, NeighboursChanged):
            self.neighbours = event
            return
        task = self._state.tasks.get(event.task)
        if task is None:
            return
        match event:
            case TaskForwarded() if task.status.state is TaskState.QUEUED and not task.status.held_by:
                self._forward(task, event)
            case TaskReturned() if task.status.peer:
                self._take_back(task, event)
            case PeerReported() if task.status.peer:
                self._report(task, event)
            case OfferEnded() if self._queue.offered_to_neighbours.get(task.id):
                # Else it was not held back for this: the agent offers late tasks by itself, too.
                self._queue.held_back.pop(task.id, None)
                self._queue.offered_to_neighbours[task.id] = False
            case StartPermitted() if task.status.held:
                self._queue.release(task.id)
                self._state.put(task.with_status(held=False))

    def keeps_back(self, task: Task, end: float, time: float) -> bool:
        """Return whether another domain must be asked before a task leaves, and ask it.

        Args:
            task: its turn has come.
            end: when it would end here, epoch seconds.
            time: now, epoch seconds.
        """
        early = self.neighbours.offer_on_time and not task.origin
        asked = not task.stays and task.spec.deadline is not None and (end > task.spec.deadline or early)
        if self.neighbours.available and asked and self._ask_peers(task.id, end, time):
            return True
        if task.status.held:
            self._ask_start(task.id, time)
        return task.status.held

    def _ask_start(self, task: str, time: float) -> None:
        """Ask the origin of a held task whether it may start.

        Meanwhile tasks that fit may use its hosts.
        """
        asked = self._queue.start_requests.get(task, 0)
        self._queue.start_requests[task] = asked + 1
        pause = self._settings.retry * 2.0 ** min(asked, 20)
        self._queue.held_back[task] = time + min(pause, self._settings.retry_longest)
        self._state.decide(AskStart(task))

    def _ask_peers(self, task: str, end: float, time: float) -> bool:
        """Offer a task to the neighbours that would be late here, once.

        It is held back while the offer is open. False means that it was offered before, and none wanted it.
        """
        if not self._queue.offered_to_neighbours.setdefault(task, True):
            return False
        self._queue.held_back[task] = time + _OFFER
        self._state.decide(AskPeers(task, end))
        return True

    def _forward(self, task: Task, event: TaskForwarded) -> None:
        self._queue.remove(task.id)
        self._state.put(task.with_status(state=TaskState.FORWARDED, peer=event.peer, reason=event.reason))
        self._state.replan()

    def _take_back(self, task: Task, event: TaskReturned) -> None:
        if task.status.state is TaskState.CANCELLING:
            self._lifecycle.ends.end_task(task.with_status(state=TaskState.CANCELLED, peer="", finished=event.time))
            return
        task = task.with_status(
            state=TaskState.QUEUED, peer="", reason=event.reason, hosts=(), host_cores=0, started=None
        )
        self._state.put(task)
        self._queue.add_again(task)
        self._state.replan()

    def _report(self, task: Task, event: PeerReported) -> None:
        if not event.state.final:
            self._state.put(task.with_status(hosts=event.hosts, host_cores=0, started=event.started))
            return
        cancelled = event.state is TaskState.CANCELLED and task.status.state is TaskState.CANCELLING
        self._lifecycle.ends.end_task(
            task.with_status(
                state=event.state,
                reason=task.status.reason if cancelled else event.reason,
                peer=event.where or task.status.peer,
                hosts=event.hosts,
                host_cores=0,
                started=event.started,
                finished=event.time if event.finished is None else event.finished,
                actual=event.actual,
                exit_code=event.exit_code,
            )
        )
