"""Reports on workers, each an attempt on one host of an elastic task; they change no task.

Start at `WorkerReports.handle`. A lead's end is held back until its workers have ended, so that no worker outlives its
task or the lead that it works for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.connector.jobs import JobState
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import LocateAttempt
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptDiagnosed,
    AttemptMissing,
    AttemptSubmitted,
    JobReported,
    SubmitFailed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.connector.jobs import JobReport
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.attempts.unstarted import UnstartedAttempts
    from cosched.coscheduler.dispatching.submit_limits import SubmitLimits
    from cosched.coscheduler.events import ManagerEvent
    from cosched.coscheduler.state import CoreState

    _End = JobReported | SubmitFailed | AttemptAbsent

__all__ = ["WorkerReports", "failed_unasked", "what_became_of"]

_UNKNOWN = "the resource manager does not know this worker"
_ENDS: Mapping[JobState, AttemptState] = {
    JobState.COMPLETED: AttemptState.COMPLETED,
    JobState.FAILED: AttemptState.FAILED,
    JobState.REMOVED: AttemptState.CANCELLED,
}
_LIVE: Mapping[JobState, AttemptState] = {
    JobState.QUEUED: AttemptState.SUBMITTED,
    JobState.RUNNING: AttemptState.RUNNING,
    JobState.HELD: AttemptState.HELD,
}


class WorkerReports:
    """Follows workers by the manager's reports, and holds back the ends of their leads."""

    def __init__(
        self,
        state: CoreState,
        limits: SubmitLimits,
        unstarted: UnstartedAttempts,
        give_up: Callable[[Attempt, str, float], None],
        pause: Callable[[float], None],
    ) -> None:
        """Set up.

        Args:
            state: the live attempts.
            limits: how many attempts of an owner the manager takes.
            unstarted: attempts that the manager has and has not started.
            give_up: has an attempt cancelled.
            pause: has no attempt submitted for a while.
        """
        self._state = state
        self._limits = limits
        self._unstarted = unstarted
        self._give_up = give_up
        self._pause = pause
        self._ended: dict[str, _End] = {}  # task → the report that its lead has ended
        self._closed: list[Attempt] = []  # workers that ended by the event under way

    def snapshot(self) -> dict[str, _End]:
        """Return the reports of ends that are held back, by task."""
        return dict(self._ended)

    def load(self, ended: Mapping[str, _End]) -> None:
        """Go on from a snapshot."""
        self._ended = dict(ended)

    def ending(self, task: str) -> bool:
        """Return whether a task's lead has ended and its workers have not."""
        return task in self._ended

    def take_ended(self) -> list[Attempt]:
        """Return the workers that have ended since the last call."""
        closed, self._closed = self._closed, []
        return closed

    def holds_back(self, lead: Attempt, event: ManagerEvent) -> bool:
        """Return whether an event that ends a lead must wait for its workers, and keep it."""
        if lead.task not in self._state.workers or not _is_end(event):
            return False
        assert isinstance(event, JobReported | SubmitFailed | AttemptAbsent)
        self._ended.setdefault(lead.task, event)
        return True

    def released(self, task: str, time: float) -> _End | None:
        """Return the report of a lead's end that need not wait any more, as of now."""
        if task not in self._ended or task in self._state.workers:
            return None
        return replace(self._ended.pop(task), time=time)

    def handle(self, worker: Attempt, event: ManagerEvent) -> None:
        """Apply a report to a live worker."""
        match event:
            case AttemptSubmitted(time, _, job):
                submitting = worker.state is AttemptState.SUBMITTING
                state = AttemptState.SUBMITTED if submitting else worker.state
                self._state.put_attempt(replace(worker, state=state, job=job))
                if state is AttemptState.SUBMITTED:
                    self._unstarted.wait(worker.uuid, time)
                if state is AttemptState.CANCELLING:  # the cancel may have overtaken the submit
                    self._give_up(self._state.attempts[worker.uuid], worker.reason, time)
            case SubmitFailed():
                self._submit_failed(worker, event)
            case JobReported():
                self._reported(worker, event.report, event.time)
            case AttemptDiagnosed():
                self._diagnosed(worker, event)
            case AttemptMissing():
                if worker.state is not AttemptState.CANCELLING:
                    self._give_up(worker, _UNKNOWN, event.time)
            case AttemptAbsent():
                self._end(worker, AttemptState.LOST, worker.reason or _UNKNOWN)

    def _submit_failed(self, worker: Attempt, event: SubmitFailed) -> None:
        if event.refused:
            owner = self._state.tasks[worker.task].owner
            self._limits.note_refusal(owner, self._state.live_by_owner[owner] - 1, event.message, event.time)
            self._end(worker, AttemptState.LOST, event.message)
        elif event.transient:
            self._pause(event.time)
            self._state.decide(LocateAttempt(worker.uuid))
        else:
            cancelling = worker.state is AttemptState.CANCELLING
            self._end(worker, AttemptState.CANCELLED if cancelling else AttemptState.FAILED, event.message)

    def _diagnosed(self, worker: Attempt, event: AttemptDiagnosed) -> None:
        """Note why a worker has not begun, or call back one that will not begin on its host."""
        if worker.state is not AttemptState.SUBMITTED:
            return
        if why := self._unstarted.answered(worker, event.diagnosis, event.time):
            self._give_up(worker, why, event.time)

    def _reported(self, worker: Attempt, report: JobReport, time: float) -> None:
        cancelling = worker.state is AttemptState.CANCELLING
        worker = replace(
            worker,
            job=report.job or worker.job,
            started=report.started if report.started is not None else worker.started,
            finished=report.finished if report.finished is not None else worker.finished,
            exit_code=report.exit_code if report.exit_code is not None else worker.exit_code,
        )
        if report.state is JobState.UNKNOWN:
            self._state.decide(LocateAttempt(worker.uuid))
        elif report.state is JobState.EVICTED:
            if not cancelling:
                self._give_up(worker, report.reason or "its host was lost", time)
        elif report.state in _ENDS:
            self._end(worker, _ENDS[report.state], worker.reason or report.reason)
        elif not cancelling:
            late = worker.state is AttemptState.RUNNING and report.state is JobState.QUEUED
            state = worker.state if late else _LIVE[report.state]
            self._state.put_attempt(replace(worker, state=state))
            if state is AttemptState.SUBMITTED:
                self._unstarted.wait(worker.uuid, time)
            else:
                self._unstarted.forget(worker.uuid)

    def _end(self, worker: Attempt, state: AttemptState, reason: str) -> None:
        ended = replace(worker, state=state, reason=reason)
        self._unstarted.forget(worker.uuid)
        self._state.close_attempt(ended)
        self._closed.append(ended)


def failed_unasked(worker: Attempt) -> bool:
    """Return whether a worker that was not to leave failed by itself, or never began and was called back."""
    never_began = worker.state is AttemptState.CANCELLED and worker.started is None
    return never_began or worker.state is AttemptState.FAILED


def what_became_of(worker: Attempt) -> str:
    """Say how a worker ended, for people."""
    code = "it ended" if worker.exit_code is None else f"it ended with code {worker.exit_code}"
    return f"worker {worker.worker} on {worker.hosts[0]}: {worker.reason or code}"


def _is_end(event: ManagerEvent) -> bool:
    match event:
        case JobReported():
            return event.report.state.final
        case SubmitFailed():
            return event.refused or not event.transient
        case _:
            return isinstance(event, AttemptAbsent)
