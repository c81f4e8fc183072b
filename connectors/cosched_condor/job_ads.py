"""Job ClassAds of the queue and the history as reports on attempts.

Start at `reports_of_ads`; `CondorProcess` is one process of an attempt, `attempt_report` joins all of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cosched.connector import JobReport, JobState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "COMPLETED",
    "HELD",
    "IDLE",
    "MOST_NAMED",
    "ONE_PROCESS",
    "PROJECTION",
    "SUBMITTED_ON_HOLD",
    "WITHDRAWN",
    "CondorProcess",
    "attempt_report",
    "complete_attempts",
    "constraint",
    "ended_alone",
    "host_of_slot",
    "hosts_of_ad",
    "is_cut_off",
    "is_idle",
    "is_removed",
    "is_running",
    "is_withdrawn",
    "keeps_output",
    "named",
    "rank_of",
    "reports_of_ads",
    "waits_for_release",
    "whole_number",
    "with_exit_codes",
]

_NOT_EXECUTABLE = 126
_NOT_FOUND = 127
_NO_CODE = "HTCondor says that it has ended, and not with which exit code: look at its output"


@dataclass(frozen=True, slots=True)
class CondorProcess:
    """State of one process: a `proc` of an HTCondor cluster.

    Attributes:
        state: as in a report; UNKNOWN where nothing of it was seen.
        started: seconds since the epoch; None before it ran.
        finished: seconds since the epoch; None before its end.
        code: exit code, 128 + n for signal n.
        reason: HTCondor's words.
        host: the host, or for a parallel job the hosts joined by commas; empty if unknown.
    """

    state: JobState = JobState.UNKNOWN
    started: float | None = None
    finished: float | None = None
    code: int | None = None
    reason: str = ""
    host: str = ""


def attempt_report(attempt: str, job: str, count: int, processes: Mapping[int, CondorProcess]) -> JobReport:
    """Report on an attempt from its processes, by rank; a missing one may be anything."""
    ranks = [processes.get(rank, CondorProcess()) for rank in range(max(count, 1))]
    state = _joint_state(ranks)
    starts = [process.started for process in ranks if process.started is not None]
    ends = [process.finished for process in ranks if process.finished is not None]
    return JobReport(
        attempt=attempt,
        state=state,
        job=job,
        started=max(starts) if len(starts) == len(ranks) else None,
        finished=max(ends) if state.final and ends else None,
        exit_code=_joint_exit_code(ranks) if state in (JobState.COMPLETED, JobState.FAILED) else None,
        reason=_joint_reason(state, ranks),
        hosts=_joint_hosts(ranks),
    )


def with_exit_codes(report: JobReport, codes: Sequence[int | None]) -> JobReport:
    """Correct an ended job's report by the exit codes that its processes wrote, by rank."""
    bad = next((rank for rank, code in enumerate(codes) if code != 0), None)
    if bad is None:
        return report
    code = codes[bad]
    words = "ended without an exit code: it was killed" if code is None else _exit_text(code)
    return replace(report, state=JobState.FAILED, exit_code=code, reason=f"rank {bad} {words}")


def _joint_hosts(ranks: Sequence[CondorProcess]) -> tuple[str, ...]:
    known = all(process.host for process in ranks)
    return tuple(name for process in ranks for name in process.host.split(",")) if known else ()


def _joint_state(ranks: Sequence[CondorProcess]) -> JobState:
    states = {process.state for process in ranks}
    if all(state.final for state in states):
        final = (JobState.REMOVED, JobState.FAILED, JobState.COMPLETED)
        return next(state for state in final if state in states)
    if JobState.HELD in states and JobState.RUNNING not in states:  # else some still have their hosts
        return JobState.HELD
    for trouble in (JobState.EVICTED, JobState.QUEUED):
        if trouble in states:
            return trouble
    # A process that is in neither may be on its way from the queue to the history.
    return JobState.RUNNING if states != {JobState.UNKNOWN} else JobState.UNKNOWN


def _joint_exit_code(ranks: Sequence[CondorProcess]) -> int | None:
    codes = [process.code for process in ranks if process.code is not None]
    return next((code for code in codes if code), 0 if codes else None)


def _joint_reason(state: JobState, ranks: Sequence[CondorProcess]) -> str:
    for rank, process in enumerate(ranks):
        if process.state is state and process.reason:
            return process.reason
        if process.state is state is JobState.FAILED and process.code is not None:
            return f"rank {rank} {_exit_text(process.code)}"
        if state is JobState.RUNNING and process.state is JobState.HELD:
            return f"rank {rank} is held: {process.reason}"
    return ""


def _exit_text(code: int) -> str:
    if code == _NOT_FOUND:
        return "ended with exit code 127: its program was not found on the host"
    if code == _NOT_EXECUTABLE:
        return "ended with exit code 126: its program cannot be executed on the host"
    return f"ended by signal {code - 128}" if code > 128 else f"ended with exit code {code}"


PROJECTION = (
    "ClusterId",
    "ProcId",
    "JobStatus",
    "Owner",
    "GlobalJobId",
    "CoschedAttempt",
    "CoschedCount",
    "CoschedRank",
    "CoschedSlotHosts",
    "CoschedStarts",
    "NumJobStarts",
    "JobCurrentStartDate",
    "JobCurrentStartExecutingDate",
    "EnteredCurrentStatus",
    "CompletionDate",
    "ExitBySignal",
    "ExitCode",
    "ExitSignal",
    "HoldReason",
    "HoldReasonCode",
    "RemoveReason",
    "VacateReason",
    "JobDisconnectedDate",
    "NumShadowStarts",
    "RemoteHost",
    "LastRemoteHost",
    "RemoteHosts",
    "AllRemoteHosts",
    "ServerTime",
    "StageOutFinish",
    "TerminationPending",
    "LastRejMatchReason",
)
ONE_PROCESS = {"CoschedRank": 0, "CoschedCount": 1}
"""What an adopted job is, whatever its user has written into its ad."""

MOST_NAMED = 200  # attempts in an expression at most, which the scheduler compares with each of its jobs
SUBMITTED_ON_HOLD = 15  # HTCondor's hold code for `hold = true`
_SPOOLING = 16  # and for jobs whose files are on their way to the scheduler
WITHDRAWN = "withdrawn by cosched: its files did not get here"

IDLE = "JobStatus == 1"
_MOST_PROCESSES = 1 << 16  # of an attempt
_LARGEST = 2**53  # number of an ad that is believed
_UNSAID = _LARGEST + 1
_DYNAMIC = re.compile(r"\Aslot\d+_\d")
_IDLE, _RUNNING, _REMOVED, COMPLETED, HELD, _TRANSFERRING, _SUSPENDED = range(1, 8)


def constraint(attempts: Sequence[str]) -> str:
    """Return the expression that selects the jobs of these UUIDs.

    Of very many it selects all jobs of cosched.
    """
    if len(attempts) > MOST_NAMED:
        return "CoschedAttempt =!= undefined"
    if len(attempts) == 1:
        return f'CoschedAttempt == "{attempts[0]}"'
    names = ", ".join(f'"{attempt}"' for attempt in attempts)
    return f"member(CoschedAttempt, {{{names}}})"


def named(key: str) -> str:
    """Return the expression that selects the job of a GlobalJobId."""
    cluster, _, process = key.split("#")[1].partition(".")
    return f'ClusterId == {int(cluster)} && ProcId == {int(process)} && GlobalJobId == "{key}"'


def ended_alone(key: str) -> dict[str, Any]:
    """Return the question to the history for a user's own job that completed for no attempt."""
    return {
        "constraint": f"{named(key)} && JobStatus == {COMPLETED} && CoschedAttempt is undefined",
        "projection": PROJECTION,
        "since": f"EnteredCurrentStatus < {int(key.rpartition('#')[2])}",
    }


def waits_for_release(ad: Mapping[str, Any]) -> bool:
    """Return whether the process is on hold until the connector releases it.

    `submit` leaves it so.
    """
    return ad.get("JobStatus") == HELD and ad.get("HoldReasonCode") == SUBMITTED_ON_HOLD


def is_cut_off(ad: Mapping[str, Any], after: float) -> bool:
    """Return whether the process has waited for its files for too long.

    After more than `after` seconds its submission counts as dead.
    """
    waits = ad.get("JobStatus") == HELD and ad.get("HoldReasonCode") == _SPOOLING
    return waits and whole_number(ad, "ServerTime") - whole_number(ad, "EnteredCurrentStatus") > after


def is_withdrawn(ad: Mapping[str, Any]) -> bool:
    """Return whether the process was withdrawn before the scheduler had its files.

    It counts as never submitted.
    """
    # HTCondor adds whose removal it was.
    return ad.get("JobStatus") == _REMOVED and str(ad.get("RemoveReason", "")).startswith(WITHDRAWN)


def is_removed(ad: Mapping[str, Any]) -> bool:
    """Return whether the removal of a process was ordered."""
    return ad.get("JobStatus") == _REMOVED


def keeps_output(ad: Mapping[str, Any]) -> bool:
    """Return whether a queued process has ended and only waits for its output's transfer."""
    return ad.get("JobStatus") == COMPLETED and not ad.get("StageOutFinish")


def is_idle(ad: Mapping[str, Any]) -> bool:
    """Return whether the process waits for a slot."""
    return ad.get("JobStatus") == _IDLE


def is_running(ad: Mapping[str, Any]) -> bool:
    """Return whether a queued process has a host, as far as the scheduler knows."""
    return ad.get("JobStatus") in (_RUNNING, _TRANSFERRING, _SUSPENDED)


def reports_of_ads(queue: Iterable[Mapping[str, Any]], history: Iterable[Mapping[str, Any]]) -> dict[str, JobReport]:
    """Return a report for each attempt that has an ad.

    Args:
        queue: ads of jobs in the queue.
        history: ads of jobs that left it; a process that is in both is taken from here.
    """
    processes: dict[tuple[str, int, int], dict[int, CondorProcess]] = defaultdict(dict)
    counts: dict[str, int] = {}
    for left, ads in ((False, queue), (True, history)):
        for ad in ads:
            if is_withdrawn(ad):
                continue
            attempt = str(ad.get("CoschedAttempt", ""))
            counts[attempt] = _process_count(ad)
            process = replace(_process_of_ad(ad, left=left), host=",".join(hosts_of_ad(ad)))
            cluster, number, rank = int(ad["ClusterId"]), int(ad["ProcId"]), rank_of(ad)
            processes[attempt, cluster, number - rank][rank] = process
    # Of two clusters with one UUID the first is the job; the other was removed when it was noticed.
    firsts = {key[0]: key for key in sorted(processes, key=lambda key: -key[1])}
    return {
        attempt: attempt_report(attempt, f"{key[1]}.{key[2]}", counts[attempt], processes[key])
        for attempt, key in firsts.items()
    }


def complete_attempts(queue: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the attempts with all of their processes among these ads."""
    ranks: dict[str, set[int]] = defaultdict(set)
    counts: dict[str, int] = {}
    for ad in queue:
        attempt = str(ad.get("CoschedAttempt", ""))
        ranks[attempt].add(rank_of(ad))
        counts[attempt] = max(_process_count(ad), counts.get(attempt, 0))
    return {attempt for attempt, own in ranks.items() if len(own) >= counts[attempt]}


def rank_of(ad: Mapping[str, Any]) -> int:
    """Return the rank of a process in its attempt."""
    return whole_number(ad, "CoschedRank", int(ad["ProcId"]))


def hosts_of_ad(ad: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the host of a job's slot, all of them for a job of the parallel universe."""
    slots = str(
        ad.get("AllRemoteHosts") or ad.get("RemoteHosts") or ad.get("RemoteHost") or ad.get("LastRemoteHost") or ""
    )
    slot_hosts = ad.get("CoschedSlotHosts") is True
    return tuple(host_of_slot(slot, slot_hosts=slot_hosts) for slot in slots.split(",") if slot)


def host_of_slot(slot: str, *, slot_hosts: bool) -> str:
    """Return the machine of "slot1@machine"; with `slot_hosts` the name itself of a static slot.

    A dynamic slot ("slot1_2@machine") is a part of its machine.
    """
    own, _, machine = slot.rpartition("@")
    return slot if slot_hosts and own and _DYNAMIC.search(own) is None else machine


def _process_of_ad(ad: Mapping[str, Any], *, left: bool) -> CondorProcess:
    status = ad.get("JobStatus")
    started = _start_time(ad)
    # A removal that came after the program's end and before the scheduler's note of it changes the status alone.
    if status == COMPLETED or (status == _REMOVED and left and ad.get("TerminationPending") is True):
        return _completed_process(ad, started)
    if status == _REMOVED and left:
        return CondorProcess(
            JobState.REMOVED, started, _ad_time(ad.get("EnteredCurrentStatus")), reason=_ad_text(ad, "RemoveReason")
        )
    if left:  # neither removed nor completed, and yet gone: no state of ours means that
        return CondorProcess(reason=f"left the queue with status {status}")
    if status == HELD:
        if ad.get("HoldReasonCode") in (SUBMITTED_ON_HOLD, _SPOOLING):
            return CondorProcess(JobState.QUEUED)
        return CondorProcess(JobState.HELD, reason=_ad_text(ad, "HoldReason"))
    return _live_process(ad, status, started)


def _live_process(ad: Mapping[str, Any], status: object, started: float | None) -> CondorProcess:
    if status == _IDLE:
        # The count of starts is written late and lost with a scheduler that crashes; that of shadows is not.
        before = whole_number(ad, "CoschedStarts")  # of a user's own job, before this attempt
        if whole_number(ad, "NumJobStarts") > before or whole_number(ad, "NumShadowStarts") > before:
            return CondorProcess(
                JobState.EVICTED, reason=_ad_text(ad, "VacateReason") or "it lost its host and waits for it"
            )
        return CondorProcess(JobState.QUEUED)
    if status == _REMOVED:  # ordered, not done: its processes may still be there
        state = JobState.QUEUED if started is None else JobState.RUNNING
        return CondorProcess(state, started, reason="being removed")
    if status in (_RUNNING, _TRANSFERRING, _SUSPENDED):
        if "JobDisconnectedDate" in ad:
            return CondorProcess(JobState.EVICTED, started, reason="its host is out of reach")
        return CondorProcess(JobState.QUEUED if started is None else JobState.RUNNING, started)
    return CondorProcess(reason=f"has status {status}, which cosched does not know")


def _completed_process(ad: Mapping[str, Any], started: float | None) -> CondorProcess:
    killed = ad.get("ExitBySignal") is True
    finished = _ad_time(ad.get("CompletionDate")) or _ad_time(ad.get("EnteredCurrentStatus"))
    known = whole_number(ad, "ExitSignal" if killed else "ExitCode", _UNSAID)
    if known == _UNSAID:
        return CondorProcess(JobState.FAILED, started, finished, reason=_NO_CODE)
    code = 128 + known if killed else known
    return CondorProcess(JobState.FAILED if code else JobState.COMPLETED, started, finished, code)


def _start_time(ad: Mapping[str, Any]) -> float | None:
    """Return when the program of the current run began; None during its preparation."""
    claimed, began = _ad_time(ad.get("JobCurrentStartDate")), _ad_time(ad.get("JobCurrentStartExecutingDate"))
    if began is None or claimed is None or began < claimed:
        return None
    return began


def whole_number(ad: Mapping[str, Any], name: str, default: int = 0) -> int:
    """Return a number of an ad; the default where it has none.

    A job's user may write anything there, an expression and what is no number among them.
    """
    value = ad.get(name)
    return int(value) if isinstance(value, int | float) and abs(value) <= _LARGEST else default


def _process_count(ad: Mapping[str, Any]) -> int:
    """Return how many processes an attempt is said to have, as many as there can be at most."""
    return min(whole_number(ad, "CoschedCount", 1), _MOST_PROCESSES)


def _ad_time(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 < value <= _LARGEST else None


def _ad_text(ad: Mapping[str, Any], key: str) -> str:
    return " ".join(str(ad.get(key, "")).split())
