"""Attempts end here, and with them their tasks, or these wait once more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.elastic.checkpoints import MOST_BREAKS, after_checkpoint
from cosched.coscheduler.elastic.values import RestartRecord
from cosched.coscheduler.task import Task, TaskState
from cosched.counts import plural

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.cancelling import AttemptCancels
    from cosched.coscheduler.attempts.unstarted import UnstartedAttempts
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.state import CoreState


__all__ = ["AttemptEnds"]


class AttemptEnds:
    """Ends attempts; a task goes back into the queue when its attempt neither completed nor failed by itself.

    Attributes:
        lost: task → attempts whose hosts were lost.
        refusals: task of a user's own job → times in a row that this job could not be let go.
        distrusted: tasks of which a restored database may have forgotten that attempts were cancelled. One given up
            since the backup, as its host went down, looks like one that a user removed.
    """

    def __init__(
        self,
        settings: CoreSettings,
        state: CoreState,
        queue: TaskQueue,
        unstarted: UnstartedAttempts,
        cancels: AttemptCancels,
    ) -> None:
        self.lost: dict[str, int] = {}
        self.refusals: dict[str, int] = {}
        self.distrusted: set[str] = set()
        self._settings = settings
        self._state = state
        self._queue = queue
        self._unstarted = unstarted
        self._cancels = cancels
        self._corrections = state.corrections

    def count_lost(self, task: str) -> None:
        """Count an attempt of a task whose hosts were lost."""
        self.lost[task] = self.lost.get(task, 0) + 1

    def end_task(self, task: Task) -> None:
        """Record the end of a task and forget it; unless it completed, cancel its successors."""
        ending = [task]
        for each in ending:
            if each.id not in self._state.tasks:
                continue  # it came after two of them
            behind = self._state.successors(each.id)
            self._forget(each)
            if each.status.state is not TaskState.COMPLETED:
                ending += [_cancelled_with_predecessor(self._state.tasks[name], each) for name in behind]

    def end_attempt(self, attempt: Attempt, reason: str, time: float) -> None:
        """End an attempt and with it its task."""
        if attempt.started is not None:
            self._unstarted.began(attempt)  # perhaps nothing was told of it before its end
        self._note_owners(attempt)
        self._close(attempt)
        actual = None
        if attempt.state is AttemptState.COMPLETED and attempt.started is not None and attempt.finished is not None:
            actual = attempt.finished - attempt.started
        self.end_task(
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

    def checkpointed(self, attempt: Attempt, time: float) -> None:
        """End an attempt that has checkpointed, and queue its task again on the hosts for which it was asked to."""
        task = self._state.tasks[attempt.task]
        record = after_checkpoint(task, attempt, time)
        if attempt.started is not None:
            self._unstarted.began(attempt)
        if record.breaks >= MOST_BREAKS:
            reason = f"it has checkpointed {record.breaks} times in a row soon after its start, without being asked"
            self.end_attempt(replace(attempt, state=AttemptState.FAILED, reason=reason), reason, time)
            return
        why = f"it has checkpointed: {record.why}" if record.why else "it has checkpointed, without being asked"
        self._restart(
            replace(attempt, state=AttemptState.CHECKPOINTED, reason=_move_text(attempt, record)), record, why
        )

    def program_failed(self, attempt: Attempt, reason: str, time: float) -> None:
        """End an attempt whose program failed; queue its task again where retries are left."""
        task, attempt = self._state.tasks[attempt.task], replace(attempt, reason=reason)
        # Without a code it was no fault of the program's, and an adopted job is gone with its end.
        if not task.spec.retries or not attempt.exit_code or task.spec.adopted:
            self.end_attempt(attempt, reason, time)
            return
        failures, most = task.status.failures + 1, task.spec.retries + 1
        task = task.with_status(failures=failures)
        self._state.put(task)
        if failures >= most:  # more than that where its user has lowered the number meanwhile
            self.end_attempt(attempt, f"{reason} (try {failures}, the last)", time)
            return
        if attempt.started is not None:
            self._unstarted.began(attempt)
        self._close(attempt)
        self._queue_again(task, f"{reason} (try {failures} of {most})", self._pause_until(failures, time), time)

    def job_refused(self, attempt: Attempt, reason: str, time: float) -> None:
        """Queue the task of a user's own job again that could not be let go: it alone waits, longer each time."""
        self.refusals[attempt.task] = self.refusals.get(attempt.task, 0) + 1
        self.requeue_or_end(attempt, AttemptState.LOST, reason, time)

    def requeue_or_end(self, attempt: Attempt, state: AttemptState, reason: str, time: float) -> None:
        """End an abandoned attempt; queue its task again, or cancel it as asked."""
        task = self._state.tasks[attempt.task]
        if task.status.state is TaskState.CANCELLING:
            self.end_attempt(replace(attempt, state=AttemptState.CANCELLED), task.status.reason, time)
            return
        if state is AttemptState.CANCELLED and attempt.lead is not None and attempt.leave_by is not None:
            known = task.status.restarts or RestartRecord()  # it goes on from its last checkpoint, whichever that is
            record = replace(known, count=known.count + 1, why=attempt.lead.why)
            self._restart(replace(attempt, state=state, reason=reason), record, reason)
            return
        self._close(replace(attempt, state=state, reason=reason))
        if attempt.started is not None and not task.spec.requeue:
            reason = f"{reason}; it had begun, and is not to be run again (--no-requeue)"
            self.end_task(task.with_status(state=TaskState.FAILED, reason=reason, finished=time))
            return
        lost = self.lost.get(task.id, 0)
        if lost >= self._settings.attempts:
            reason = f"its hosts were lost under it {lost} times; last: {reason}"
            self.end_task(task.with_status(state=TaskState.FAILED, reason=reason, finished=time))
            return
        if (tries := self._unstarted.tries(task.id)) >= self._settings.starts:
            self.end_task(
                task.with_status(state=TaskState.FAILED, reason=f"{reason} (try {tries}, the last)", finished=time)
            )
            return
        failed = max(lost, self.refusals[task.id] + 1 if task.id in self.refusals else 0)
        self._queue_again(task, reason, max(self._unstarted.retry_at(task.id), self._pause_until(failed, time)), time)

    def forgotten(self, attempt: Attempt, reason: str, time: float) -> None:
        """Queue a task again whose cancelled attempt is not recorded in the restored database."""
        self.count_lost(attempt.task)
        reason = f"its attempt was cancelled after the backup that the database was restored from ({reason})"
        self.requeue_or_end(attempt, AttemptState.LOST, reason, time)

    def give_back(self, attempt: Attempt, reason: str, time: float) -> None:
        """End a guest whose attempt the manager refused for good: its origin may run it elsewhere.

        It counts as never tried, by which its origin is told that it comes back unstarted.
        """
        self._close(replace(attempt, state=AttemptState.FAILED, reason=reason))
        task = self._state.tasks[attempt.task]
        self.end_task(task.with_status(state=TaskState.CANCELLED, reason=reason, attempts=0, finished=time))

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
        self._state.resizes = self._state.resizes.with_restart(attempt.count, hosts)
        self._queue.add_restarted(task, hosts, attempt.lead.behind if asked else "")

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

    def _note_owners(self, attempt: Attempt) -> None:
        """Note of a program that checkpoints how many times longer owners that came in mid-run had it take."""
        if attempt.lead is None or not attempt.lead.restarts or attempt.started is None or attempt.finished is None:
            return
        ran, slowed = attempt.finished - attempt.started, attempt.lead.slowed_until(attempt.finished)
        if 0 < slowed < ran:
            task = self._state.tasks[attempt.task]
            self._state.put(task.with_status(load_factor=task.status.load_factor * ran / (ran - slowed)))

    def _close(self, attempt: Attempt) -> None:
        task, count = self._state.tasks[attempt.task], len(attempt.reckoned_hosts) or attempt.count
        self._state.close_attempt(attempt, self._corrections.ends(task, count))
        self._unstarted.forget(attempt.uuid)
        self._cancels.asked.pop(attempt.uuid, None)

    def _forget(self, task: Task) -> None:
        self._queue.remove(task.id)
        self.lost.pop(task.id, None)
        self.refusals.pop(task.id, None)
        self.distrusted.discard(task.id)
        self._unstarted.forget_task(task.id)
        self._corrections.learn_run_time(task)
        self._state.close(task)


def _move_text(attempt: Attempt, record: RestartRecord) -> str:
    """Say of an attempt that has checkpointed on how many hosts its task goes on, and why."""
    before, lead = plural(attempt.count, "host"), attempt.lead
    if lead is None or attempt.leave_by is None:
        return f"without being asked; it goes on with {before}"
    after = f" → {plural(lead.next_hosts, 'host')}" if lead.next_hosts != attempt.count else ", then on as many again"
    return f"{before}{after}: {record.why}"


def _cancelled_with_predecessor(task: Task, ended: Task) -> Task:
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
