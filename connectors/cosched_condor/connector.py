"""The HTCondor connector: groups of pinned vanilla processes, followed in the job event log."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.connector import ConnectorError, Host, JobReport, JobState, Launch, Output
from cosched.connector.attempts import explained
from cosched.connector.batches import Outcomes
from cosched.connector.launches import check, check_attempt
from cosched.connector.pruning import Pruning
from cosched_condor import ads
from cosched_condor.attempts import FENCED, Attempts
from cosched_condor.client import Worker
from cosched_condor.eventlog import EventLog
from cosched_condor.machines import Needs, machines, projection
from cosched_condor.settings import CondorSettings
from cosched_condor.submission import Batch, Description, batches, describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["CondorConnector"]

_AT_ONCE = 1000  # processes of a cluster at most
_SECOND_STEP = 0.1  # seconds that the event of a hold or a removal may come after that of the eviction
_CLOCKS_APART = 300  # seconds that the clocks of the spool and of the scheduler may differ


class CondorConnector:
    """Drives an HTCondor pool through its scheduler. Methods may be called from different threads.

    An attempt is a group of vanilla processes, each pinned to its host, in a cluster of its own or in one with others
    that left with it. It is submitted on hold and then released: until the release nothing runs, and the release starts
    it at once on hosts that are still claimed.
    """

    name = "condor"

    def __init__(self, settings: Mapping[str, object]) -> None:
        self._settings = CondorSettings.read(settings)
        self._attempts = Attempts(self._settings.spool)
        self._ask = Worker(self._settings.config, self._settings.schedd, self._settings.timeout)
        self._listen = Worker(self._settings.config, self._settings.schedd, self._settings.timeout)
        self._log = EventLog()
        self._needs = Needs.of(self._settings)
        self._clusters: set[str] = set()  # all that cosched has submitted, of which this object or the event log knows
        self._submitting = False
        self._listening = threading.Lock()
        self._pruning = Pruning(self._settings.spool, self._settings.keep_days, self._queued)

    @property
    def calls(self) -> Mapping[str, int]:
        """How often HTCondor's daemons were asked, by verb; to follow the event log asks nobody."""
        return self._ask.calls

    def hosts(self) -> Sequence[Host]:
        """Return the machines that the collector shows; a machine that is gone is not among them.

        One whose slots have jobs that are not cosched's is claimed.
        """
        attribute = self._settings.host_class
        slots = self._ask.call("hosts", projection=projection(attribute))
        return machines(slots, attribute, self._ours, self._needs)

    def submit(self, launch: Launch) -> str:
        """Submit a cluster and return the number of its first process.

        Raises:
            ConnectorError: HTCondor refused; it was cancelled before; or the answer was lost (`transient`).
            UserError: a value cannot be carried safely.
        """
        return self.submit_many([launch]).job(launch.attempt)

    def submit_many(self, launches: Sequence[Launch]) -> Outcomes:
        """Submit a cluster for all launches that differ in name, command and place alone."""
        outcomes = Outcomes()
        described: dict[str, Description] = {}
        again: list[str] = []
        for launch in launches:
            with outcomes.settle([launch.attempt]):
                check(launch)
                described[launch.attempt] = describe(launch, self._settings, self._attempts)
                if not self._make_folder(launch.attempt):
                    again.append(launch.attempt)
        with outcomes.settle(again):
            if again:
                known = self._look_up(again)
                outcomes.update({attempt: known[attempt].job for attempt in again if attempt in known})
        new = [launch for launch in launches if launch.attempt not in outcomes]
        for launch in new:
            with outcomes.settle([launch.attempt]):
                self._write_script(launch)
        ready = {one.attempt: described[one.attempt] for one in new if one.attempt not in outcomes}
        for batch in batches(ready, _AT_ONCE):
            with outcomes.settle(batch.firsts):
                self._hand_over(batch, outcomes)
        return outcomes

    def status(self, attempts: Sequence[str]) -> Mapping[str, JobReport]:
        """Ask the queue, and the history for what the queue does not show whole."""
        for attempt in attempts:
            check_attempt(attempt)
        known = self._look_up(attempts) if attempts else {}
        self._prune()
        return {attempt: known.get(attempt) or JobReport(attempt, JobState.UNKNOWN) for attempt in attempts}

    def cancel(self, attempt: str) -> None:
        """Fence the attempt, so that it ends before it begins wherever it is, and remove its processes."""
        check_attempt(attempt)
        self._prepare()
        try:
            self._attempts.fence(attempt)
        except OSError as error:
            raise self._spool_fault(error) from error
        self._remove(attempt)

    def find(self, attempt: str) -> JobReport | None:
        """Look the attempt up in the queue and in the history."""
        check_attempt(attempt)
        return self._look_up([attempt]).get(attempt)

    def events(self, timeout: float) -> Sequence[JobReport]:
        """Follow the event log; the first call of an object begins at its beginning."""
        self._prepare()
        with self._listening:
            try:
                reports = self._log.read(self._follow(timeout))
                if any(report.state is JobState.EVICTED for report in reports):
                    reports += self._log.read(self._follow(_SECOND_STEP))
            except ConnectorError:
                self._log = EventLog()  # the next worker begins at the beginning too
                raise
        self._clusters.update(report.job.partition(".")[0] for report in reports)
        reports = [self._fence_shown(report) for report in self._log.settled(reports)]
        for report in reports:
            if report.state is JobState.QUEUED and self._attempts.fenced(report.attempt):
                with contextlib.suppress(ConnectorError):  # the fence holds all the same; the reports come only once
                    self._remove(report.attempt)
        return reports

    def output(self, attempt: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        """Return part of what a process wrote."""
        check_attempt(attempt)
        try:
            return self._attempts.output(attempt, stream, rank, offset, limit)
        except OSError as error:
            raise self._spool_fault(error) from error

    def close(self) -> None:
        """End the processes that talk to HTCondor; jobs go on."""
        self._ask.close()
        self._listen.close()

    def _make_folder(self, attempt: str) -> bool:
        """Make an attempt's folder; return False where there is one, and perhaps a job."""
        self._prepare()
        try:
            new = self._attempts.create(attempt)
        except OSError as error:
            raise self._spool_fault(error) from error
        self._refuse_fenced(attempt)
        return new

    def _write_script(self, launch: Launch) -> None:
        try:
            self._attempts.write_script(launch)
        except OSError as error:
            raise self._spool_fault(error) from error

    def _hand_over(self, batch: Batch, outcomes: Outcomes) -> None:
        """Submit a cluster and release it; its number counts as ours before it is known here."""
        fences = {attempt: str(self._attempts.folder(attempt) / "cancelled") for attempt in batch.firsts}
        self._submitting = True
        try:
            answer: dict[str, Any] = self._ask.call("submit", description=batch.text, items=batch.items,
                                                    fences=fences)  # fmt: skip
            cluster = str(answer["cluster"])
            self._clusters.add(cluster)
        finally:
            self._submitting = False
        for attempt, first in batch.firsts.items():
            with outcomes.settle([attempt]):
                if self._attempts.fenced(attempt):
                    self._remove(attempt)
                    self._refuse_fenced(attempt)
                outcomes[attempt] = f"{cluster}.{first}"
        with outcomes.settle([attempt for attempt in batch.firsts if isinstance(outcomes[attempt], str)]):
            self._check_released(cluster, answer["released"])

    def _prune(self) -> None:
        try:
            self._pruning.look()
        except OSError as error:
            raise self._spool_fault(error) from error

    def _queued(self) -> set[str]:
        """Return the attempts that the queue still shows."""
        ads = self._ask.call("queue", constraint="CoschedAttempt =!= undefined", projection=["CoschedAttempt"])
        return {str(ad.get("CoschedAttempt", "")) for ad in ads}

    def _ours(self, job: str) -> bool:
        cluster = job.partition(".")[0]
        if cluster in self._clusters:
            return True
        return self._submitting and cluster.isdecimal() and int(cluster) > max(map(int, self._clusters), default=0)

    def _follow(self, timeout: float) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = self._listen.call("follow", wait=timeout, log=str(self._attempts.log),
                                                         timeout=timeout)  # fmt: skip
        return events

    def _look_up(self, attempts: Sequence[str]) -> dict[str, JobReport]:
        queue = self._ask.call("queue", constraint=ads.constraint(attempts), projection=ads.PROJECTION)
        asked = set(attempts)
        self._release(ad for ad in queue if ads.waits_for_release(ad) and ad["CoschedAttempt"] in asked)
        known = self._reports(queue, [])
        whole = ads.whole(queue)
        incomplete = [attempt for attempt in attempts if attempt not in whole]
        if not incomplete:
            return known
        history = self._ask.call("history", constraint=ads.constraint(incomplete), projection=ads.PROJECTION,
                                 since=self._since(incomplete))  # fmt: skip
        return self._reports(queue, history)

    def _reports(self, queue: list[dict[str, Any]], history: list[dict[str, Any]]) -> dict[str, JobReport]:
        return {attempt: self._fence_shown(report) for attempt, report in ads.reports(queue, history).items()}

    def _fence_shown(self, report: JobReport) -> JobReport:
        """Show an attempt whose script ended at the fence as what it is."""
        if report.exit_code == FENCED and self._attempts.fenced(report.attempt):
            return replace(report, state=JobState.REMOVED, exit_code=None, reason="cancelled before it began")
        return explained(report, self._attempts.folder(report.attempt))

    def _release(self, waiting: Iterable[Mapping[str, Any]]) -> None:
        """Finish submissions that were cut off before the release."""
        for attempt in {str(ad["CoschedAttempt"]) for ad in waiting}:
            if self._attempts.fenced(attempt):
                self._remove(attempt)
            else:
                self._act("Release", ads.constraint([attempt]), "submitted by cosched")

    def _since(self, attempts: Sequence[str]) -> str:
        """Return where the search of the history may stop: at what ended before the oldest attempt was written."""
        times = [self._attempts.created(attempt) for attempt in attempts]
        known = [time for time in times if time is not None]
        if len(known) < len(times):
            return ""
        return f"EnteredCurrentStatus < {int(min(known)) - _CLOCKS_APART}"

    def _remove(self, attempt: str) -> None:
        self._act("Remove", ads.constraint([attempt]), "cancelled by cosched")

    def _act(self, action: str, constraint: str, reason: str) -> None:
        _check_done(action, constraint, self._ask.call("act", action=action, constraint=constraint, reason=reason))

    def _check_released(self, cluster: str, outcome: Mapping[str, Any]) -> None:
        """See to it that what cannot be released does not stay in the queue."""
        if "error" in outcome:
            raise ConnectorError(f"HTCondor has the job and was not heard to release it: {outcome['error']}",
                                 transient=True)  # fmt: skip
        try:
            _check_done("Release", f"cluster {cluster}", outcome)
        except ConnectorError:
            with contextlib.suppress(ConnectorError):  # it is on hold, and stays so: nothing of it runs
                self._act("Remove", f"ClusterId == {cluster}", "cancelled by cosched")
            raise

    def _refuse_fenced(self, attempt: str) -> None:
        if self._attempts.fenced(attempt):
            raise ConnectorError(f"attempt {attempt} was cancelled before it was submitted: make a new attempt",
                                 transient=False)  # fmt: skip

    def _prepare(self) -> None:
        try:
            self._attempts.prepare()
        except OSError as error:
            raise self._spool_fault(error) from error

    def _spool_fault(self, error: OSError) -> ConnectorError:
        place = error.filename or self._settings.spool
        return ConnectorError(f"the condor connector cannot work in its spool: {error.strerror}: {place}: make room or "
                              "correct the rights", transient=True)  # fmt: skip


def _check_done(action: str, what: str, outcome: Mapping[str, Any]) -> None:
    if outcome.get("TotalPermissionDenied") or outcome.get("TotalError"):
        raise ConnectorError(f"HTCondor lets this user not {action.lower()} the job ({what}): submit and run "
                             "cosched as one user", transient=False)  # fmt: skip
