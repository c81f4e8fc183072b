"""Attempts are started, and followed by the manager's reports."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.attempts.cancelling import AttemptCancels
from cosched.coscheduler.attempts.ending import AttemptEnds
from cosched.coscheduler.attempts.unstarted import UnstartedAttempts
from cosched.coscheduler.changes import DispatchAttempt, LocateAttempt
from cosched.coscheduler.elastic.checkpoints import has_checkpointed
from cosched.coscheduler.elastic.values import LeadStatus
from cosched.coscheduler.elastic.workers import WorkerReports
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptBegun,
    AttemptDiagnosed,
    AttemptMissing,
    AttemptSubmitted,
    JobReported,
    PredictionPassed,
    SubmitFailed,
)
from cosched.coscheduler.places.contention import contention_on
from cosched.coscheduler.places.owner_loads import slowdown_by_owners
from cosched.coscheduler.recording.snapshot import AttemptsSnapshot
from cosched.coscheduler.task import Task, TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.dispatching.submit_limits import SubmitLimits
    from cosched.coscheduler.events import ManagerEvent
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.state import CoreState

__all__ = ["AttemptLifecycle"]

_UNKNOWN_ATTEMPT = "the resource manager does not know this attempt"
_LIVE_JOB_STATES: Mapping[JobState, tuple[AttemptState, TaskState]] = {
    JobState.QUEUED: (AttemptState.SUBMITTED, TaskState.DISPATCHING),
    JobState.RUNNING: (AttemptState.RUNNING, TaskState.RUNNING),
    JobState.HELD: (AttemptState.HELD, TaskState.DISPATCHING),
}


class AttemptLifecycle:
    """Starts attempts, and takes the manager's reports on them.

    Attributes:
        paused_until: no attempt is submitted before this epoch time, because the manager did not answer; 0 for none.
        limits: how many attempts of an owner the manager takes.
        unstarted: attempts that the manager has and has not started.
        cancels: the attempts that are being cancelled.
        ends: ends attempts and tasks, or queues these again.
        workers: follows the workers of elastic tasks.
    """

    def __init__(self, settings: CoreSettings, state: CoreState, queue: TaskQueue, limits: SubmitLimits) -> None:
        self.paused_until = 0.0
        self.limits = limits
        self.unstarted = UnstartedAttempts(settings, state)
        self.cancels = AttemptCancels(state, self.unstarted)
        self.ends = AttemptEnds(settings, state, queue, self.unstarted, self.cancels)
        self.workers = WorkerReports(state, self.limits, self.unstarted, self.cancels.give_up, self._pause)
        self._settings = settings
        self._state = state
        self._queue = queue
        self._corrections = state.corrections
        self._instance = UUID(settings.instance)
        self._failures = 0  # submits in a row that the manager did not answer

    def room(self, owner: str, time: float) -> float:
        """Return how many more attempts of an owner the manager is thought to take now."""
        return self.limits.room(owner, self._state.live_by_owner[owner], time)

    def limited_owners(self) -> dict[str, float]:
        """Return the owners at the manager's limit, and when one more attempt is tried."""
        limits, live = self.limits.by_owner, self._state.live_by_owner
        return {owner: limit.until for owner, limit in limits.items() if live[owner] >= limit.limit} if limits else {}

    def snapshot(self) -> AttemptsSnapshot:
        """Return all that is remembered beside the attempts themselves."""
        return AttemptsSnapshot(
            self.paused_until,
            self._failures,
            dict(self.ends.lost),
            dict(self.cancels.asked),
            self.limits.snapshot(),
            tuple(sorted(self.ends.distrusted)),
            self.unstarted.snapshot(),
            self.workers.snapshot(),
            dict(self.ends.refusals),
        )

    def load(self, snapshot: AttemptsSnapshot) -> None:
        """Go on from a snapshot."""
        self.paused_until, self._failures = snapshot.paused_until, snapshot.failures
        self.ends.lost, self.cancels.asked = dict(snapshot.lost), dict(snapshot.cancel_requests)
        self.limits.load(snapshot.limits)
        self.ends.refusals = dict(snapshot.refusals)
        self.ends.distrusted = set(snapshot.distrusted)
        self.unstarted.load(snapshot.unstarted)
        self.workers.load(snapshot.ended_leads)

    def start(self, task: Task, hosts: tuple[str, ...], seconds: float | None, time: float) -> None:
        """Start a task now, on the given hosts or, without any, wherever the manager likes.

        `seconds` is how long its hosts are reckoned to be taken; None if unknown.
        """
        number = task.status.attempts + 1
        # Derived, not drawn: the core stays repeatable, and a restart cannot give one attempt two names.
        # The submission's time is in it: numbers come again where an old backup of the database is restored.
        uuid = str(uuid5(self._instance, f"{task.id}/{task.submitted!r}/{number}"))
        attempt = Attempt(uuid, task.id, hosts, len(hosts) or task.spec.count, seconds, created=time)
        if task.spec.elastic is not None and task.spec.elastic.restart:
            attempt = replace(attempt, lead=LeadStatus(restarts=True))
        elif task.spec.elastic is not None and hosts:
            stays = task.spec.elastic.whole_chain
            status = LeadStatus(promised=hosts[1:], whole_chain=stays, gathers=stays)
            attempt = replace(attempt, hosts=hosts[:1], count=1, lead=status)
        if (share := self._state.hosts.share_of(task.spec)) is not None:
            attempt = replace(attempt, **asdict(share), part=self._state.hosts.part(share))
        predicted = None if task.profile is None else self._corrections.expected_run_time(task, len(hosts) or 1)
        longer = slowdown_by_owners(task, hosts, self._state.hosts.loads, self._settings.interruption)
        contention = contention_on(self._state.hosts, self._corrections.contention, task, hosts)
        together = longer * contention
        task = task.with_status(
            state=TaskState.DISPATCHING,
            reason="",
            attempts=number,
            hosts=hosts,
            host_cores=self._state.hosts.cores_of(task.spec),
            dispatched=time,
            predicted=predicted if predicted is None or together == 1 else predicted * together,
            started=None,
            load_factor=longer,
            beside=None,
            contention=contention,
        )
        self._queue.remove(task.id)
        self._state.put(task)
        self._state.put_attempt(attempt)
        restarts = attempt.lead is not None and attempt.lead.restarts
        self._state.decide(DispatchAttempt(attempt, task.as_start() if restarts else task))

    def cancel(self, task: Task, reason: str, time: float) -> None:
        """See to it that a task does not run (any more)."""
        attempt = self._state.attempt_of(task.id)
        if attempt is None and task.status.peer:
            self._state.put(task.with_status(state=TaskState.CANCELLING, reason=reason))  # that domain is told
        elif attempt is None:
            self.ends.end_task(task.with_status(state=TaskState.CANCELLED, reason=reason, finished=time))
        elif task.status.state is not TaskState.CANCELLING:
            self._state.put(task.with_status(state=TaskState.CANCELLING, reason=reason))
            self.cancels.give_up(attempt, reason, time)

    def find_all(self, time: float) -> None:
        """Ask the manager for all live attempts, and go on cancelling those being cancelled.

        A former process may have stopped in the middle of either.
        """
        for attempt in self._state.attempts.values():
            if attempt.state is AttemptState.CANCELLING:
                self.cancels.ask(attempt, time)
                continue
            self._state.decide(LocateAttempt(attempt.uuid))
            if attempt.state is AttemptState.SUBMITTED:
                self.unstarted.wait(attempt.uuid, time)

    def handle(self, event: ManagerEvent) -> None:
        """Apply a report of the manager to its attempt; ignore it if that has ended."""
        uuid = event.report.attempt if isinstance(event, JobReported) else event.attempt
        attempt = self._state.attempts.get(uuid)
        if attempt is None:
            return
        if attempt.worker:
            self._hear_of_worker(attempt, event)
        elif attempt.lead is None or not self.workers.holds_back(attempt, event):
            self._hear(attempt, event)

    def _hear_of_worker(self, worker: Attempt, event: ManagerEvent) -> None:
        self.workers.handle(worker, event)
        if worker.uuid not in self._state.attempts:
            self.cancels.asked.pop(worker.uuid, None)
        if (end := self.workers.released(worker.task, event.time)) is not None:
            self.handle(end)

    def _hear(self, attempt: Attempt, event: ManagerEvent) -> None:
        match event:
            case AttemptSubmitted():
                self._submitted(attempt, event)
            case SubmitFailed():
                self._submit_failed(attempt, event)
            case JobReported():
                self._reported(_with_report(attempt, event.report), event.report, event.time)
            case AttemptMissing():
                self._missing(attempt, event.time)
            case AttemptAbsent():
                self.ends.requeue_or_end(attempt, AttemptState.LOST, attempt.reason or _UNKNOWN_ATTEMPT, event.time)
            case AttemptBegun():
                self._begun(attempt, event.time)
            case AttemptDiagnosed():
                self._diagnosed(attempt, event)
            case PredictionPassed(seconds=seconds):
                self._state.put_attempt(replace(attempt, predicted=seconds))

    def _missing(self, attempt: Attempt, time: float) -> None:
        # Written down before the fence: after a crash the fence must not pass for a user's cancel.
        if attempt.state is not AttemptState.CANCELLING:
            unanswered = attempt.reason if attempt.state is AttemptState.SUBMITTING else ""
            self.cancels.give_up(attempt, unanswered or _UNKNOWN_ATTEMPT, time)

    def _submitted(self, attempt: Attempt, event: AttemptSubmitted) -> None:
        self._failures = 0
        self.ends.refusals.pop(attempt.task, None)
        state = AttemptState.SUBMITTED if attempt.state is AttemptState.SUBMITTING else attempt.state
        self._state.put_attempt(replace(attempt, state=state, job=event.job))
        if state is AttemptState.SUBMITTED:
            self.unstarted.wait(attempt.uuid, event.time)
        owner = self._state.tasks[attempt.task].owner
        if owner in self.limits.by_owner:
            self.limits.note_success(owner, self._taken(owner))
        if state is AttemptState.CANCELLING:
            # The cancel may have overtaken the submit: say it again now that there is a job.
            self.cancels.ask(attempt, event.time)

    def _taken(self, owner: str) -> int:
        """Return how many live attempts of an owner the manager has."""
        return sum(
            attempt.state is not AttemptState.SUBMITTING and self._state.tasks[attempt.task].owner == owner
            for attempt in self._state.attempts.values()
        )

    def _submit_failed(self, attempt: Attempt, event: SubmitFailed) -> None:
        if event.refused and self._state.tasks[attempt.task].spec.adopted:  # the manager has that job already
            self.ends.job_refused(attempt, event.message, event.time)
        elif event.refused:
            owner = self._state.tasks[attempt.task].owner
            self.limits.note_refusal(owner, self._taken(owner), event.message, event.time)
            self.ends.requeue_or_end(attempt, AttemptState.LOST, event.message, event.time)
        elif event.transient:
            self._pause(event.time)
            if attempt.state is AttemptState.SUBMITTING:
                self._state.put_attempt(replace(attempt, reason=event.message))
            self._state.decide(LocateAttempt(attempt.uuid))
        elif attempt.state is AttemptState.CANCELLING:
            # Its own cancel made the submit fail: that is no fault of the task's.
            self.ends.requeue_or_end(attempt, AttemptState.CANCELLED, attempt.reason, event.time)
        elif attempt.task in self.ends.distrusted:
            self.ends.forgotten(attempt, event.message, event.time)
        elif self._state.tasks[attempt.task].origin:
            self.ends.give_back(attempt, event.message, event.time)
        else:
            self.ends.end_attempt(
                replace(attempt, state=AttemptState.FAILED, reason=event.message), event.message, event.time
            )

    def _pause(self, time: float) -> None:
        """Submit nothing for a while, longer each time that the manager did not answer."""
        if time >= self.paused_until:  # those that left together count once
            self._failures += 1
        pause = self._settings.retry * 2.0 ** min(self._failures - 1, 20)
        self.paused_until = time + min(pause, self._settings.retry_longest)

    def _reported(self, attempt: Attempt, report: JobReport, time: float) -> None:
        cancelling = attempt.state is AttemptState.CANCELLING
        match report.state:
            case JobState.UNKNOWN:
                self._state.decide(LocateAttempt(attempt.uuid))
            case JobState.QUEUED | JobState.RUNNING | JobState.HELD:
                self._alive(attempt, report, time)
            case JobState.EVICTED if not cancelling:
                self.ends.count_lost(attempt.task)
                self.cancels.give_up(attempt, report.reason or "its host was lost", time)
            case JobState.COMPLETED:
                self.ends.end_attempt(replace(attempt, state=AttemptState.COMPLETED), "", time)
            case JobState.FAILED if has_checkpointed(self._state.tasks[attempt.task], attempt):
                self.ends.checkpointed(attempt, time)
            case JobState.FAILED if not cancelling:
                reason = report.reason or f"exit code {report.exit_code}"
                self.ends.program_failed(replace(attempt, state=AttemptState.FAILED), reason, time)
            case JobState.REMOVED if not cancelling and attempt.task in self.ends.distrusted:
                self.ends.forgotten(attempt, report.reason, time)
            case JobState.REMOVED if not cancelling:
                reason = report.reason or "removed from the resource manager's queue by hand"
                self.ends.end_attempt(replace(attempt, state=AttemptState.CANCELLED, reason=reason), reason, time)
            case JobState.REMOVED | JobState.FAILED:
                # Some managers report what dies of our own cancel as a failure.
                self.ends.requeue_or_end(attempt, AttemptState.CANCELLED, attempt.reason, time)

    def _begun(self, attempt: Attempt, time: float) -> None:
        """Follow an attempt further that could not be called back, unless its task is cancelled meanwhile."""
        task = self._state.tasks[attempt.task]
        if not self.cancels.is_called_back(attempt):
            return
        self.cancels.asked.pop(attempt.uuid, None)
        self.unstarted.began(attempt)
        self._state.put_attempt(replace(attempt, state=AttemptState.RUNNING, started=time, reason=""))
        self._state.put(task.with_status(state=TaskState.RUNNING, started=time, reason="", unstarted=0, avoids={}))
        self._state.replan()
        self._state.decide(LocateAttempt(attempt.uuid))  # when it began, and whether it has ended

    def _diagnosed(self, attempt: Attempt, event: AttemptDiagnosed) -> None:
        """Call an attempt back that will not begin on its hosts.

        Of one without hosts only the reason is shown.
        """
        if attempt.state is not AttemptState.SUBMITTED:
            return
        reason = event.diagnosis.reason
        if why := self.unstarted.answered(attempt, event.diagnosis, event.time):
            tries = self.unstarted.tries(attempt.task)
            avoids = self.unstarted.avoids(attempt.task)
            self._state.put(self._state.tasks[attempt.task].with_status(unstarted=tries, avoids=avoids))
            self.cancels.give_up(attempt, why, event.time)
        elif reason and not attempt.hosts:
            self._state.put_attempt(replace(attempt, reason=reason))
            self._state.put(self._state.tasks[attempt.task].with_status(reason=f"not started yet: {reason}"))

    def _alive(self, attempt: Attempt, report: JobReport, time: float) -> None:
        self.ends.distrusted.discard(attempt.task)
        state, task_state = _LIVE_JOB_STATES[report.state]
        task = self._state.tasks[attempt.task]
        begun = task.spec.adopted and state is AttemptState.RUNNING and task.status.state is not TaskState.CANCELLING
        if attempt.state is AttemptState.CANCELLING and not begun:  # a user's own job that has begun runs on
            called_back = self.cancels.is_called_back(self._state.attempts[attempt.uuid])
            self._state.put_attempt(replace(attempt, started=None) if called_back else attempt)
            return
        if attempt.state is AttemptState.RUNNING and state is AttemptState.SUBMITTED:
            return  # an old report that came late; losing a host is EVICTED
        if AttemptState.HELD in (state, attempt.state):
            self._state.replan()  # its hosts come free, or are taken again
        if state is AttemptState.RUNNING is not attempt.state:
            if self._state.attempts[attempt.uuid].hosts:  # else it waited for hosts of the manager's choice
                self._corrections.learn_latency(attempt)
            self.unstarted.began(attempt)
            if task.profile is None:
                self._state.replan()  # it takes hosts that the plan did not reckon with
        if attempt.lead is not None and attempt.lead.gathers and state is AttemptState.RUNNING:
            task_state = TaskState.DISPATCHING  # its job runs, its stage has not begun
        reason = report.reason if state is AttemptState.RUNNING else ""  # part of it does not run, say
        if state is AttemptState.SUBMITTED:
            self.unstarted.wait(attempt.uuid, time)
            reason = task.status.reason if attempt.state is state else ""  # why it has not begun
        elif state is AttemptState.HELD:
            self.unstarted.forget(attempt.uuid)
            reason = f"held by the resource manager: {report.reason}"
        self._state.put_attempt(replace(attempt, state=state, reason=report.reason or (reason and attempt.reason)))
        unstarted, avoids = self.unstarted.tries(task.id), self.unstarted.avoids(task.id)
        hosts = task.status.hosts or attempt.hosts
        task = task.with_status(state=task_state, started=attempt.started, reason=reason)
        self._state.put(task.with_status(hosts=hosts, unstarted=unstarted, avoids=avoids))


def _with_report(attempt: Attempt, report: JobReport) -> Attempt:
    started = attempt.started if report.started is None else report.started
    if attempt.lead is not None and attempt.lead.whole_chain:  # its job may have begun with another stage
        ended = attempt.started is None and report.state.final and report.started is not None
        started = max(report.started or 0.0, attempt.created) if ended else attempt.started
    return replace(
        attempt,
        job=report.job or attempt.job,
        hosts=attempt.hosts or report.hosts,  # where it passed through, the manager's choice
        started=started,
        finished=report.finished if report.finished is not None else attempt.finished,
        exit_code=report.exit_code if report.exit_code is not None else attempt.exit_code,
    )
