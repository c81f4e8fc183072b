"""The jobs of attempts, as the scheduler's queue and history show them, and what it is told to do with them."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.connector import ConnectorError, JobReport, JobState
from cosched.connector.attempts import explained
from cosched_condor import ads
from cosched_condor.attempts import FENCED
from cosched_condor.process import by_codes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched_condor.attempts import Attempts
    from cosched_condor.client import Worker
    from cosched_condor.fetching import Fetching

__all__ = ["FILES_SECONDS", "Jobs"]

FILES_SECONDS = 120.0  # that a submission's files may take to the scheduler
_CLOCKS_APART = 300  # seconds that the clocks of the spool and of the scheduler may differ


class Jobs:
    """The queue and the history of one scheduler.

    Args:
        ask: the process that talks to HTCondor.
        attempts: the spool.
        timeout: seconds that HTCondor may take for an answer.
        fetching: told what the queue keeps the output of; None where output comes by itself.
    """

    def __init__(self, ask: Worker, attempts: Attempts, timeout: float, fetching: Fetching | None = None) -> None:
        self._fetching = fetching
        self._ask = ask
        self._attempts = attempts
        self._cut_off = 2 * timeout + FILES_SECONDS

    def look_up(self, attempts: Sequence[str]) -> dict[str, JobReport]:
        """Return a report for each of these attempts of which queue or history know."""
        asked = set(attempts)
        queue = self.queue(ads.constraint(attempts))
        self._tidy(ad for ad in queue if ad["CoschedAttempt"] in asked)
        return self.reports(queue, attempts)

    def queue(self, constraint: str) -> list[dict[str, Any]]:
        """Return the ads of jobs in the queue."""
        found: list[dict[str, Any]] = self._ask.call("queue", constraint=constraint, projection=ads.PROJECTION)
        if self._fetching is not None:
            self._fetching.note(found)
        return found

    def reports(self, queue: Sequence[Mapping[str, Any]], attempts: Sequence[str]) -> dict[str, JobReport]:
        """Report from the queue, and from the history on those of the attempts that the queue does not show whole."""
        whole = ads.whole(queue)
        incomplete = [attempt for attempt in attempts if attempt not in whole]
        history: list[dict[str, Any]] = []
        if incomplete:
            history = self._ask.call(
                "history",
                constraint=ads.constraint(incomplete),
                projection=ads.PROJECTION,
                since=self._since(incomplete),
            )
        return {attempt: self.shown(report) for attempt, report in ads.reports(queue, history).items()}

    def shown(self, report: JobReport) -> JobReport:
        """Show an attempt whose script ended at the fence as what it is."""
        if report.exit_code == FENCED and self._attempts.fenced(report.attempt):
            return replace(report, state=JobState.REMOVED, exit_code=None, reason="cancelled before it began")
        if report.state in (JobState.COMPLETED, JobState.FAILED):
            report = by_codes(report, self._attempts.codes(report.attempt))
        if report.state is JobState.FAILED and self._fetching is not None and self._attempts.prepares(report.attempt):
            with contextlib.suppress(ConnectorError):  # then the exit code has to do
                self._fetching.fetch(report.attempt)
        return explained(report, self._attempts.folder(report.attempt))

    def remove(self, attempt: str) -> None:
        """Remove an attempt's jobs; those that have ended and are kept for their output stay as they ended."""
        self._act("Remove", f"{ads.constraint([attempt])} && JobStatus != {ads.COMPLETED}", "cancelled by cosched")

    def check_released(self, cluster: str, outcome: Mapping[str, Any]) -> None:
        """See to it that what cannot be released does not stay in the queue."""
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

    def _tidy(self, queue: Iterable[Mapping[str, Any]]) -> None:
        """Finish submissions that were cut off before the release, and withdraw those without their files."""
        found = list(queue)
        for attempt in {str(ad["CoschedAttempt"]) for ad in found if ads.waits_for_release(ad)}:
            if self._attempts.fenced(attempt):
                self.remove(attempt)
            else:
                self._act("Release", ads.constraint([attempt]), "submitted by cosched")
        for attempt in {str(ad["CoschedAttempt"]) for ad in found if ads.cut_off(ad, self._cut_off)}:
            self._act("Remove", ads.constraint([attempt]), ads.WITHDRAWN)

    def _since(self, attempts: Sequence[str]) -> str:
        """Return where the search of the history may stop: at what ended before the oldest attempt was written."""
        times = [self._attempts.created(attempt) for attempt in attempts]
        known = [time for time in times if time is not None]
        if len(known) < len(times):
            return ""
        return f"EnteredCurrentStatus < {int(min(known)) - _CLOCKS_APART}"

    def _act(self, action: str, constraint: str, reason: str) -> None:
        _check_done(action, constraint, self._ask.call("act", action=action, constraint=constraint, reason=reason))


def _check_done(action: str, what: str, outcome: Mapping[str, Any]) -> None:
    if outcome.get("TotalPermissionDenied") or outcome.get("TotalError"):
        raise ConnectorError(
            f"HTCondor lets this user not {action.lower()} the job ({what}): submit and run cosched as one user",
            transient=False,
        )
