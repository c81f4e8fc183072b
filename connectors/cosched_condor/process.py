"""One process of an attempt, and what the processes of an attempt say together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cosched.connector import JobReport, JobState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Process", "by_codes", "together"]

_NOT_EXECUTABLE = 126
_NOT_FOUND = 127


@dataclass(frozen=True, slots=True)
class Process:
    """What is known of one process: a `proc` of an HTCondor cluster.

    Attributes:
        state: as in a report; UNKNOWN where nothing of it was seen.
        started: seconds since the epoch; None before it ran.
        finished: seconds since the epoch; None before its end.
        code: exit code, 128 + n for signal n.
        reason: HTCondor's words.
        host: where it runs or ran, names joined by commas for a parallel job; empty where that is not known.
    """

    state: JobState = JobState.UNKNOWN
    started: float | None = None
    finished: float | None = None
    code: int | None = None
    reason: str = ""
    host: str = ""


def together(attempt: str, job: str, count: int, processes: Mapping[int, Process]) -> JobReport:
    """Report on an attempt from its processes, by rank; one that is missing may still be anything."""
    ranks = [processes.get(rank, Process()) for rank in range(max(count, 1))]
    state = _state(ranks)
    starts = [process.started for process in ranks if process.started is not None]
    ends = [process.finished for process in ranks if process.finished is not None]
    return JobReport(
        attempt=attempt,
        state=state,
        job=job,
        started=max(starts) if len(starts) == len(ranks) else None,
        finished=max(ends) if state.final and ends else None,
        exit_code=_code(ranks) if state in (JobState.COMPLETED, JobState.FAILED) else None,
        reason=_reason(state, ranks),
        hosts=_hosts(ranks),
    )


def by_codes(report: JobReport, codes: Sequence[int | None]) -> JobReport:
    """Return the report of a job that has ended as its processes' exit codes make it; without codes as it is."""
    bad = next((rank for rank, code in enumerate(codes) if code != 0), None)
    if bad is None:
        return report
    code = codes[bad]
    words = "ended without an exit code: it was killed" if code is None else _ended(code)
    return replace(report, state=JobState.FAILED, exit_code=code, reason=f"rank {bad} {words}")


def _hosts(ranks: Sequence[Process]) -> tuple[str, ...]:
    known = all(process.host for process in ranks)
    return tuple(name for process in ranks for name in process.host.split(",")) if known else ()


def _state(ranks: Sequence[Process]) -> JobState:
    states = {process.state for process in ranks}
    if all(state.final for state in states):
        final = (JobState.REMOVED, JobState.FAILED, JobState.COMPLETED)
        return next(state for state in final if state in states)
    for trouble in (JobState.HELD, JobState.EVICTED, JobState.QUEUED):
        if trouble in states:
            return trouble
    # What is neither here nor there may be on its way from the queue to the history.
    return JobState.RUNNING if states != {JobState.UNKNOWN} else JobState.UNKNOWN


def _code(ranks: Sequence[Process]) -> int | None:
    codes = [process.code for process in ranks if process.code is not None]
    return next((code for code in codes if code), 0 if codes else None)


def _reason(state: JobState, ranks: Sequence[Process]) -> str:
    for rank, process in enumerate(ranks):
        if process.state is state and process.reason:
            return process.reason
        if process.state is state is JobState.FAILED and process.code is not None:
            return f"rank {rank} {_ended(process.code)}"
    return ""


def _ended(code: int) -> str:
    if code == _NOT_FOUND:
        return "ended with exit code 127: its program was not found on the host"
    if code == _NOT_EXECUTABLE:
        return "ended with exit code 126: its program cannot be executed on the host"
    return f"ended by signal {code - 128}" if code > 128 else f"ended with exit code {code}"
