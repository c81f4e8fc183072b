"""The Slurm connector: one batch job for each attempt, through Slurm's own commands."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from cosched.connector import Connector, ConnectorError, Host, JobReport, JobState, Launch, Output
from cosched.connector.interface import StartVerdict
from cosched.connector.launches import check_attempt, check_launch
from cosched.connector.mailboxes import Mailboxes, make_in_spool
from cosched.connector.script_lines import with_preparation_failure
from cosched.connector.spool import spool_faults
from cosched.connector.spool_pruning import SpoolPruner
from cosched.connector.submission import SubmitOutcomes
from cosched_slurm.adoption.adopted_jobs import SlurmAdoptedJobs
from cosched_slurm.cluster.nodes import allocated_processors, cluster_hosts
from cosched_slurm.cluster.partitions import DomainPartition
from cosched_slurm.cluster.topology import NodeClusters
from cosched_slurm.commands import SlurmCommands
from cosched_slurm.foreign_jobs import ForeignJobs
from cosched_slurm.job_arrays import JobArrays, array_groups
from cosched_slurm.job_events import JobWatch, merged_report
from cosched_slurm.job_script import (
    ArrayShape,
    array_arguments,
    array_shape,
    job_script,
    limit_group,
    process_count,
    sbatch_arguments,
)
from cosched_slurm.jobs import JobRecord, commented_uuid, job_records, start_diagnosis
from cosched_slurm.owners import (
    OwnerAccount,
    UnknownUserError,
    account_name,
    owner_account,
    submitting_user,
    without_forged_names,
)
from cosched_slurm.past_jobs import AccountingCache, accounted_record, completed_record
from cosched_slurm.pyslurm_client import PyslurmClient
from cosched_slurm.setup_remarks import SetupRemarks
from cosched_slurm.slurm_settings import SlurmSettings
from cosched_slurm.spool import ProcessStamps, SlurmAttemptFolders
from cosched_slurm.stamped_jobs import with_stamped_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from cosched.connector.interface import AdoptableJob, StartDiagnosis
    from cosched.connector.jobs import LaunchMode
    from cosched.errors import CoschedError

__all__ = ["SlurmConnector"]


class SlurmConnector(Connector):
    """Drives a Slurm cluster. Methods may be called from different threads.

    An attempt is one batch job on exactly its hosts, which it has for itself unless it shares them, and whose comment
    carries its UUID; or an element of an array, where Slurm chooses the hosts and several left together.
    """

    name = "slurm"

    def __init__(self, settings: Mapping[str, object]) -> None:
        self._settings = SlurmSettings.read(settings)
        self._attempts = SlurmAttemptFolders(self._settings.spool)
        self._arrays = JobArrays(self._attempts)
        self._commands = SlurmCommands(self._settings, all_users=self._settings.identity == "user")
        self._slurm = PyslurmClient(self._settings) if self._settings.interface == "pyslurm" else self._commands
        self._largest = self._slurm.largest_array
        self._clusters = NodeClusters(self._settings.cluster, self._commands.topology)
        self._partition = DomainPartition(self._commands.partitions)
        self._pruning = SpoolPruner(self._settings.spool, self._settings.keep_days, self._unfinished)
        self._adopted = SlurmAdoptedJobs(self._commands, self._settings.spool, self._settings.completions)
        self._foreign_jobs = ForeignJobs(self._all_users_jobs, self._attempts.known, self._settings.poll)
        self._accounting = AccountingCache(self._commands.accounting, self._settings.poll)
        self._setup = SetupRemarks(self._settings, self._commands)
        self._job_watch = JobWatch(self._attempts, self._records, self._report, self._settings.poll)

    @property
    def calls(self) -> Mapping[str, int]:
        """Number of runs of each of Slurm's commands, or of calls of its library."""
        return self._slurm.calls

    @property
    def home(self) -> str:
        """Its spool, the cluster whose configuration is named, and whose jobs those of others are."""
        cluster = f"cluster of {self._settings.config}, " if self._settings.config else ""
        # With another identity it may see its own user's jobs alone.
        owners = ", jobs of the tasks' owners" if self._settings.identity == "user" else ""
        return f"{cluster}spool {self._settings.spool}{owners}"

    def hosts(self) -> Sequence[Host]:
        """Return the nodes; those with foreign jobs are claimed, and none is up while their partition is closed.

        Where partition and reservation are set, only their nodes are returned; else those of Slurm's default partition.
        A spool that cannot be used is told of here, too: nothing could be submitted.
        """
        with self._spool_faults():
            self._attempts.hold()
        rows, own = self._slurm.nodes(), self._settings.reservation
        watch = self._job_watch
        foreign = self._foreign_jobs.claims(watch.unexplained(allocated_processors(rows)), watch.halted())
        reserved = self._commands.reservation(own) if own else None
        partition, closed = self._settings.partition, ""
        if partition or not own:  # a reservation has nodes of its own, and may have its partition
            partition, closed = self._partition.of(rows, partition)
        prefix = self._settings.host_class
        return cluster_hosts(rows, partition, prefix, foreign, reserved, self._clusters.of(rows), closed)

    def remarks(self) -> Sequence[str]:
        """Return what its administrator should look at; see `SetupRemarks`."""
        return self._setup.lines()

    def check_task(self, owner: str, launch: LaunchMode) -> None:  # noqa: ARG002 -- each way of launching will do
        """Refuse the tasks of users who can have no jobs here, as `identity` says."""
        if self._settings.identity == "user":
            submitting_user(owner, self._settings.lowest_uid)
        elif self._settings.identity == "account":
            account_name(owner)

    def submit(self, launch: Launch) -> str:
        """Submit a job and return its number.

        Raises:
            ConnectorError: Slurm refused; it was cancelled before; or the answer was lost (`transient`).
            UserError: a value cannot be carried safely.
        """
        return self.submit_many([launch]).job(launch.attempt)

    def submit_many(self, launches: Sequence[Launch]) -> SubmitOutcomes:
        """Submit launches without hosts as arrays by shape, each other launch as a job."""
        outcomes = SubmitOutcomes()
        for launch in launches:
            if launch.adopted:
                with outcomes.settle([launch.attempt]):
                    outcomes[launch.attempt] = self._release(launch)
        launches = [launch for launch in launches if not launch.adopted]
        shapes: dict[str, ArrayShape | None] = {}
        again: list[str] = []
        for launch in launches:
            with outcomes.settle([launch.attempt]):
                check_launch(launch)
                self._job_user(launch)
                shapes[launch.attempt] = array_shape(launch, self._attempts.folder(launch.attempt), self._settings)
                if not self._make_folder(launch.attempt):
                    again.append(launch.attempt)
        with outcomes.settle(again):
            if again:
                known = {name: self._report(name, record) for name, record in self._shown(again).items()}
                outcomes.update({name: report.job for name, report in known.items() if report is not None})
        by_name = {launch.attempt: launch for launch in launches}
        full: dict[object, str | CoschedError] = {}  # group of a limit that is reached → the refusal
        for group in array_groups({name: own for name, own in shapes.items() if name not in outcomes}, self._largest):
            who = limit_group(by_name[group[0]])
            if who in full:
                outcomes.update(dict.fromkeys(group, full[who]))
                continue
            with outcomes.settle(group):
                self._hand_over([by_name[name] for name in group], shapes[group[0]], outcomes)
            if outcomes.refused(group[-1]):
                full[who] = outcomes[group[-1]]
        outcomes.doubt_refusals(again)
        return outcomes

    @property
    def adoption(self) -> SlurmConnector:
        """The gate before users' own jobs, which this object keeps itself."""
        return self

    def adoptable_jobs(self) -> Sequence[AdoptableJob]:
        """Return users' own jobs that etc/slurm/job_submit.lua made to wait, and those that were let go."""
        return self._adopted.listed(self._report)

    def retract(self, attempt: str, key: str) -> bool:
        """Have a user's own job wait again, unless it has begun."""
        check_attempt(attempt)
        return self._adopted.retract(attempt, key)

    def renew(self, until: float) -> None:
        """Move the end of all leases."""
        self._adopted.renew(until)

    def ran_alone(self, key: str) -> bool:
        """Return whether a user's own job ran to its end for no attempt, as accounting or completion file have it."""
        return self._adopted.ran_alone(key)

    def abandon(self, key: str, reason: str) -> None:
        """Let a user's own job run as any other.

        Its AdminComment says why, where cosched may write that.
        """
        self._adopted.abandon(key, reason)

    def remove(self, key: str, reason: str) -> None:
        """Cancel a user's own job and note why."""
        self._adopted.remove(key, reason)

    def status(self, attempts: Sequence[str]) -> Mapping[str, JobReport]:
        """Ask Slurm once for all attempts.

        Of jobs that it has forgotten, the stamps and the completion file tell.
        """
        for attempt in attempts:
            check_attempt(attempt)
        shown = self._shown(attempts) if attempts else {}
        found = {
            attempt: self._sought(attempt, record) or JobReport(attempt, JobState.UNKNOWN)
            for attempt, record in shown.items()
        }
        with self._spool_faults():
            self._pruning.look()  # last: of what Slurm has forgotten, stamps tell alone
        return found

    def cancel(self, attempt: str) -> None:
        """Fence the attempt, so that it never begins anywhere, and cancel its job."""
        check_attempt(attempt)
        try:
            with self._spool_faults():
                self._attempts.fence(attempt)
        finally:  # its job ends also where no fence can be made: what runs may be what fills the disk
            self._cancel_jobs(attempt)

    def _cancel_jobs(self, attempt: str) -> None:
        adopted = self._adopted.records().get(attempt)
        same = [adopted] if adopted else job_records(self._jobs(), self._arrays.attempts_of).get(attempt, [])
        self._slurm.cancel([record.job for record in same if not record.has_ended])

    def call_back(self, attempt: str) -> bool:
        """Cancel the attempt unless its job has begun, by the controller's word just before."""
        check_attempt(attempt)
        report = self.find(attempt)
        if report is not None and report.state in (JobState.RUNNING, JobState.COMPLETED, JobState.FAILED):
            return False
        self.cancel(attempt)
        return True

    def find(self, attempt: str) -> JobReport | None:
        """Look for the attempt in queue, stamps, completion file and accounting, in this order."""
        check_attempt(attempt)
        return self._sought(attempt, self._records().get(attempt))

    def diagnose(self, attempt: str) -> StartDiagnosis:
        """Return Slurm's reason of the attempt's job."""
        check_attempt(attempt)
        diagnosis = start_diagnosis(self._records().get(attempt))
        if diagnosis.verdict is StartVerdict.CLOSED:
            self._partition.doubt()
        return diagnosis

    def events(self, timeout: float) -> Sequence[JobReport]:
        """Return new reports of attempts in the spool.

        A new object begins with all jobs that Slurm shows.
        """
        with self._spool_faults():
            return self._job_watch.wait(timeout)

    def output(self, attempt: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        """Return part of what a process wrote."""
        check_attempt(attempt)
        with self._spool_faults():
            return self._attempts.output(attempt, stream, rank, offset, limit)

    @property
    def mail(self) -> Mailboxes:
        """The mailboxes of attempts, in the spool."""
        return Mailboxes(self._attempts.mailbox, self._spool_faults)

    def close(self) -> None:
        """End the process that talks to Slurm, where there is one; jobs go on."""
        self._slurm.close()
        self._attempts.lock.release()

    def _release(self, launch: Launch) -> str:
        """Let a user's own job go."""
        check_attempt(launch.attempt)
        self._make_folder(launch.attempt)
        job = self._adopted.release(launch)
        self._job_watch.follow(JobRecord(launch.attempt, 1, job, JobState.QUEUED, hosts=launch.hosts))
        return job

    def _make_folder(self, attempt: str) -> bool:
        """Make an attempt's folder; return False where there is one already, and perhaps a job."""
        with self._spool_faults():
            return self._attempts.begin(attempt)

    def _hand_over(self, launches: Sequence[Launch], shape: ArrayShape | None, outcomes: SubmitOutcomes) -> None:
        """Submit launches of one shape: several as an array, in halves where Slurm refuses that.

        It may allow no arrays, smaller ones, or fewer jobs than these.
        """
        if len(launches) == 1:
            (launch,) = launches
            with outcomes.settle([launch.attempt]):
                outcomes[launch.attempt] = self._submitted(launch, self._submit_one(launch))
            return
        assert shape is not None
        try:
            array = self._submit_array(launches, shape)
        except ConnectorError as error:
            if error.transient and not error.refused:
                raise
            self._hand_over_halves(launches, shape, outcomes, error)
        else:
            for index, launch in enumerate(launches):
                with outcomes.settle([launch.attempt]):
                    outcomes[launch.attempt] = self._submitted(launch, f"{array}_{index}")

    def _hand_over_halves(
        self, launches: Sequence[Launch], shape: ArrayShape, outcomes: SubmitOutcomes, error: ConnectorError
    ) -> None:
        half = len(launches) // 2
        if "job array" in str(error.__cause__):  # it has none, or smaller ones
            self._largest = min(self._largest, half)
        first, second = launches[:half], launches[half:]
        self._hand_over(first, shape, outcomes)
        refused = next((launch.attempt for launch in first if outcomes.refused(launch.attempt)), None)
        if refused is not None:
            outcomes.update(dict.fromkeys((launch.attempt for launch in second), outcomes[refused]))
        else:
            self._hand_over(second, shape, outcomes)

    def _submit_one(self, launch: Launch) -> str:
        given = sbatch_arguments(launch, self._attempts.folder(launch.attempt), self._settings)
        user = self._job_user(launch)
        with self._spool_faults():
            self._arrays.remove_element(launch.attempt)
            given.append(str(self._write_scripts(launch, user)))
        try:
            return self._slurm.submit(given, user)
        except ConnectorError as error:
            if error.refused:
                raise
            where = f" on {', '.join(launch.hosts)}" if launch.hosts else ""
            raise self._not_submitted(f"task {launch.name!r}{where} was", launch, error) from error

    def _submit_array(self, launches: Sequence[Launch], shape: ArrayShape) -> str:
        user = self._job_user(launches[0])
        with self._spool_faults():
            for launch in launches:
                self._write_scripts(launch, user)
            array = self._arrays.create(launches)
            if user is not None:
                self._attempts.change_owner(array, user)
        folder = self._attempts.folder(array)
        given = array_arguments(shape, array, folder, launches)
        try:
            return self._slurm.submit([*given, str(folder / "job.sh")], user)
        except ConnectorError as error:
            if error.refused:
                raise
            what = f"{len(launches)} tasks, of which {launches[0].name!r} is the first, were"
            raise self._not_submitted(what, launches[0], error) from error

    def _not_submitted(self, what: str, launch: Launch, error: ConnectorError) -> ConnectorError:
        """Return the error of a launch that Slurm has refused; where its partition may be closed, that is looked at."""
        if error.transient:
            self._partition.doubt()
        return ConnectorError(f"{what} not submitted: {error}", transient=self._may_pass(error, launch))

    def _may_pass(self, error: ConnectorError, launch: Launch) -> bool:
        """Return whether a task that Slurm refused is to be tried again.

        It is, too, where the domain's own reservation is over, or not there yet, or where a host that cosched has
        chosen was taken out of Slurm's configuration a moment ago: that is no fault of the task's.
        """
        if launch.hosts and "invalid node name" in str(error).lower():
            return True
        own = launch.native is not None and "reservation" in launch.native.settings
        return error.transient or (bool(self._settings.reservation) and not own and "reservation" in str(error).lower())

    def _job_user(self, launch: Launch) -> OwnerAccount | None:
        """Return the account that an attempt's job belongs to; None for the daemon's user.

        Raises:
            ConnectorError: this machine does not know the owner at present (`refused`).
            UserError: the owner is no user for whom jobs are submitted.
        """
        if self._settings.identity != "user":
            return None
        try:
            return owner_account(launch.owner, self._settings.lowest_uid)
        except UnknownUserError as error:  # they were known when they submitted it
            raise ConnectorError(
                f"{error}; the task waits: is this machine's table of users (LDAP, SSSD) well? Cancel it where "
                "they are gone for good",
                transient=True,
                refused=True,
            ) from error

    def _write_scripts(self, launch: Launch, user: OwnerAccount | None) -> Path:
        """Write the scripts of an attempt and return that of its job.

        Raises:
            OSError: the spool cannot be written.
        """
        script = self._attempts.write_script(launch, self._settings.bin)
        # A program that is launched once begins on the first host in Slurm's order.
        chosen = launch.count > 1 and (launch.launch.once or not launch.hosts)
        scontrol = self._slurm.path("scontrol") if chosen else ""
        text = job_script(process_count(launch), script, self._slurm.path("srun"), scontrol)
        job = self._attempts.write(launch.attempt, "job.sh", text)
        if launch.mailbox:
            make_in_spool(self._attempts, launch.attempt, None if user is None else (user.uid, user.gid))
        if user is not None:
            self._attempts.change_owner(launch.attempt, user)
        return job

    def _submitted(self, launch: Launch, job: str) -> str:
        """Follow an attempt that Slurm has taken; cancel its job where it was fenced meanwhile."""
        if self._attempts.fenced(launch.attempt):
            self.cancel(launch.attempt)  # by its comment: the number is the word of sbatch, which is its owner's
            self._attempts.refuse_fenced(launch.attempt)
        processors = dict.fromkeys(launch.hosts, launch.cores) if launch.shared else None
        self._job_watch.follow(
            JobRecord(
                launch.attempt, process_count(launch), job, JobState.QUEUED, hosts=launch.hosts, processors=processors
            )
        )
        return job

    def _shown(self, attempts: Sequence[str]) -> dict[str, JobRecord | None]:
        """Return Slurm's job of each of these attempts, None where it shows none."""
        shown = self._records()
        return {attempt: shown.get(attempt) for attempt in attempts}

    def _jobs(self) -> list[Mapping[str, Any]]:
        return self._named(self._slurm.jobs())

    def _all_users_jobs(self) -> list[Mapping[str, Any]]:
        return self._named(self._slurm.all_users_jobs())

    def _named(self, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return jobs with the comments that say whose they are, as far as they are believed."""
        with self._spool_faults():
            named = with_stamped_names(rows, self._attempts, self._arrays.attempts_of)
        return without_forged_names(named, self._attempts.owner)

    def _records(self) -> dict[str, JobRecord]:
        """Return Slurm's job of each attempt; of several the live one, else the last."""
        found = job_records(self._jobs(), self._arrays.attempts_of)
        return {
            attempt: max(same, key=lambda record: not record.has_ended)
            if any(not record.has_ended for record in same)
            else same[-1]
            for attempt, same in found.items()
        } | self._adopted.records()

    def _unfinished(self) -> set[str]:
        """Return the folders in use: of live attempts, and of arrays that Slurm shows."""
        rows = self._jobs()
        live = {
            record.attempt
            for same in job_records(rows, self._arrays.attempts_of).values()
            for record in same
            if not record.has_ended
        }
        return (
            live
            | self._adopted.attempts()
            | {name for row in rows if (name := commented_uuid(row)) is not None and self._arrays.attempts_of(name)}
        )

    def _report(self, attempt: str, record: JobRecord | None) -> JobReport | None:
        with self._spool_faults():
            if record is None and self._settings.completions is not None and self._attempts.known(attempt):
                record = self._completed(self._settings.completions, attempt)
            stamps = self._attempts.stamps(attempt) if record is None else self._attempts.stamps(attempt, record.count)
            if attempt in self._adopted.attempts():  # its user's own script leaves none
                stamps = ProcessStamps(None if record is None else record.started)
            if record is not None and record.vanished and stamps.started is not None:
                record = None  # it did begin, and Slurm has forgotten it
            fenced = self._attempts.fenced(attempt)
            report = merged_report(
                attempt,
                record,
                stamps,
                fenced=fenced,
                now=time.time(),
                script_lost=lambda: self._attempts.script_lost(attempt),
            )
        return None if report is None else with_preparation_failure(report, self._attempts.folder(attempt))

    def _sought(self, attempt: str, record: JobRecord | None) -> JobReport | None:
        """Return the report of an attempt; from the accounting where nothing else knows it."""
        report = self._report(attempt, record)
        if report is not None or record is not None or not self._attempts.known(attempt):
            return report
        if (past := self._adopted.past_record(attempt)) is not None:
            return self._report(attempt, past)
        array, index = self._arrays.element_of(attempt) or (attempt, None)
        folder = self._attempts.folder(array)
        found = accounted_record(self._accounting.rows(folder, self._attempts.created(attempt)), attempt, index)
        return None if found is None else self._report(attempt, found)

    def _completed(self, file: Path, attempt: str) -> JobRecord | None:
        place = self._arrays.element_of(attempt)
        if place is None:
            return completed_record(file, attempt, self._attempts.folder(attempt))
        array, index = place
        return completed_record(file, attempt, self._attempts.folder(array), index)

    def _spool_faults(self) -> AbstractContextManager[None]:
        return spool_faults(self.name, self._settings.spool)
