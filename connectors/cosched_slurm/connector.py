"""The Slurm connector: one batch job for each attempt, through Slurm's own commands."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cosched.connector import ConnectorError, Host, JobReport, JobState, Launch, Output
from cosched.connector.attempts import explained
from cosched.connector.launches import check, check_attempt
from cosched.connector.pruning import Pruning
from cosched_slurm.attempts import Attempts
from cosched_slurm.commands import Commands
from cosched_slurm.completions import completion
from cosched_slurm.jobs import Record, records
from cosched_slurm.nodes import busy, hosts
from cosched_slurm.reports import judge
from cosched_slurm.settings import SlurmSettings
from cosched_slurm.strangers import Strangers
from cosched_slurm.submission import job_script, options, processes
from cosched_slurm.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["SlurmConnector"]


class SlurmConnector:
    """Drives a Slurm cluster. Methods may be called from different threads.

    An attempt is one batch job on exactly its hosts, which it has for itself; its comment carries the attempt's UUID.
    """

    name = "slurm"

    def __init__(self, settings: Mapping[str, object]) -> None:
        self._settings = SlurmSettings.read(settings)
        self._attempts = Attempts(self._settings.spool)
        self._slurm = Commands(self._settings, everybodys=self._settings.identity == "user")
        self._pruning = Pruning(self._settings.spool, self._settings.keep_days, self._unfinished)
        self._strangers = Strangers(self._slurm.everybodys_jobs, self._attempts.known, self._settings.poll)
        self._watch = Watch(self._attempts, self._records, self._report, self._settings.poll)

    @property
    def calls(self) -> Mapping[str, int]:
        """How often Slurm's commands were run, by name."""
        return self._slurm.calls

    def hosts(self) -> Sequence[Host]:
        """Return the nodes, those of the partition where one is set; what others' jobs have is claimed."""
        rows = self._slurm.nodes()
        theirs = self._strangers.claims(busy(rows) - self._watch.hosts())
        return hosts(rows, self._settings.partition, self._settings.host_class, theirs)

    def submit(self, launch: Launch) -> str:
        """Submit a job and return its number.

        Raises:
            ConnectorError: Slurm refused; it was cancelled before; or the answer was lost (`transient`).
            UserError: a value cannot be carried safely.
        """
        check(launch)
        given = options(launch, self._attempts.folder(launch.attempt), self._settings)
        try:
            new = self._attempts.create(launch.attempt)
            self._refuse_fenced(launch.attempt)
            known = None if new else self.find(launch.attempt)
            if known is not None:
                return known.job
            script = self._attempts.write_script(launch)
            text = job_script(processes(launch), script, self._slurm.path("srun"))
            given.append(str(self._attempts.write(launch.attempt, "job.sh", text)))
            if self._settings.identity == "user":
                self._attempts.give(launch.attempt, launch.owner)
        except OSError as error:
            raise self._spool_fault(error) from error
        job = self._submit(launch, given)
        if self._attempts.fenced(launch.attempt):
            self._slurm.cancel([job])
            self._refuse_fenced(launch.attempt)
        self._watch.follow(Record(launch.attempt, processes(launch), job, JobState.QUEUED, hosts=launch.hosts))
        return job

    def status(self, attempts: Sequence[str]) -> Mapping[str, JobReport]:
        """Ask Slurm once for all; where it has forgotten a job, its stamps and the completion file."""
        for attempt in attempts:
            check_attempt(attempt)
        shown = self._records() if attempts else {}
        try:
            self._pruning.look()
        except OSError as error:
            raise self._spool_fault(error) from error
        return {
            attempt: self._report(attempt, shown.get(attempt)) or JobReport(attempt, JobState.UNKNOWN)
            for attempt in attempts
        }

    def cancel(self, attempt: str) -> None:
        """Fence the attempt, so that it ends before it begins wherever it is, and cancel its job."""
        check_attempt(attempt)
        try:
            self._attempts.fence(attempt)
        except OSError as error:
            raise self._spool_fault(error) from error
        same = records(self._slurm.jobs()).get(attempt, [])
        self._slurm.cancel([record.job for record in same if not record.over])

    def find(self, attempt: str) -> JobReport | None:
        """Look the attempt up in the queue, at its stamps and in the completion file."""
        check_attempt(attempt)
        return self._report(attempt, self._records().get(attempt))

    def events(self, timeout: float) -> Sequence[JobReport]:
        """Return what is new of the attempts in the spool; a new object begins with all that Slurm shows."""
        try:
            return self._watch.wait(timeout)
        except OSError as error:
            raise self._spool_fault(error) from error

    def output(self, attempt: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        """Return part of what a process wrote."""
        check_attempt(attempt)
        try:
            return self._attempts.output(attempt, stream, rank, offset, limit)
        except OSError as error:
            raise self._spool_fault(error) from error

    def close(self) -> None:
        """Nothing is held; jobs go on."""

    def _submit(self, launch: Launch, given: Sequence[str]) -> str:
        try:
            return self._slurm.submit(given)
        except ConnectorError as error:
            where = f" on {', '.join(launch.hosts)}" if launch.hosts else ""
            message = f"task {launch.name!r}{where} was not submitted: {error}"
            raise ConnectorError(message, transient=error.transient) from error

    def _records(self) -> dict[str, Record]:
        """Return Slurm's job of each attempt; of several the one that lives, else the last."""
        found = records(self._slurm.jobs())
        return {attempt: max(same, key=lambda record: not record.over) if any(not record.over for record in same)
                else same[-1] for attempt, same in found.items()}  # fmt: skip

    def _unfinished(self) -> set[str]:
        return {attempt for attempt, record in self._records().items() if not record.over}

    def _report(self, attempt: str, record: Record | None) -> JobReport | None:
        try:
            if record is None and self._settings.completions is not None and self._attempts.known(attempt):
                record = completion(self._settings.completions, self._attempts.folder(attempt))
            stamps = self._attempts.stamps(attempt)
            fenced = self._attempts.fenced(attempt)
        except OSError as error:
            raise self._spool_fault(error) from error
        report = judge(attempt, record, stamps, fenced=fenced, now=time.time())
        return None if report is None else explained(report, self._attempts.folder(attempt))

    def _refuse_fenced(self, attempt: str) -> None:
        if self._attempts.fenced(attempt):
            raise ConnectorError(f"attempt {attempt} was cancelled before it was submitted: make a new attempt",
                                 transient=False)  # fmt: skip

    def _spool_fault(self, error: OSError) -> ConnectorError:
        place = error.filename or self._settings.spool
        return ConnectorError(f"the slurm connector cannot work in its spool: {error.strerror}: {place}: make room or "
                              "correct the rights", transient=True)  # fmt: skip
