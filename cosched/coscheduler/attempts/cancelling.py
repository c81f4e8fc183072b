"""Attempts are cancelled here, and the manager is asked again until its last word."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.connector.hosts import HostShare
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.changes import CancelAttempt, LocateAttempt
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.unstarted import UnstartedAttempts
    from cosched.coscheduler.state import CoreState


__all__ = ["AttemptCancels"]

_ASK_AGAIN = 5.0  # seconds after which the manager is asked again to cancel what it has not confirmed
_NOTHING = HostShare()
_NOT_BEGUN = (AttemptState.SUBMITTING, AttemptState.SUBMITTED)


class AttemptCancels:
    """Has attempts cancelled, which stay live until the manager confirms it or a fence stands.

    Attributes:
        asked: attempt being cancelled → when the manager was asked last, epoch seconds.
    """

    def __init__(self, state: CoreState, unstarted: UnstartedAttempts) -> None:
        self.asked: dict[str, float] = {}
        self._state = state
        self._unstarted = unstarted

    def give_up(self, attempt: Attempt, reason: str, time: float) -> None:
        """Have an attempt cancelled; it stays live until the manager confirms or a fence stands.

        One that was not seen to begin is called back: reports come late, and a program that runs already runs on.
        """
        attempt = replace(attempt, state=AttemptState.CANCELLING, reason=reason)
        self._unstarted.forget(attempt.uuid)
        self._state.put_attempt(attempt)
        self._state.replan()
        self.ask(attempt, time)

    def ask(self, attempt: Attempt, time: float) -> None:
        """Have the manager cancel an attempt that was given up, and say what became of it."""
        self.asked[attempt.uuid] = time
        task = self._state.tasks[attempt.task]
        # A user's own job is removed on the user's word alone; else only its gate is closed, and no fence is needed.
        adopted = "" if task.status.state is TaskState.CANCELLING else task.spec.adopted
        cancel = CancelAttempt(attempt.uuid, adopted, unless_begun=self.is_called_back(attempt))
        self._state.decide(cancel, LocateAttempt(attempt.uuid, fence=not adopted))

    def ask_again(self, time: float) -> None:
        """Remind the manager of what it has not confirmed as cancelled."""
        for attempt in list(self._state.attempts.values()):
            if attempt.state is AttemptState.CANCELLING and time >= self.asked.get(attempt.uuid, 0.0) + _ASK_AGAIN:
                self.ask(attempt, time)

    def is_called_back(self, attempt: Attempt) -> bool:
        """Return whether an attempt is cancelled only because it was not seen to begin; the manager knows better."""
        task = self._state.tasks[attempt.task]
        wanted = task.status.state is not TaskState.CANCELLING and not task.spec.adopted
        if attempt.lead is not None and attempt.lead.whole_chain:
            return False  # that it has not begun says nothing of its job
        return wanted and not attempt.worker and attempt.state is AttemptState.CANCELLING and attempt.started is None

    def recall(self, time: float) -> None:
        """Cancel attempts that have not begun and whose hosts are now down or taken.

        They would wait long for these hosts. Where hosts are shared, others may have taken too much of one: the
        attempts that came last go.
        """
        known = set(self._state.hosts.mine())
        for attempt in list(self._state.attempts.values()):
            gone = [host for host in attempt.hosts if host not in known]
            if gone and attempt.state in _NOT_BEGUN:
                self.give_up(attempt, f"host {gone[0]} went down, or to others, before it began there", time)
        if self._state.hosts.shared:
            self._recall_overfull(time)

    def _recall_overfull(self, time: float) -> None:
        domain = self._state.hosts
        staying = [each for each in self._state.attempts.values() if each.state is not AttemptState.CANCELLING]
        left = domain.left(staying)
        for attempt in reversed(staying):
            gone = [host for host in attempt.hosts if host in left and not _NOTHING.within(left[host])]
            if gone and attempt.state in _NOT_BEGUN:
                self.give_up(attempt, f"host {gone[0]} went to others before it began there", time)
                for host in attempt.hosts:
                    left[host] += attempt.share or domain.size(host)
