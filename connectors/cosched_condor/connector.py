"""The HTCondor connector runs groups of pinned vanilla processes.

It follows them in the event log or, from afar, in the queue.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

from cosched.connector import Connector, ConnectorError, Host, JobReport, JobState, Launch, Output
from cosched.connector.launches import check_attempt, check_launch
from cosched.connector.mailboxes import Mailboxes
from cosched.connector.spool import spool_faults
from cosched.connector.spool_pruning import SpoolPruner
from cosched.connector.submission import SubmitOutcomes
from cosched.errors import UserError
from cosched_condor.adopted_jobs import CondorAdoptedJobs
from cosched_condor.condor_settings import CondorSettings
from cosched_condor.htcondor_client import PER_SUBMISSION, CondorClient
from cosched_condor.job_events import JobEventSource, LogEvents, QueueEvents
from cosched_condor.job_owners import JobOwners
from cosched_condor.jobs import TRANSFER_SECONDS, OutputFetcher, SchedulerJobs
from cosched_condor.machines import (
    IdleClaims,
    JobRequirements,
    OwnClusters,
    PlaceAttributes,
    pool_hosts,
    slot_projection,
)
from cosched_condor.spool import CondorAttemptFolders
from cosched_condor.submit_description import ClusterBatch, SubmitDescription, cluster_batches, describe, is_parallel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from cosched.connector.interface import AdoptableJob, StartDiagnosis
    from cosched.connector.jobs import LaunchMode

__all__ = ["CondorConnector"]

_MOST_PROCESSES = 1000  # processes of a cluster at most
_DAY = 86400.0
_KEEP_DAYS = 30.0  # at least, for which an event log is kept whose jobs were not seen to end
_SUBMISSION_SEEN = 1.0  # seconds after which the queue may show what became of a submission


class CondorConnector(Connector):
    """Drives an HTCondor pool through its scheduler. Methods may be called from different threads.

    An attempt is a group of vanilla processes, each pinned to its host, in a cluster of its own or in one with others
    that left with it. It is submitted on hold and then released: until the release nothing runs, and the release starts
    it at once on hosts that are still claimed.
    """

    name = "condor"

    def __init__(self, settings: Mapping[str, object]) -> None:
        self._settings = CondorSettings.read(settings)
        self._attempts = CondorAttemptFolders(self._settings.spool)
        self._client = CondorClient(self._settings)
        self._event_client = CondorClient(self._settings)
        self._requirements = JobRequirements.of(self._settings)
        self._own_clusters = OwnClusters()
        self._idle_claims = IdleClaims()
        self._classless = False
        self._scheduler_fault = ""  # why it could not be asked for its name
        self._events_guard = threading.Lock()
        self._owners = JobOwners(self._client, self._attempts)
        self._output_fetcher = (
            OutputFetcher(self._event_client, self._attempts, self._owners) if self._settings.spooled else None
        )
        self._jobs = SchedulerJobs(
            self._client, self._attempts, self._owners, self._settings.timeout, self._output_fetcher
        )
        self._adopted = CondorAdoptedJobs(self._client)
        self._job_events: JobEventSource = (
            LogEvents(self._event_client, self._attempts.logs, max(self._settings.keep_days, _KEEP_DAYS) * _DAY)
            if self._output_fetcher is None
            else QueueEvents(self._client, self._jobs, self._output_fetcher, self._attempts, self._own_clusters.owns)
        )
        self._pruning = SpoolPruner(self._settings.spool, self._settings.keep_days, self._queued)

    @property
    def calls(self) -> Mapping[str, int]:
        """Number of questions to HTCondor's daemons, by verb; following the event log asks none."""
        return {
            **self._client.calls,
            **{verb: times for verb, times in self._event_client.calls.items() if verb != "follow"},
        }

    @property
    def home(self) -> str:
        """Its spool, and the scheduler that is named, or whose configuration is."""
        config = f"scheduler of {self._settings.config}, " if self._settings.config else ""
        schedd = f"scheduler {self._settings.schedd}, " if self._settings.schedd else config
        return f"{schedd}spool {self._settings.spool}"

    def hosts(self) -> Sequence[Host]:
        """Return the machines that the collector shows; those with foreign jobs are claimed.

        A spool that cannot be used is told of here, too: nothing could be submitted.
        """
        self._prepare()
        places = PlaceAttributes(self._settings.host_class, self._settings.cluster_attribute)
        slots = self._client.call("hosts", projection=slot_projection(places))
        if not self._own_clusters.scheduler:
            try:
                self._own_clusters.named(self._client.call("scheduler"))
                self._scheduler_fault = ""
            except ConnectorError as error:  # it is away, or has another name: until it answers numbers have to do
                self._scheduler_fault = str(error)
        self._own_clusters.resolve(slots, self._queued_clusters)
        self._job_events.slots_seen(slots)
        ours, slot_hosts = self._own_clusters.owns, self._settings.slot_hosts
        held = self._idle_claims.held(slots, self._owners.own_names(), time.monotonic())
        hosts = pool_hosts(slots, places, ours, self._requirements, idle_claims=held, slot_hosts=slot_hosts)
        self._classless = bool(hosts) and not any(host.host_class for host in hosts)
        return hosts

    def remarks(self) -> Sequence[str]:
        """Return what to look at: an open spool, a scheduler that is not there, an attribute that no machine has."""
        found, name = self._attempts.remarks(), self._settings.host_class
        if self._scheduler_fault:
            found.append(self._scheduler_fault)
        if name and self._classless:
            found.append(
                f"host_class is {name}, and no machine has such an attribute: add it to STARTD_ATTRS, or correct "
                "[connector.condor] host_class"
            )
        return found

    def check_task(self, owner: str, launch: LaunchMode) -> None:  # noqa: ARG002 -- all owners' jobs are alike here
        """Refuse programs that are launched once where their processes share no folder."""
        if self._settings.spooled and launch.once:
            raise UserError(
                "a program that is launched once has its processes find each other in a common folder, which this pool "
                'has not (files = "spooled"): leave --mpi and --launch out, so that it runs on each host by itself'
            )

    def submit(self, launch: Launch) -> str:
        """Submit a cluster and return the number of its first process.

        Raises:
            ConnectorError: HTCondor refused; it was cancelled before; or the answer was lost (`transient`).
            UserError: a value cannot be carried safely.
        """
        return self.submit_many([launch]).job(launch.attempt)

    def submit_many(self, launches: Sequence[Launch]) -> SubmitOutcomes:
        """Submit one cluster for all launches that differ only in the items' variables.

        These are name, command and hosts.
        """
        outcomes = SubmitOutcomes()
        for launch in launches:
            if launch.adopted:
                with outcomes.settle([launch.attempt]):
                    outcomes[launch.attempt] = self._release(launch)
        launches = [launch for launch in launches if not launch.adopted]
        described: dict[str, SubmitDescription] = {}
        again: list[str] = []
        for launch in launches:
            with outcomes.settle([launch.attempt]):
                check_launch(launch)
                self.check_task(launch.owner, launch.launch)
                _check_reach(launch)
                described[launch.attempt] = describe(launch, self._settings, self._attempts)
                if not self._make_folder(launch.attempt):
                    again.append(launch.attempt)
        with outcomes.settle(again):
            if again:
                known = self._jobs.look_up(again)
                outcomes.update({attempt: known[attempt].job for attempt in again if attempt in known})
        new = [launch for launch in launches if launch.attempt not in outcomes]
        for launch in new:
            with outcomes.settle([launch.attempt]):
                self._write_script(launch)
        ready = {one.attempt: described[one.attempt] for one in new if one.attempt not in outcomes}
        for batch in cluster_batches(ready, _MOST_PROCESSES):
            self._hand_over_in_parts(batch, ready, outcomes)
        outcomes.doubt_refusals(again)
        return outcomes

    @property
    def adoption(self) -> CondorConnector:
        """The gate before users' own jobs, which this object keeps itself."""
        return self

    def adoptable_jobs(self) -> Sequence[AdoptableJob]:
        """Return users' own jobs behind the gate, and those that were let go."""
        return self._adopted.listed()

    def retract(self, attempt: str, key: str) -> bool:
        """Close the gate of a user's own job, unless it has begun."""
        check_attempt(attempt)
        return self._adopted.retract(attempt, key) and self.find(attempt) is None

    def renew(self, until: float) -> None:
        """Move the end of all leases."""
        self._adopted.renew(until)

    def ran_alone(self, key: str) -> bool:
        """Return whether a user's own job ran to its end for no attempt, as the history has it."""
        return self._adopted.ran_alone(key)

    def abandon(self, key: str, reason: str) -> None:
        """Let a user's own job run as any other; its attribute CoschedNote says why."""
        self._adopted.abandon(key, reason)

    def remove(self, key: str, reason: str) -> None:
        """Remove a user's own job."""
        self._adopted.remove(key, reason)

    def status(self, attempts: Sequence[str]) -> Mapping[str, JobReport]:
        """Ask the queue, then the history where the queue lacks processes of an attempt."""
        for attempt in attempts:
            check_attempt(attempt)
        known = self._jobs.look_up(attempts) if attempts else {}
        self._prune()
        return {attempt: known.get(attempt) or JobReport(attempt, JobState.UNKNOWN) for attempt in attempts}

    def cancel(self, attempt: str) -> None:
        """Fence the attempt, so that it never begins anywhere, and remove its processes."""
        check_attempt(attempt)
        self._prepare()
        with self._spool_faults():
            self._attempts.fence(attempt)
        self._jobs.remove(attempt)
        self._job_events.changed()

    def call_back(self, attempt: str) -> bool:
        """Cancel the attempt unless each of its processes has begun."""
        check_attempt(attempt)
        self._prepare()
        if not self._jobs.call_back(attempt):
            return False
        self.cancel(attempt)
        return True

    def find(self, attempt: str) -> JobReport | None:
        """Look the attempt up in the queue and in the history."""
        check_attempt(attempt)
        return self._jobs.look_up([attempt]).get(attempt)

    def diagnose(self, attempt: str) -> StartDiagnosis:
        """Match the attempt's idle processes with the slots that they may have."""
        check_attempt(attempt)
        return self._jobs.diagnose(attempt)

    def events(self, timeout: float) -> Sequence[JobReport]:
        """Follow the event log or, from afar, the queue.

        The first call of an object begins at the beginning.
        """
        self._prepare()
        with self._events_guard:
            reports = self._job_events.read(timeout)
        self._own_clusters.add(report.job for report in reports)
        reports = [self._jobs.corrected(report) for report in reports]
        for report in reports:
            if report.state is JobState.QUEUED and self._attempts.fenced(report.attempt):
                with contextlib.suppress(ConnectorError):  # the fence holds all the same; the reports come only once
                    self._jobs.remove(report.attempt)
        return reports

    def output(self, attempt: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        """Return part of what a process wrote."""
        check_attempt(attempt)
        if self._output_fetcher is not None:
            self._output_fetcher.fetch(attempt)
        with self._spool_faults():
            return self._attempts.output(attempt, stream, rank, offset, limit)

    @property
    def mail(self) -> Mailboxes | None:
        """The mailboxes of attempts, in a spool that the hosts reach."""
        return None if self._settings.spooled else Mailboxes(self._attempts.mailbox, self._spool_faults)

    def close(self) -> None:
        """End the processes that talk to HTCondor; jobs go on."""
        self._client.close()
        if self._output_fetcher is None:
            self._event_client.close()
        else:  # what is being fetched stays with the scheduler, and is fetched by the next daemon
            self._output_fetcher.close()
            self._event_client.abandon()
        self._attempts.lock.release()

    def _release(self, launch: Launch) -> str:
        """Let a user's own job go."""
        check_attempt(launch.attempt)
        self._make_folder(launch.attempt)  # after a restart it says that the job is ours
        with self._spool_faults():
            self._attempts.adopt(launch.attempt, launch.adopted)
        job = self._adopted.release(launch)
        self._own_clusters.add([job])
        self._job_events.changed([launch.attempt], _SUBMISSION_SEEN)
        return job

    def _make_folder(self, attempt: str) -> bool:
        """Make an attempt's folder; return False where there is one already, and perhaps a job."""
        self._prepare()
        with self._spool_faults():
            return self._attempts.begin(attempt)

    def _write_script(self, launch: Launch) -> None:
        with self._spool_faults():
            parallel = launch.native is None and is_parallel(launch, self._settings)
            self._attempts.write_script(launch, spooled=self._settings.spooled, parallel=parallel)

    def _hand_over_in_parts(
        self, batch: ClusterBatch, described: Mapping[str, SubmitDescription], outcomes: SubmitOutcomes
    ) -> None:
        """Submit a cluster, and halve it while a limit of the scheduler refuses it.

        One that is refused for good is parted by directories: HTCondor takes none of its jobs where one of these is
        missing, and that is no fault of the others'.
        """
        attempts = list(batch.firsts)
        answers = []
        with outcomes.settle(attempts):
            answers.append(self._submitted(batch))
        if answers:
            with outcomes.settle(attempts):
                self._take_over(batch, answers[0], outcomes)
            return
        if not outcomes.refused(attempts[0]):
            parts = batch.directories() if outcomes.refused_for_good(attempts[0]) else []
            for part in parts if len(parts) > 1 else []:
                (alike,) = cluster_batches({attempt: described[attempt] for attempt in part}, len(batch.items))
                self._hand_over_in_parts(alike, described, outcomes)
            return
        if len(attempts) == 1:
            if PER_SUBMISSION in str(outcomes[attempts[0]]):
                outcomes[attempts[0]] = _too_many_processes(len(batch.items))
            return
        middle = len(attempts) // 2
        for part in (attempts[:middle], attempts[middle:]):
            if part[0] is not attempts[0] and outcomes.refused(attempts[middle - 1]):
                return  # no room for the end of the first half: none for the second
            (half,) = cluster_batches({attempt: described[attempt] for attempt in part}, len(batch.items))
            self._hand_over_in_parts(half, described, outcomes)

    def _take_over(self, batch: ClusterBatch, answer: Mapping[str, Any], outcomes: SubmitOutcomes) -> None:
        """Record a cluster that was submitted and released."""
        cluster = str(answer["cluster"])
        self._own_clusters.add([cluster])
        self._owners.submitted(int(cluster))
        for attempt, first in batch.firsts.items():
            with outcomes.settle([attempt]):
                if self._attempts.fenced(attempt):
                    self._jobs.remove(attempt)
                    self._attempts.refuse_fenced(attempt)
                outcomes[attempt] = f"{cluster}.{first}"
        with outcomes.settle([attempt for attempt in batch.firsts if isinstance(outcomes[attempt], str)]):
            self._jobs.check_released(cluster, answer["released"])
        self._job_events.changed(batch.firsts, _SUBMISSION_SEEN)

    def _submitted(self, batch: ClusterBatch) -> dict[str, Any]:
        fences = {attempt: str(self._attempts.fence_file(attempt)) for attempt in batch.firsts}
        verb, wait = ("submit_spooled", TRANSFER_SECONDS) if self._settings.spooled else ("submit", 0.0)
        answer: dict[str, Any] = self._client.call(
            verb, wait=wait, description=batch.text, items=batch.items, fences=fences
        )
        return answer

    def _prune(self) -> None:
        with self._spool_faults():
            self._pruning.look()

    def _queued(self) -> set[str]:
        """Return the attempts that the queue still shows."""
        return {attempt for _, attempt in self._queued_jobs()}

    def _queued_clusters(self) -> set[str]:
        """Return the clusters in the queue of this spool's attempts."""
        return {cluster for cluster, attempt in self._queued_jobs() if self._attempts.known(attempt)}

    def _queued_jobs(self) -> set[tuple[str, str]]:
        """Return cluster and attempt of each of cosched's jobs in the queue."""
        names = ["ClusterId", "CoschedAttempt", "Owner", "GlobalJobId"]
        ads = self._client.call("queue", constraint="CoschedAttempt =!= undefined", projection=names)
        return {(str(ad["ClusterId"]), str(ad["CoschedAttempt"])) for ad in self._owners.without_forged(ads)}

    def _prepare(self) -> None:
        with self._spool_faults():
            self._attempts.prepare()

    def _spool_faults(self) -> AbstractContextManager[None]:
        return spool_faults(self.name, self._settings.spool)


def _check_reach(launch: Launch) -> None:
    if launch.launch.once and len(launch.hosts) > 1 and any("@" in host for host in launch.hosts):
        raise UserError(
            f"task {launch.name!r} is launched once on several hosts, and these are slots of machines "
            '(static_slots = "hosts"), which its launcher does not know by name: let it have one host'
        )


def _too_many_processes(count: int) -> ConnectorError:
    return ConnectorError(
        f"HTCondor takes fewer jobs in one submission than the {count} processes of this task: "
        f"raise {PER_SUBMISSION} at the scheduler, or let the task have fewer hosts",
        transient=False,
    )
