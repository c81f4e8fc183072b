"""Jobs in one scheduler's queue and history: look up, release, remove, fetch output.

Start at `SchedulerJobs.look_up`; `OutputFetcher` fetches output from a scheduler that shares no folder.
"""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.connector import ConnectorError, JobReport, JobState
from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched.connector.script_lines import with_preparation_failure
from cosched_condor import job_ads
from cosched_condor.job_ads import with_exit_codes
from cosched_condor.spool import FENCED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cosched_condor.htcondor_client import CondorClient
    from cosched_condor.job_owners import JobOwners
    from cosched_condor.spool import CondorAttemptFolders

__all__ = ["TRANSFER_SECONDS", "OutputFetcher", "SchedulerJobs"]

_FETCH_SECONDS = 600.0  # that the output of jobs may take
_PATIENCE = 30.0  # seconds that somebody who asks for output waits
_SOON = 5.0  # seconds that the report of a job's end waits for output
_RETRY_SECONDS = 60.0  # seconds until output that could not be fetched is tried again
TRANSFER_SECONDS = 120.0  # that a submission's files may take to the scheduler
_CLOCKS_APART = 300  # seconds that the clocks of the spool and of the scheduler may differ


class OutputFetcher:
    """Fetches the output that a scheduler keeps; the scheduler then forgets the job.

    It has a thread of its own: however much one task has written, nothing of the others' waits for that.

    Args:
        client: a process of its own, for this may take long.
        attempts: the spool.
        owners: tell own jobs from others'.
    """

    def __init__(self, client: CondorClient, attempts: CondorAttemptFolders, owners: JobOwners) -> None:
        self._client = client
        self._owners = owners
        self._attempts = attempts
        self._kept: dict[str, float] = {}  # attempt → when to try, seconds of the monotonic clock
        self._thread = ThreadPoolExecutor(1, "condor-output")
        self._latest: Future[None] | None = None

    def note(self, queue: Iterable[Mapping[str, Any]]) -> None:
        """Note the attempts with output still in the queue."""
        ended = {str(ad.get("CoschedAttempt", "")) for ad in queue if job_ads.keeps_output(ad)}
        for attempt in ended:
            if attempt and self._attempts.known(attempt):
                self._kept.setdefault(attempt, 0.0)

    def fetch(self, attempt: str, patience: float = _PATIENCE) -> None:
        """Fetch an attempt's output, if it is kept; wait for it, and for what is fetched just then, so many seconds.

        Raises:
            ConnectorError: it cannot be had now.
        """
        if attempt not in self._kept:
            return
        asked = self._begun(self._fetch_one, attempt)
        try:
            asked.result(patience)
        except (FutureTimeoutError, CancelledError):
            asked.cancel()
            raise ConnectorError(
                "what the task wrote is still on its way from HTCondor's scheduler: try again in a minute",
                transient=True,
            ) from None

    def fetch_soon(self, attempt: str) -> None:
        """Fetch an attempt's output, unless that takes long or other output is being fetched.

        Raises:
            ConnectorError: it cannot be had now.
        """
        if self._latest is None or self._latest.done():
            self.fetch(attempt, _SOON)

    def begin(self) -> None:
        """Begin to fetch all output that is kept, unless some is being fetched."""
        if self._latest is not None and not self._latest.done():
            return
        before, self._latest = self._latest, None
        if before is not None and not before.cancelled():
            with contextlib.suppress(ConnectorError):  # who asked for it was told
                before.result()
        if self._due():
            self._begun(self.fetch_all)

    def close(self) -> None:
        """Begin nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def fetch_all(self) -> None:
        """Fetch all output that is kept; try again later where one attempt's cannot be had."""
        due = self._due()
        for first in range(0, len(due), job_ads.MOST_NAMED):
            self._retrieve_in_parts(due[first : first + job_ads.MOST_NAMED])

    def _due(self) -> list[str]:
        now = time.monotonic()
        return [attempt for attempt, when in list(self._kept.items()) if when <= now]

    def _begun(self, work: Callable[..., None], *given: str) -> Future[None]:
        try:
            self._latest = self._thread.submit(work, *given)
        except RuntimeError as error:
            raise ConnectorError("cosched is ending", transient=True) from error
        return self._latest

    def _fetch_one(self, attempt: str) -> None:
        if attempt in self._kept:
            self._retrieve([attempt])

    def _retrieve_in_parts(self, attempts: Sequence[str]) -> None:
        try:
            self._retrieve(attempts)
        except ConnectorError:
            if len(attempts) == 1:
                self._kept[attempts[0]] = time.monotonic() + _RETRY_SECONDS
                return
            middle = len(attempts) // 2
            self._retrieve_in_parts(attempts[:middle])
            self._retrieve_in_parts(attempts[middle:])

    def _retrieve(self, attempts: Sequence[str]) -> None:
        # What others' jobs wrote would be put where these say.
        ours = f"{job_ads.constraint(attempts)} && {self._owners.own_selection()}"
        constraint = f"{ours} && JobStatus == {job_ads.COMPLETED}"
        self._client.call("retrieve", wait=_FETCH_SECONDS, constraint=constraint)
        for attempt in attempts:
            self._kept.pop(attempt, None)


class SchedulerJobs:
    """The queue and the history of one scheduler.

    Args:
        client: the process that talks to HTCondor.
        attempts: the spool.
        owners: tell own jobs from others'.
        timeout: seconds that HTCondor may take for an answer.
        output_fetcher: takes in whose output the queue keeps; None where output comes by itself.
    """

    def __init__(
        self,
        client: CondorClient,
        attempts: CondorAttemptFolders,
        owners: JobOwners,
        timeout: float,
        output_fetcher: OutputFetcher | None = None,
    ) -> None:
        self._output_fetcher = output_fetcher
        self._client = client
        self._attempts = attempts
        self._owners = owners
        self._cut_off = 2 * timeout + TRANSFER_SECONDS

    def look_up(self, attempts: Sequence[str]) -> dict[str, JobReport]:
        """Return a report for each of these attempts in queue or history."""
        asked = set(attempts)
        queue = self.queue(job_ads.constraint(attempts))
        self._repair_submissions(ad for ad in queue if ad["CoschedAttempt"] in asked)
        return self.reports(queue, attempts)

    def diagnose(self, attempt: str) -> StartDiagnosis:
        """Return why an attempt's idle processes have no slot; what runs is starting."""
        ads = self.queue(job_ads.constraint([attempt]))
        idle = [ad for ad in ads if job_ads.is_idle(ad)]
        if not idle:
            return StartDiagnosis(StartVerdict.STARTING)
        why: str = self._client.call("unmatched", constraint=f"{self._jobs_of(attempt)} && {job_ads.IDLE}")
        if why:
            return StartDiagnosis(StartVerdict.BLOCKED, why)
        rejected = next((word for ad in idle if (word := str(ad.get("LastRejMatchReason", "")).strip())), "")
        return StartDiagnosis(StartVerdict.WAITING, rejected and f"HTCondor's negotiator says: {rejected}")

    def queue(self, constraint: str) -> list[Mapping[str, Any]]:
        """Return the ads of attempts' jobs in the queue."""
        shown = self._client.call("queue", constraint=constraint, projection=job_ads.PROJECTION)
        found = self._owners.without_forged(shown)
        if self._output_fetcher is not None:
            self._output_fetcher.note(found)
        return found

    def reports(self, queue: Sequence[Mapping[str, Any]], attempts: Sequence[str]) -> dict[str, JobReport]:
        """Return reports from the queue, and from the history for attempts with missing processes.

        Of other attempts than these, which anybody may make up, nothing is read.
        """
        asked = set(attempts)
        queue = [ad for ad in queue if ad["CoschedAttempt"] in asked]
        whole = job_ads.complete_attempts(queue)
        incomplete = [attempt for attempt in attempts if attempt not in whole]
        left = self._history(incomplete) if incomplete else []
        history = [ad for ad in left if ad["CoschedAttempt"] in asked]
        reports = job_ads.reports_of_ads(queue, history)
        for attempt in incomplete:
            if attempt not in reports:
                reports |= job_ads.reports_of_ads([], self._ran_alone(attempt))
        return {attempt: self.corrected(report) for attempt, report in reports.items()}

    def corrected(self, report: JobReport) -> JobReport:
        """Return a report corrected by the spool.

        A fence, exit codes of all processes and a failed preparation correct it.
        """
        if report.exit_code == FENCED and self._attempts.fenced(report.attempt):
            return replace(report, state=JobState.REMOVED, exit_code=None, reason="cancelled before it began")
        if report.state in (JobState.COMPLETED, JobState.FAILED):
            report = with_exit_codes(report, self._attempts.codes(report.attempt))
        if (
            report.state is JobState.FAILED
            and self._output_fetcher is not None
            and self._attempts.prepares(report.attempt)
        ):
            with contextlib.suppress(ConnectorError):  # then the exit code has to do
                self._output_fetcher.fetch_soon(report.attempt)
        return with_preparation_failure(report, self._attempts.folder(report.attempt))

    def remove(self, attempt: str) -> None:
        """Remove an attempt's jobs, except ended ones that are kept for their output."""
        self._act("Remove", f"{self._jobs_of(attempt)} && JobStatus != {job_ads.COMPLETED}", "cancelled by cosched")

    def call_back(self, attempt: str) -> bool:
        """Remove those of an attempt's jobs that have not begun; return whether the attempt must not go on.

        The scheduler itself decides which have not: between a look and a removal a job may begin and even end.
        """
        waiting = f"{self._jobs_of(attempt)} && ({job_ads.IDLE} || JobStatus == {job_ads.HELD})"
        outcome = self._client.call("act", action="Remove", constraint=waiting, reason="called back by cosched")
        _check_done("Remove", waiting, outcome)
        left = self.queue(self._jobs_of(attempt))
        if outcome.get("TotalSuccess") or not left:
            return True
        if attempt not in job_ads.complete_attempts(left):  # its others have ended, or were removed before a crash
            left += self._history([attempt])
        return any(job_ads.is_removed(ad) for ad in left)

    def check_released(self, cluster: str, outcome: Mapping[str, Any]) -> None:
        """Remove a cluster that could not be released, and raise."""
        if "error" in outcome:
            raise ConnectorError(
                f"HTCondor has the job and was not heard to release it: {outcome['error']}", transient=True
            )
        try:
            _check_done("Release", f"cluster {cluster}", outcome)
        except ConnectorError:
            with contextlib.suppress(ConnectorError):  # it is on hold, and stays so: nothing of it runs
                self._act("Remove", f"ClusterId == {cluster}", "cancelled by cosched")
            raise

    def _repair_submissions(self, queue: Iterable[Mapping[str, Any]]) -> None:
        """Finish submissions that were cut off before the release, and withdraw those without their files."""
        found = list(queue)
        for attempt in {str(ad["CoschedAttempt"]) for ad in found if job_ads.waits_for_release(ad)}:
            if self._attempts.fenced(attempt):
                self.remove(attempt)
            else:
                self._act("Release", self._jobs_of(attempt), "submitted by cosched")
        for attempt in {str(ad["CoschedAttempt"]) for ad in found if job_ads.is_cut_off(ad, self._cut_off)}:
            self._act("Remove", self._jobs_of(attempt), job_ads.WITHDRAWN)

    def _history(self, attempts: Sequence[str]) -> list[Mapping[str, Any]]:
        """Return the ads of attempts' jobs that have left the queue."""
        found = self._client.call(
            "history",
            constraint=job_ads.constraint(attempts),
            projection=job_ads.PROJECTION,
            since=self._since(attempts),
        )
        return self._owners.without_forged(found)

    def _ran_alone(self, attempt: str) -> list[Mapping[str, Any]]:
        """Return the ad of a user's own job that had ended when the attempt was to let it go."""
        key = self._attempts.adopted_key(attempt)
        if key is None:
            return []
        ads = self._client.call("history", **job_ads.ended_alone(key))
        return [{**ad, "CoschedAttempt": attempt, **job_ads.ONE_PROCESS} for ad in ads]

    def _jobs_of(self, attempt: str) -> str:
        return f"{job_ads.constraint([attempt])} && {self._owners.selection(attempt)}"

    def _since(self, attempts: Sequence[str]) -> str:
        """Return where the search of the history may stop.

        It stops at jobs that ended before these attempts were written.
        """
        times = [self._attempts.created(attempt) for attempt in attempts]
        known = [time for time in times if time is not None]
        if len(known) < len(times):
            return ""
        return f"EnteredCurrentStatus < {int(min(known)) - _CLOCKS_APART}"

    def _act(self, action: str, constraint: str, reason: str) -> None:
        _check_done(action, constraint, self._client.call("act", action=action, constraint=constraint, reason=reason))


def _check_done(action: str, what: str, outcome: Mapping[str, Any]) -> None:
    if outcome.get("TotalPermissionDenied") or outcome.get("TotalError"):
        raise ConnectorError(
            f"HTCondor lets this user not {action.lower()} the job ({what}): submit and run cosched as one user",
            transient=False,
        )
