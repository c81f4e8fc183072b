"""One report from the two witnesses of a job: Slurm, and the stamps of its processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.connector import JobReport, JobState
from cosched_slurm.attempts import FENCED

if TYPE_CHECKING:
    from cosched_slurm.attempts import Stamps
    from cosched_slurm.jobs import Record

__all__ = ["judge"]

_LATE = 5.0  # seconds after which a running job whose stamps cannot be seen counts as running all the same
_VANISHED = "some of its processes vanished without a word: their host or the job's step was lost, see slurm.log"


def judge(attempt: str, record: Record | None, stamps: Stamps, *, fenced: bool, now: float) -> JobReport | None:
    """Return what is known of an attempt; None where neither witness knows it.

    Args:
        attempt: its UUID.
        record: what Slurm says; None where Slurm does not know the job, or not any more.
        stamps: what its processes said.
        fenced: whether it was cancelled.
        now: seconds since the epoch.
    """
    if record is None:
        if stamps.code is None:
            return None
        state = JobState.FAILED if stamps.code else JobState.COMPLETED
        return JobReport(attempt, state, stamps.job, stamps.started, stamps.finished, stamps.code, hosts=stamps.hosts)
    state, reason = _state(record, stamps, fenced=fenced, now=now)
    begun = state not in (JobState.QUEUED, JobState.UNKNOWN)
    over = state.final or state is JobState.EVICTED
    started = (stamps.started or record.started) if begun else None
    finished = (stamps.finished or record.finished) if over else None
    if started is not None and finished is not None:
        finished = max(started, finished)  # Slurm cuts off its seconds
    code = _exit_code(state, record, stamps)
    return JobReport(
        attempt, state, record.job, started, finished, code, reason, (stamps.hosts or record.hosts) if begun else ()
    )


def _state(record: Record, stamps: Stamps, *, fenced: bool, now: float) -> tuple[JobState, str]:
    if stamps.code == 0:
        return JobState.COMPLETED, ""  # they are through, whatever Slurm still does about the job
    match record.state:
        case JobState.QUEUED if stamps.started is not None:
            return JobState.RUNNING, ""
        case JobState.RUNNING if stamps.started is None and now < (record.started or now) + _LATE:
            return JobState.QUEUED, "its processes are being started"
        case JobState.FAILED if fenced and stamps.code is None and record.exit_code == FENCED:
            return JobState.REMOVED, "cancelled before it began"
        case JobState.EVICTED if fenced:
            return JobState.REMOVED, f"cancelled after its host was lost: {record.reason}"
        case JobState.FAILED if stamps.code is None and record.count > 1:
            return (JobState.REMOVED, "cancelled") if fenced else (JobState.EVICTED, _VANISHED)
    return record.state, record.reason


def _exit_code(state: JobState, record: Record, stamps: Stamps) -> int | None:
    if state is JobState.COMPLETED:
        return 0
    if state is not JobState.FAILED:
        return None
    return stamps.code or record.exit_code or None
