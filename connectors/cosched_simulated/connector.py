"""The simulated connector brings its pool up to date at each call.

No process looks after the pool.
"""

from __future__ import annotations

import random
import shlex
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from cosched.connector import Connector, ConnectorError, Host, JobReport, JobState, Launch, Output
from cosched.connector.hosts import HostShare
from cosched.connector.interface import StartDiagnosis
from cosched.connector.launches import check_attempt, check_launch
from cosched.connector.spool import AttemptFolders, cancelled_before_submission, offline_hosts, output_part
from cosched.connector.submission import SubmitOutcomes
from cosched.errors import UserError
from cosched_simulated.database import PoolDatabase
from cosched_simulated.pool import CANCELLED, advance, drawn_outcome, host_size, next_change, start_diagnosis
from cosched_simulated.simulated_settings import SimulatedSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cosched_simulated.database import PoolTransaction

__all__ = ["SimulatedConnector"]

_LOOK = 0.5  # seconds between looks for hosts that are taken off or given back
_REPEATED_CHANGES = 10  # changes that are told once more
_DAY = 86400.0
_FORGET_PERIOD = 3600.0  # seconds between looks for jobs that ended long ago


class SimulatedConnector(Connector):
    """A pool in a file: jobs last about as long as predicted, and nothing runs.

    Methods may be called from different threads; other processes may use the same pool.
    """

    name = "simulated"

    def __init__(self, settings: Mapping[str, object]) -> None:
        self._settings = SimulatedSettings.read(settings)
        self._database = PoolDatabase(self._settings.spool / "pool.db")
        self._folders = AttemptFolders(self._settings.spool / "attempts")
        self._offline = self._settings.spool / "offline"
        self._size = host_size(self._settings.memory, self._settings.cores, self._settings.gpus)
        # A stream for each kind of fault: the number of questions for events does not change which submits are lost.
        self._fault_streams = {
            kind: random.Random(f"{self._settings.seed}/{kind}")  # noqa: S311  a repeatable draw
            for kind in ("busy", "lost", "repeat")
        }
        self._guard = threading.Lock()
        self._wake = threading.Event()  # ends a wait in `events`
        self._closed = False
        self._reported = 0  # number of the last change that was reported
        self._forget_at = time.monotonic() + _FORGET_PERIOD  # what ended while no daemon was there is told of first
        self._calls: Counter[str] = Counter()

    @property
    def calls(self) -> Mapping[str, int]:
        """Number of calls, by verb."""
        return self._calls

    @property
    def home(self) -> str:
        """Its spool, with the pool's file."""
        return f"spool {self._settings.spool}"

    def hosts(self) -> Sequence[Host]:
        """Return the hosts; those with a marker in the spool's folder `offline` are down."""
        self._count_call("hosts")
        with self._transaction() as transaction:
            if time.monotonic() >= self._forget_at:
                self._forget_at = time.monotonic() + _FORGET_PERIOD
                transaction.forget(time.time() - max(self._settings.keep_days * _DAY, _FORGET_PERIOD))
            off = offline_hosts(self._offline)
        size = self._settings
        return [
            Host(
                name,
                host_class,
                name not in off,
                off.get(name, ""),
                memory=size.memory,
                cores=size.cores,
                gpus=size.gpus,
            )
            for name, host_class in self._settings.hosts.items()
        ]

    def submit(self, launch: Launch) -> str:
        """Put the attempt into the queue and return the number of its job.

        Raises:
            ConnectorError: it was cancelled before; or a simulated fault (`transient`).
            UserError: a value cannot be carried, or no pool of these hosts could run it.
        """
        return self.submit_many([launch]).job(launch.attempt)

    def submit_many(self, launches: Sequence[Launch]) -> SubmitOutcomes:
        """Put attempts into the queue in one transaction; see `Connector.submit_many`."""
        self._count_call("submit")
        outcomes = SubmitOutcomes()
        with self._transaction() as transaction:
            for launch in launches:
                with outcomes.settle([launch.attempt]):
                    outcomes[launch.attempt] = self._submit(transaction, launch)
        self._wake.set()
        if self._draws_fault("lost", self._settings.lost):
            raise ConnectorError("the simulated pool's answer to a submit was lost, as 'lost' asks for", transient=True)
        return outcomes

    def status(self, attempts: Sequence[str]) -> Mapping[str, JobReport]:
        """Return a report for each attempt."""
        for attempt in attempts:
            check_attempt(attempt)
        self._count_call("status")
        with self._transaction() as transaction:
            return {
                attempt: _job_report(transaction, attempt) or JobReport(attempt, JobState.UNKNOWN)
                for attempt in attempts
            }

    def cancel(self, attempt: str) -> None:
        """End the attempt, or keep it from ever beginning."""
        check_attempt(attempt)
        self._count_call("cancel")
        with self._transaction() as transaction:
            job = transaction.job(attempt)
            if job is None:
                transaction.fence(attempt)
            else:
                transaction.change(job.stop(CANCELLED, transaction.pool.time, self._settings.grace))
        self._wake.set()

    def call_back(self, attempt: str) -> bool:
        """Cancel the attempt unless it has begun."""
        check_attempt(attempt)
        self._count_call("call_back")
        with self._transaction() as transaction:
            job = transaction.job(attempt)
            if job is not None and job.state in (JobState.RUNNING, JobState.COMPLETED, JobState.FAILED):
                return False
            if job is None:
                transaction.fence(attempt)
            else:
                transaction.change(job.stop(CANCELLED, transaction.pool.time, self._settings.grace))
        self._wake.set()
        return True

    def find(self, attempt: str) -> JobReport | None:
        """Look the attempt up in queue and history, which are one."""
        check_attempt(attempt)
        self._count_call("find")
        with self._transaction() as transaction:
            return _job_report(transaction, attempt)

    def diagnose(self, attempt: str) -> StartDiagnosis:
        """Return which jobs have the hosts of a waiting one."""
        check_attempt(attempt)
        self._count_call("diagnose")
        with self._transaction() as transaction:
            job = transaction.job(attempt)
            return StartDiagnosis() if job is None else start_diagnosis(transaction.pool, job)

    def events(self, timeout: float) -> Sequence[JobReport]:
        """Return reports of jobs changed since the last call; after a restart, all."""
        self._count_call("events")
        end = time.monotonic() + timeout
        reports: list[JobReport] = []
        while not self._closed:
            self._wake.clear()
            with self._transaction() as transaction:
                last, reports = transaction.changes_since(self._reported)
                moment = next_change(transaction.pool) or inf
            left = end - time.monotonic()
            if reports or left <= 0:
                again = bool(reports) and self._draws_fault("repeat", self._settings.repeat)
                self._reported = max(last - _REPEATED_CHANGES, 0) if again else last
                break
            self._wake.wait(min(left, _LOOK, max(moment - time.time(), 0.0)))
        return reports

    def output(self, attempt: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        """Return part of a simulated output: one line with the command that would have run.

        Tests that play the hosts leave real output in the spool's folder `attempts`, which is returned then.
        """
        check_attempt(attempt)
        self._count_call("output")
        with self._transaction() as transaction:
            written = self._folders.output(attempt, stream, rank, offset, limit)
            if written is not None:
                return written
            job, launch = transaction.job(attempt), transaction.launch(attempt)
        if job is None or launch is None or not 0 <= rank < len(job.hosts):
            return None
        line = f"simulated, nothing ran on {job.hosts[rank]}: {shlex.join(launch.command)}\n" if stream == "out" else ""
        return output_part(line.encode(), offset, limit)

    def close(self) -> None:
        """Close the file; the pool goes on, but this object cannot be used again."""
        self._closed = True
        self._wake.set()
        with self._guard:
            self._database.close()

    def _count_call(self, verb: str) -> None:
        """Count a call, and let it fail where a fault is drawn."""
        self._calls[verb] += 1
        if self._draws_fault("busy", self._settings.busy):
            raise ConnectorError("the simulated pool is busy, as 'busy' asks for", transient=True)

    def _draws_fault(self, kind: str, share: float) -> bool:
        return self._fault_streams[kind].random() < share

    @contextmanager
    def _transaction(self) -> Iterator[PoolTransaction]:
        """Bring the pool up to date, then yield it to read or change."""
        with self._guard:
            if self._closed:
                raise ConnectorError("this simulated connector was closed: make another", transient=False)
            with self._database.transaction() as transaction:
                if not self._offline.is_dir():
                    self._offline.mkdir()
                off = offline_hosts(self._offline)
                up = tuple(host for host in self._settings.hosts if host not in off)
                pool, now = replace(transaction.pool, size=self._size), time.time()
                transaction.replace_pool(advance(advance(pool, now).observe(up, self._settings.grace), now))
                yield transaction

    def _submit(self, transaction: PoolTransaction, launch: Launch) -> str:
        check_launch(launch)
        self._check_fits(launch)
        job = transaction.job(launch.attempt)
        if job is not None and not job.count:
            raise cancelled_before_submission(launch.attempt)
        if job is None:
            duration, outcome = drawn_outcome(launch, self._settings)
            job = transaction.submit(launch, transaction.pool.time + self._settings.latency, duration, outcome)
        return str(job.number)

    def _check_fits(self, launch: Launch) -> None:
        hosts = self._settings.hosts
        if launch.native is not None:
            raise UserError(f"task {launch.name!r} is written for {launch.native.manager}: submit it where that runs")
        unknown = next((host for host in launch.hosts if host not in hosts), None)
        if unknown is not None:
            raise UserError(f"host {unknown!r} does not exist here: choose from {min(hosts)} … {max(hosts)}")
        if launch.shared and not HostShare(launch.memory, launch.cores, launch.gpus).within(self._size):
            raise UserError(
                f"task {launch.name!r} takes {launch.cores} cores, {launch.memory} MiB and {launch.gpus} GPUs of each "
                f"host, which has {self._size.cores}, {self._size.memory} and {self._size.gpus}: ask for less"
            )
        if launch.count > len(hosts):
            raise UserError(f"task {launch.name!r} asks for {launch.count} hosts of {len(hosts)}: ask for fewer")


def _job_report(transaction: PoolTransaction, attempt: str) -> JobReport | None:
    job = transaction.job(attempt)
    return None if job is None else job.report()
