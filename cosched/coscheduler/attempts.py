"""Attempts are started, followed, cancelled and ended here, until the manager's last word."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from cosched.connector.hosts import HostShare
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.changes import CancelAttempt, DispatchAttempt, LocateAttempt
from cosched.coscheduler.elastic.checkpoints import MOST_BREAKS, after_checkpoint, has_checkpointed
from cosched.coscheduler.elastic.values import LeadStatus, RestartRecord
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
from cosched.coscheduler.places.hosts import heaviest_load
from cosched.coscheduler.recording.snapshot import AttemptsSnapshot
from cosched.coscheduler.task import Attempt, AttemptState, Task, TaskState
from cosched.coscheduler.unstarted import UnstartedAttempts
from cosched.counts import plural
from cosched.prediction.loads.loaded_profile import times_longer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.dispatching.submit_limits import SubmitLimits
    from cosched.coscheduler.events import ManagerEvent
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.state import CoreState
    from cosched.prediction.loads.host_load import HostLoad

__all__ = ["AttemptLifecycle", "cancelled_with_predecessor"]

# How often the manager is asked again about an attempt that it has not confirmed as cancelled. Seconds.
_ASK_AGAIN = 5.0
_UNKNOWN_ATTEMPT = "the resource manager does not know this attempt"
_LIVE_JOB_STATES: Mapping[JobState, tuple[AttemptState, TaskState]] = {
    JobState.QUEUED: (AttemptState.SUBMITTED, TaskState.DISPATCHING),
    JobState.RUNNING: (AttemptState.RUNNING, TaskState.RUNNING),
    JobState.HELD: (AttemptState.HELD, TaskState.DISPATCHING),
}

_NOTHING = HostShare()
_NOT_BEGUN = (AttemptState.SUBMITTING, AttemptState.SUBMITTED)


class AttemptLifecycle:
    """Starts, follows, cancels and ends attempts, and queues their tasks again.

    A task goes back into the queue when its attempt neither completed nor failed by itself.

    Attributes:
        paused_until: no attempt is submitted before this epoch time, because the manager did not answer; 0 for none.
        limits: how many attempts of an owner the manager takes.
        unstarted: attempts that the manager has and has not started.
        workers: follows the workers of elastic tasks.
    """

    def __init__(self, settings: CoreSettings, state: CoreState, queue: TaskQueue, limits: SubmitLimits) -> None:
        self.paused_until = 0.0
        self.limits = limits
        self.unstarted = UnstartedAttempts(settings, state)
        self._settings = settings
        self._state = state
        self._queue = queue
        self._corrections = state.corrections
        self._instance = UUID(settings.instance)
        self._lost: dict[str, int] = {}  # task → attempts whose hosts were lost
        self._cancel_requests: dict[str, float] = {}  # attempt being cancelled → when the manager was asked last
        self._failures = 0  # submits in a row that the manager did not answer
        self.workers = WorkerReports(state, self.limits, self.unstarted, self.give_up, self._pause)
        self._distrusted: set[str] = set()  # tasks whose attempts may have been cancelled in changes that are forgotten

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
            dict(self._lost),
            dict(self._cancel_requests),
            self.limits.snapshot(),
            tuple(sorted(self._distrusted)),
            self.unstarted.snapshot(),
            self.workers.snapshot(),
        )

    def load(self, snapshot: AttemptsSnapshot) -> None:
        """Go on from a snapshot."""
        self.paused_until, self._failures = snapshot.paused_until, snapshot.failures
        self._lost, self._cancel_requests = dict(snapshot.lost), dict(snapshot.cancel_requests)
        self.limits.load(snapshot.limits)
        self._distrusted = set(snapshot.distrusted)
        self.unstarted.load(snapshot.unstarted)
        self.workers.load(snapshot.ended_leads)

    def distrust(self, tasks: Iterable[str]) -> None:
        """Know of tasks that a restored database may have forgotten cancels of their attempts.

        An attempt that was given up since the backup, for its host went down, looks like one that a user removed.
        """
        self._distrusted = set(tasks)

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
        longer = self.times_longer(task, hosts, self._state.hosts.loads)
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
            self.end(task.with_status(state=TaskState.CANCELLED, reason=reason, finished=time))
        elif task.status.state is not TaskState.CANCELLING:
            self._state.put(task.with_status(state=TaskState.CANCELLING, reason=reason))
            self.give_up(attempt, reason, time)

    def times_longer(self, task: Task, hosts: Sequence[str], loads: Mapping[str, HostLoad]) -> float:
        """Return how many times longer than on dedicated hosts a run on these is expected to last."""
        load = heaviest_load(hosts, loads)
        return 1.0 if load is None else times_longer(task.profile, load, len(hosts), self._settings.interruption)

    def reckon_with_loads(self, earlier: Mapping[str, HostLoad], time: float) -> None:
        """Expect running attempts to go on as their hosts' loads are now; what they have done stays done.

        How far leads have come is known to `elastic/work_done.py`.

        Args:
            earlier: the loads that were reckoned with so far.
            time: now, epoch seconds.
        """
        for attempt in list(self._state.attempts.values()):
            task = self._state.tasks[attempt.task]
            fixed = attempt.state is AttemptState.RUNNING and attempt.lead is None and not attempt.worker
            if not fixed or attempt.started is None or attempt.predicted is None or not attempt.hosts:
                continue
            before = self.times_longer(task, attempt.hosts, earlier)
            now = self.times_longer(task, attempt.hosts, self._state.hosts.loads)
            ran = min(max(time - attempt.started, 0.0), attempt.predicted)
            if now == before or ran >= attempt.predicted:
                continue
            seconds = ran + (attempt.predicted - ran) * now / before
            self._state.put_attempt(replace(attempt, predicted=seconds))
            self._state.put(task.with_status(load_factor=task.status.load_factor * seconds / attempt.predicted))

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

    def find_all(self, time: float) -> None:
        """Ask the manager for all live attempts, and go on cancelling those being cancelled.

        A former process may have stopped in the middle of either.
        """
        for attempt in self._state.attempts.values():
            if attempt.state is AttemptState.CANCELLING:
                self._ask(attempt, time)
                continue
            self._state.decide(LocateAttempt(attempt.uuid))
            if attempt.state is AttemptState.SUBMITTED:
                self.unstarted.wait(attempt.uuid, time)

    def ask_again(self, time: float) -> None:
        """Remind the manager of what it has not confirmed as cancelled."""
        for attempt in list(self._state.attempts.values()):
            if (
                attempt.state is AttemptState.CANCELLING
                and time >= self._cancel_requests.get(attempt.uuid, 0.0) + _ASK_AGAIN
            ):
                self._ask(attempt, time)

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
            self._cancel_requests.pop(worker.uuid, None)
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
                self._requeue_or_end(attempt, AttemptState.LOST, attempt.reason or _UNKNOWN_ATTEMPT, event.time)
            case AttemptBegun():
                self._begun(attempt, event.time)
            case AttemptDiagnosed():
                self._diagnosed(attempt, event)
            case PredictionPassed(seconds=seconds):
                self._state.put_attempt(replace(attempt, predicted=seconds))

    def _missing(self, attempt: Attempt, time: float) -> None:
        # Written down before the fence: after a crash the fence must not pass for a user's cancel.
        if attempt.state is not AttemptState.CANCELLING:
            self.give_up(attempt, _UNKNOWN_ATTEMPT, time)

    def _submitted(self, attempt: Attempt, event: AttemptSubmitted) -> None:
        self._failures = 0
        state = AttemptState.SUBMITTED if attempt.state is AttemptState.SUBMITTING else attempt.state
        self._state.put_attempt(replace(attempt, state=state, job=event.job))
        if state is AttemptState.SUBMITTED:
            self.unstarted.wait(attempt.uuid, event.time)
        owner = self._state.tasks[attempt.task].owner
        if owner in self.limits.by_owner:
            self.limits.note_success(owner, self._taken(owner))
        if state is AttemptState.CANCELLING:
            # The cancel may have overtaken the submit: say it again now that there is a job.
            self._ask(attempt, event.time)

    def _taken(self, owner: str) -> int:
        """Return how many live attempts of an owner the manager has."""
        return sum(
            attempt.state is not AttemptState.SUBMITTING and self._state.tasks[attempt.task].owner == owner
            for attempt in self._state.attempts.values()
        )

    def _submit_failed(self, attempt: Attempt, event: SubmitFailed) -> None:
        if event.refused:
            owner = self._state.tasks[attempt.task].owner
            self.limits.note_refusal(owner, self._taken(owner), event.message, event.time)
            self._requeue_or_end(attempt, AttemptState.LOST, event.message, event.time)
        elif event.transient:
            self._pause(event.time)
            self._state.decide(LocateAttempt(attempt.uuid))
        elif attempt.state is AttemptState.CANCELLING:
            # Its own cancel made the submit fail: that is no fault of the task's.
            self._requeue_or_end(attempt, AttemptState.CANCELLED, attempt.reason, event.time)
        elif attempt.task in self._distrusted:
            self._forgotten(attempt, event.message, event.time)
        else:
            self._ended(replace(attempt, state=AttemptState.FAILED, reason=event.message), event.message, event.time)

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
                self._lost[attempt.task] = self._lost.get(attempt.task, 0) + 1
                self.give_up(attempt, report.reason or "its host was lost", time)
            case JobState.COMPLETED:
                self._ended(replace(attempt, state=AttemptState.COMPLETED), "", time)
            case JobState.FAILED if has_checkpointed(self._state.tasks[attempt.task], attempt):
                self._checkpointed(attempt, time)
            case JobState.FAILED if not cancelling:
                reason = report.reason or f"exit code {report.exit_code}"
                self._failed(replace(attempt, state=AttemptState.FAILED), reason, time)
            case JobState.REMOVED if not cancelling and attempt.task in self._distrusted:
                self._forgotten(attempt, report.reason, time)
            case JobState.REMOVED if not cancelling:
                reason = report.reason or "removed from the resource manager's queue by hand"
                self._ended(replace(attempt, state=AttemptState.CANCELLED, reason=reason), reason, time)
            case JobState.REMOVED | JobState.FAILED:
                # Some managers report what dies of our own cancel as a failure.
                self._requeue_or_end(attempt, AttemptState.CANCELLED, attempt.reason, time)

    def _checkpointed(self, attempt: Attempt, time: float) -> None:
        """End an attempt that has checkpointed, and queue its task again on the hosts for which it was asked to."""
        task = self._state.tasks[attempt.task]
        record = after_checkpoint(task, attempt, time)
        if attempt.started is not None:
            self.unstarted.began(attempt)
        if record.breaks >= MOST_BREAKS:
            reason = f"it has checkpointed {record.breaks} times in a row soon after its start, without being asked"
            self._ended(replace(attempt, state=AttemptState.FAILED, reason=reason), reason, time)
            return
        why = f"it has checkpointed: {record.why}" if record.why else "it has checkpointed, without being asked"
        self._restart(
            replace(attempt, state=AttemptState.CHECKPOINTED, reason=_move_text(attempt, record)), record, why
        )

    def _restart(self, attempt: Attempt, record: RestartRecord, why: str) -> None:
        """End an attempt whose task is to be run again, on the hosts for which it was asked to stop.

        Args:
            attempt: as it has ended.
            record: of its task from now on.
            why: its task waits, for people.
        """
        assert attempt.lead is not None
        self._close(attempt)
        task = self._state.tasks[attempt.task]
        task = task.with_status(state=TaskState.QUEUED, reason=why, started=None, restarts=record)
        self._state.put(task)
        asked = attempt.leave_by is not None
        hosts = attempt.lead.next_hosts if asked else attempt.count
        self._queue.add_restarted(task, hosts, attempt.lead.behind if asked else "")

    def _failed(self, attempt: Attempt, reason: str, time: float) -> None:
        """End an attempt whose program failed; queue its task again where retries are left."""
        task, attempt = self._state.tasks[attempt.task], replace(attempt, reason=reason)
        # Without a code it was no fault of the program's, and an adopted job is gone with its end.
        if not task.spec.retries or not attempt.exit_code or task.spec.adopted:
            self._ended(attempt, reason, time)
            return
        failures, most = task.status.failures + 1, task.spec.retries + 1
        task = task.with_status(failures=failures)
        self._state.put(task)
        if failures == most:
            self._ended(attempt, f"{reason} (try {failures}, the last)", time)
            return
        if attempt.started is not None:
            self.unstarted.began(attempt)
        self._close(attempt)
        self._queue_again(task, f"{reason} (try {failures} of {most})", self._pause_until(failures, time), time)

    def _pause_until(self, tries: int, time: float) -> float:
        """Return the epoch time before which a task tried so often waits."""
        if tries <= 1:
            return time
        return time + min(self._settings.retry * 2.0 ** min(tries - 2, 20), self._settings.retry_longest)

    def _queue_again(self, task: Task, reason: str, until: float, time: float) -> None:
        """Queue a task whose attempt has ended; it is not tried before a time."""
        task = task.reopened().with_status(state=TaskState.QUEUED, reason=reason, started=None)
        self._state.put(task)
        self._queue.add_again(task)
        if until > time:
            self._queue.held_back[task.id] = until

    def _forgotten(self, attempt: Attempt, reason: str, time: float) -> None:
        """Queue a task again whose cancelled attempt is not recorded in the restored database."""
        self._lost[attempt.task] = self._lost.get(attempt.task, 0) + 1
        reason = f"its attempt was cancelled after the backup that the database was restored from ({reason})"
        self._requeue_or_end(attempt, AttemptState.LOST, reason, time)

    def _begun(self, attempt: Attempt, time: float) -> None:
        """Follow an attempt further that could not be called back, unless its task is cancelled meanwhile."""
        task = self._state.tasks[attempt.task]
        if not self._is_called_back(attempt):
            return
        self._cancel_requests.pop(attempt.uuid, None)
        self.unstarted.began(attempt)
        self._state.put_attempt(replace(attempt, state=AttemptState.RUNNING, started=time, reason=""))
        self._state.put(task.with_status(state=TaskState.RUNNING, started=time, reason="", unstarted=0))
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
            self._state.put(self._state.tasks[attempt.task].with_status(unstarted=tries))
            self.give_up(attempt, why, event.time)
        elif reason and not attempt.hosts:
            self._state.put_attempt(replace(attempt, reason=reason))
            self._state.put(self._state.tasks[attempt.task].with_status(reason=f"not started yet: {reason}"))

    def _alive(self, attempt: Attempt, report: JobReport, time: float) -> None:
        self._distrusted.discard(attempt.task)
        state, task_state = _LIVE_JOB_STATES[report.state]
        task = self._state.tasks[attempt.task]
        begun = task.spec.adopted and state is AttemptState.RUNNING and task.status.state is not TaskState.CANCELLING
        if attempt.state is AttemptState.CANCELLING and not begun:  # a user's own job that has begun runs on
            called_back = self._is_called_back(self._state.attempts[attempt.uuid])
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
        reason = ""
        if state is AttemptState.SUBMITTED:
            self.unstarted.wait(attempt.uuid, time)
            reason = task.status.reason if attempt.state is state else ""  # why it has not begun
        elif state is AttemptState.HELD:
            self.unstarted.forget(attempt.uuid)
            reason = f"held by the resource manager: {report.reason}"
        self._state.put_attempt(replace(attempt, state=state, reason=report.reason or (reason and attempt.reason)))
        unstarted = self.unstarted.tries(task.id)
        hosts = task.status.hosts or attempt.hosts
        task = task.with_status(state=task_state, started=attempt.started, reason=reason, unstarted=unstarted)
        self._state.put(task.with_status(hosts=hosts))

    def _ended(self, attempt: Attempt, reason: str, time: float) -> None:
        """End an attempt and with it its task."""
        if attempt.started is not None:
            self.unstarted.began(attempt)  # perhaps nothing was told of it before its end
        self._note_owners(attempt)
        self._close(attempt)
        actual = None
        if attempt.state is AttemptState.COMPLETED and attempt.started is not None and attempt.finished is not None:
            actual = attempt.finished - attempt.started
        self.end(
            self._state.tasks[attempt.task].with_status(
                state=TaskState(attempt.state.value),
                reason=reason,
                hosts=self._state.tasks[attempt.task].status.hosts or attempt.hosts,
                started=attempt.started,
                finished=time if attempt.finished is None else attempt.finished,
                actual=actual,
                exit_code=attempt.exit_code,
            )
        )

    def _note_owners(self, attempt: Attempt) -> None:
        """Note of a program that checkpoints how many times longer owners that came in mid-run had it take."""
        if attempt.lead is None or not attempt.lead.restarts or attempt.started is None or attempt.finished is None:
            return
        ran, slowed = attempt.finished - attempt.started, attempt.lead.slowed_until(attempt.finished)
        if 0 < slowed < ran:
            task = self._state.tasks[attempt.task]
            self._state.put(task.with_status(load_factor=task.status.load_factor * ran / (ran - slowed)))

    def _requeue_or_end(self, attempt: Attempt, state: AttemptState, reason: str, time: float) -> None:
        """End an abandoned attempt; queue its task again, or cancel it as asked."""
        task = self._state.tasks[attempt.task]
        if task.status.state is TaskState.CANCELLING:
            self._ended(replace(attempt, state=AttemptState.CANCELLED), task.status.reason, time)
            return
        if state is AttemptState.CANCELLED and attempt.lead is not None and attempt.leave_by is not None:
            known = task.status.restarts or RestartRecord()  # it goes on from its last checkpoint, whichever that is
            record = replace(known, count=known.count + 1, why=attempt.lead.why)
            self._restart(replace(attempt, state=state, reason=reason), record, reason)
            return
        self._close(replace(attempt, state=state, reason=reason))
        if attempt.started is not None and not task.spec.requeue:
            reason = f"{reason}; it had begun, and is not to be run again (--no-requeue)"
            self.end(task.with_status(state=TaskState.FAILED, reason=reason, finished=time))
            return
        lost = self._lost.get(task.id, 0)
        if lost >= self._settings.attempts:
            reason = f"its hosts were lost under it {lost} times; last: {reason}"
            self.end(task.with_status(state=TaskState.FAILED, reason=reason, finished=time))
            return
        if (tries := self.unstarted.tries(task.id)) >= self._settings.starts:
            self.end(
                task.with_status(state=TaskState.FAILED, reason=f"{reason} (try {tries}, the last)", finished=time)
            )
            return
        self._queue_again(task, reason, max(self.unstarted.retry_at(task.id), self._pause_until(lost, time)), time)

    def give_up(self, attempt: Attempt, reason: str, time: float) -> None:
        """Have an attempt cancelled; it stays live until the manager confirms or a fence stands.

        One that was not seen to begin is called back: reports come late, and a program that runs already runs on.
        """
        attempt = replace(attempt, state=AttemptState.CANCELLING, reason=reason)
        self.unstarted.forget(attempt.uuid)
        self._state.put_attempt(attempt)
        self._state.replan()
        self._ask(attempt, time)

    def _ask(self, attempt: Attempt, time: float) -> None:
        self._cancel_requests[attempt.uuid] = time
        task = self._state.tasks[attempt.task]
        # A user's own job is removed on the user's word alone; else only its gate is closed, and no fence is needed.
        adopted = "" if task.status.state is TaskState.CANCELLING else task.spec.adopted
        cancel = CancelAttempt(attempt.uuid, adopted, unless_begun=self._is_called_back(attempt))
        self._state.decide(cancel, LocateAttempt(attempt.uuid, fence=not adopted))

    def _is_called_back(self, attempt: Attempt) -> bool:
        """Return whether an attempt is cancelled only because it was not seen to begin; the manager knows better."""
        task = self._state.tasks[attempt.task]
        wanted = task.status.state is not TaskState.CANCELLING and not task.spec.adopted
        if attempt.lead is not None and attempt.lead.whole_chain:
            return False  # that it has not begun says nothing of its job
        return wanted and not attempt.worker and attempt.state is AttemptState.CANCELLING and attempt.started is None

    def _close(self, attempt: Attempt) -> None:
        task, count = self._state.tasks[attempt.task], len(attempt.reckoned_hosts) or attempt.count
        self._state.close_attempt(attempt, self._corrections.ends(task, count))
        self.unstarted.forget(attempt.uuid)
        self._cancel_requests.pop(attempt.uuid, None)

    def end(self, task: Task) -> None:
        """Record the end of a task and forget it; unless it completed, cancel its successors."""
        ending = [task]
        for each in ending:
            if each.id not in self._state.tasks:
                continue  # it came after two of them
            behind = self._state.successors(each.id)
            self._forget(each)
            if each.status.state is not TaskState.COMPLETED:
                ending += [cancelled_with_predecessor(self._state.tasks[name], each) for name in behind]

    def _forget(self, task: Task) -> None:
        self._queue.remove(task.id)
        self._lost.pop(task.id, None)
        self._distrusted.discard(task.id)
        self.unstarted.forget_task(task.id)
        self._corrections.learn_run_time(task)
        self._state.close(task)


def _move_text(attempt: Attempt, record: RestartRecord) -> str:
    """Say of an attempt that has checkpointed on how many hosts its task goes on, and why."""
    before, lead = plural(attempt.count, "host"), attempt.lead
    if lead is None or attempt.leave_by is None:
        return f"without being asked; it goes on with {before}"
    after = f" → {plural(lead.next_hosts, 'host')}" if lead.next_hosts != attempt.count else ", then on as many again"
    return f"{before}{after}: {record.why}"


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


def cancelled_with_predecessor(task: Task, ended: Task) -> Task:
    """Return a waiting task as cancelled, because a predecessor did not complete; a stage with its chain's reason."""
    how = "failed" if ended.status.state is TaskState.FAILED else "was cancelled"
    finished = None if ended.status.finished is None else max(ended.status.finished, task.submitted)
    reason = f"task {ended.id}, which it was to come after, {how}"
    if task.stage is not None and ended.stage is not None and task.stage.chain == ended.stage.chain:
        if ended.status.state is TaskState.FAILED:
            why = f": {ended.status.reason}" if ended.status.reason else ""
            reason = f"its stage {ended.spec.name} (task {ended.id}) failed{why}"
        else:
            reason = ended.status.reason or reason
    return task.with_status(state=TaskState.CANCELLED, reason=reason, finished=finished)
