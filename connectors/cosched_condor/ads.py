"""What the queue and the history say of attempts: job ClassAds to reports."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.connector import JobReport, JobState
from cosched_condor.process import Process, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "COMPLETED",
    "NAMED",
    "PROJECTION",
    "SUBMITTED_ON_HOLD",
    "WITHDRAWN",
    "constraint",
    "cut_off",
    "keeps_output",
    "rank_of",
    "reports",
    "running",
    "waits_for_release",
    "whole",
    "withdrawn",
]

PROJECTION = (
    "ClusterId",
    "ProcId",
    "JobStatus",
    "CoschedAttempt",
    "CoschedCount",
    "CoschedRank",
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
)
NAMED = 200  # attempts in an expression at most, which the scheduler compares with each of its jobs
SUBMITTED_ON_HOLD = 15  # HTCondor's hold code for `hold = true`
_SPOOLING = 16  # and for jobs whose files are on their way to the scheduler
WITHDRAWN = "withdrawn by cosched: its files did not get here"

_IDLE, _RUNNING, _REMOVED, COMPLETED, _HELD, _TRANSFERRING, _SUSPENDED = range(1, 8)


def constraint(attempts: Sequence[str]) -> str:
    """Return the expression that selects the jobs of these attempts, which must be UUIDs; of very many: of all."""
    if len(attempts) > NAMED:
        return "CoschedAttempt =!= undefined"
    if len(attempts) == 1:
        return f'CoschedAttempt == "{attempts[0]}"'
    names = ", ".join(f'"{attempt}"' for attempt in attempts)
    return f"member(CoschedAttempt, {{{names}}})"


def waits_for_release(ad: Mapping[str, Any]) -> bool:
    """Whether the process is as `submit` left it: on hold until the connector releases it."""
    return ad.get("JobStatus") == _HELD and ad.get("HoldReasonCode") == SUBMITTED_ON_HOLD


def cut_off(ad: Mapping[str, Any], after: float) -> bool:
    """Whether the process waits for its files longer than a submission that is under way can take, seconds."""
    waits = ad.get("JobStatus") == _HELD and ad.get("HoldReasonCode") == _SPOOLING
    return waits and float(ad.get("ServerTime", 0)) - float(ad.get("EnteredCurrentStatus", 0)) > after


def withdrawn(ad: Mapping[str, Any]) -> bool:
    """Whether the process was taken back before the scheduler had its files: it is as if never submitted."""
    # HTCondor adds whose removal it was.
    return ad.get("JobStatus") == _REMOVED and str(ad.get("RemoveReason", "")).startswith(WITHDRAWN)


def keeps_output(ad: Mapping[str, Any]) -> bool:
    """Whether a process in the queue has ended and only waits for its output to be fetched."""
    return ad.get("JobStatus") == COMPLETED and not ad.get("StageOutFinish")


def running(ad: Mapping[str, Any]) -> bool:
    """Whether a process in the queue has a host, as far as the scheduler knows."""
    return ad.get("JobStatus") in (_RUNNING, _TRANSFERRING, _SUSPENDED)


def reports(queue: Iterable[Mapping[str, Any]], history: Iterable[Mapping[str, Any]]) -> dict[str, JobReport]:
    """Return a report for each attempt of which there is an ad.

    Args:
        queue: ads of jobs in the queue.
        history: ads of jobs that left it; a process that is in both is taken from here.
    """
    processes: dict[tuple[str, int, int], dict[int, Process]] = defaultdict(dict)
    counts: dict[str, int] = {}
    for left, ads in ((False, queue), (True, history)):
        for ad in ads:
            if withdrawn(ad):
                continue
            attempt = str(ad.get("CoschedAttempt", ""))
            counts[attempt] = int(ad.get("CoschedCount", 1))
            process = replace(_process(ad, left=left), host=_host(ad))
            cluster, number, rank = int(ad["ClusterId"]), int(ad["ProcId"]), rank_of(ad)
            processes[attempt, cluster, number - rank][rank] = process
    # Of two clusters with one UUID the first is the job; the other was removed when it was noticed.
    firsts = {key[0]: key for key in sorted(processes, key=lambda key: -key[1])}
    return {
        attempt: together(attempt, f"{key[1]}.{key[2]}", counts[attempt], processes[key])
        for attempt, key in firsts.items()
    }


def whole(queue: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the attempts all of whose processes are among these ads."""
    ranks: dict[str, set[int]] = defaultdict(set)
    counts: dict[str, int] = {}
    for ad in queue:
        attempt = str(ad.get("CoschedAttempt", ""))
        ranks[attempt].add(rank_of(ad))
        counts[attempt] = max(int(ad.get("CoschedCount", 1)), counts.get(attempt, 0))
    return {attempt for attempt, own in ranks.items() if len(own) >= counts[attempt]}


def rank_of(ad: Mapping[str, Any]) -> int:
    """Return which of its attempt's processes this is."""
    return int(ad.get("CoschedRank", ad["ProcId"]))


def _host(ad: Mapping[str, Any]) -> str:
    """Return the machine of "slot1@machine", all of them for a job of the parallel universe."""
    slots = str(
        ad.get("AllRemoteHosts") or ad.get("RemoteHosts") or ad.get("RemoteHost") or ad.get("LastRemoteHost") or ""
    )
    return ",".join(slot.rpartition("@")[2] for slot in slots.split(","))


def _process(ad: Mapping[str, Any], *, left: bool) -> Process:
    status = ad.get("JobStatus")
    started = _started(ad)
    if status == COMPLETED:
        return _completed(ad, started)
    if status == _REMOVED and left:
        return Process(
            JobState.REMOVED, started, _time(ad.get("EnteredCurrentStatus")), reason=_words(ad, "RemoveReason")
        )
    if left:  # neither removed nor completed, and yet gone: not a word we have
        return Process(reason=f"left the queue with status {status}")
    if status == _HELD:
        if ad.get("HoldReasonCode") in (SUBMITTED_ON_HOLD, _SPOOLING):
            return Process(JobState.QUEUED)
        return Process(JobState.HELD, reason=_words(ad, "HoldReason"))
    return _alive(ad, status, started)


def _alive(ad: Mapping[str, Any], status: object, started: float | None) -> Process:
    if status == _IDLE:
        # The count of starts is written late and lost with a scheduler that crashes; that of shadows is not.
        if int(ad.get("NumJobStarts", 0)) > 0 or int(ad.get("NumShadowStarts", 0)) > 0:
            return Process(JobState.EVICTED, reason=_words(ad, "VacateReason") or "it lost its host and waits for it")
        return Process(JobState.QUEUED)
    if status == _REMOVED:  # ordered, not done: its processes may still be there
        state = JobState.QUEUED if started is None else JobState.RUNNING
        return Process(state, started, reason="being removed")
    if status in (_RUNNING, _TRANSFERRING, _SUSPENDED):
        if "JobDisconnectedDate" in ad:
            return Process(JobState.EVICTED, started, reason="its host is out of reach")
        return Process(JobState.QUEUED if started is None else JobState.RUNNING, started)
    return Process(reason=f"has status {status}, which cosched does not know")


def _completed(ad: Mapping[str, Any], started: float | None) -> Process:
    code = 128 + int(ad.get("ExitSignal", 0)) if ad.get("ExitBySignal") else int(ad.get("ExitCode", 0))
    finished = _time(ad.get("CompletionDate")) or _time(ad.get("EnteredCurrentStatus"))
    return Process(JobState.FAILED if code else JobState.COMPLETED, started, finished, code)


def _started(ad: Mapping[str, Any]) -> float | None:
    """Return when the program of the current run began; None while it is only being prepared."""
    claimed, began = _time(ad.get("JobCurrentStartDate")), _time(ad.get("JobCurrentStartExecutingDate"))
    if began is None or claimed is None or began < claimed:
        return None
    return began


def _time(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and value > 0 else None


def _words(ad: Mapping[str, Any], key: str) -> str:
    return " ".join(str(ad.get(key, "")).split())
