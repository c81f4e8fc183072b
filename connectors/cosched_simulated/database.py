"""The file of a simulated pool: queue and history in SQLite, changed by whole transactions."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.connector import ConnectorError, JobState
from cosched.connector.launches import launch_from_json, launch_to_json
from cosched_simulated.pool import CANCELLED, JobOutcome, SimulatedJob, SimulatedPool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.connector import JobReport, Launch

__all__ = ["PoolDatabase", "PoolTransaction"]

_LOCK_SECONDS = 30.0  # seconds to wait for another process's transaction
_VERSION = 2
_SCHEMA = (
    "CREATE TABLE pool (time REAL NOT NULL, up TEXT NOT NULL, jobs INTEGER NOT NULL, changes INTEGER NOT NULL)",
    "INSERT INTO pool VALUES (0, '', 0, 0)",
    """CREATE TABLE jobs (
        number INTEGER PRIMARY KEY, attempt TEXT NOT NULL UNIQUE, count INTEGER NOT NULL, pinned TEXT NOT NULL,
        ready REAL NOT NULL, duration REAL NOT NULL,
        becomes TEXT NOT NULL, exit_code INTEGER, reason TEXT NOT NULL,  -- its ending
        state TEXT NOT NULL, hosts TEXT NOT NULL, began REAL, ends REAL NOT NULL, stopped INTEGER NOT NULL,
        launch TEXT NOT NULL,  -- as JSON; empty where it was cancelled before it was submitted
        change INTEGER NOT NULL,  -- number of its last change
        memory INTEGER NOT NULL DEFAULT 0, cores INTEGER NOT NULL DEFAULT 0, gpus INTEGER NOT NULL DEFAULT 0
    )""",
    "CREATE INDEX live ON jobs (number) WHERE state IN ('queued', 'running')",
    "CREATE INDEX changed ON jobs (change)",
    f"PRAGMA user_version = {_VERSION}",
)
_FROM_VERSION_1 = (
    *(f"ALTER TABLE jobs ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0" for name in ("memory", "cores", "gpus")),
    f"PRAGMA user_version = {_VERSION}",
)
_LIVE_JOBS = "state IN ('queued', 'running') ORDER BY number"
_FIELDS = (
    "number",
    "attempt",
    "count",
    "pinned",
    "ready",
    "duration",
    "becomes",
    "exit_code",
    "reason",
    "state",
    "hosts",
    "began",
    "ends",
    "stopped",
    "memory",
    "cores",
    "gpus",
)
_CHANGING_FIELDS = ("becomes", "exit_code", "reason", "state", "hosts", "began", "ends", "stopped", "change")
_UPSERT = (  # S608: names of our own; all values are bound
    f"INSERT INTO jobs ({', '.join(_FIELDS)}, launch, change) VALUES ({', '.join('?' * (len(_FIELDS) + 2))}) "  # noqa: S608
    f"ON CONFLICT (number) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _CHANGING_FIELDS)}"
)


class PoolDatabase:
    """The file, opened when it is first needed; used by one thread at a time.

    Args:
        file: its path; its folder is made with it.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._connection: sqlite3.Connection | None = None

    @contextmanager
    def transaction(self) -> Iterator[PoolTransaction]:
        """Yield the pool to read and change; an error undoes all changes.

        Raises:
            ConnectorError: the file cannot be read or written.
        """
        try:
            connection = self._connection or self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                transaction = PoolTransaction(connection)
                yield transaction
                transaction.write()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except (sqlite3.Error, OSError) as error:
            message = (
                f"the file of the simulated pool cannot be used: {error}: {self._file}: make room, correct the "
                "rights, or move it away to begin anew"
            )
            raise ConnectorError(message, transient=True) from error

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        connection = sqlite3.connect(self._file, _LOCK_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            # Not WAL: of processes that open such a file at the same time one is told that it is locked, at once.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            for statement in {0: _SCHEMA, 1: _FROM_VERSION_1}.get(version, ()):
                connection.execute(statement)
            connection.execute("COMMIT")
            if version not in (0, 1, _VERSION):
                raise sqlite3.DatabaseError(f"another cosched wrote it (version {version}, not {_VERSION})")
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection


class PoolTransaction:
    """The pool within one transaction of its file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        time, up, self._jobs, self._changes = connection.execute("SELECT time, up, jobs, changes FROM pool").fetchone()
        self._pool = SimulatedPool(_host_names(up), time, tuple(self._select(_LIVE_JOBS)))
        self._written = self._pool
        self._places = {job.attempt: place for place, job in enumerate(self._pool.jobs)}  # in the pool's jobs
        self._launches: dict[int, str] = {}

    @property
    def pool(self) -> SimulatedPool:
        """The pool as it is now, changes of this transaction included."""
        return self._pool

    def replace_pool(self, pool: SimulatedPool) -> None:
        """Replace this pool by another with the same jobs in the same order."""
        self._pool = pool

    def job(self, attempt: str) -> SimulatedJob | None:
        """Return an attempt's job, whether or not it has ended."""
        place = self._places.get(attempt)
        return next(self._select("attempt = ?", attempt), None) if place is None else self.pool.jobs[place]

    def launch(self, attempt: str) -> Launch | None:
        """Return an attempt's launch; None where it was only cancelled, or is not known."""
        row = self._connection.execute("SELECT launch FROM jobs WHERE attempt = ?", (attempt,)).fetchone()
        return launch_from_json(row[0]) if row and row[0] else None

    def submit(self, launch: Launch, ready: float, duration: float, outcome: JobOutcome) -> SimulatedJob:
        """Put a new job at the end of the queue."""
        job = SimulatedJob(self._jobs + 1, launch.attempt, launch.count, launch.hosts, ready, duration, outcome)
        if launch.shared:
            job = replace(job, memory=launch.memory, cores=launch.cores, gpus=launch.gpus)
        self._launches[job.number] = launch_to_json(launch)
        self._add(job)
        return job

    def fence(self, attempt: str) -> None:
        """Remember the cancel of an attempt that was not submitted yet."""
        time = self.pool.time
        self._add(SimulatedJob(self._jobs + 1, attempt, 0, (), time, 0.0, CANCELLED).stop(CANCELLED, time, 0.0))

    def change(self, job: SimulatedJob) -> None:
        """Replace a job by its new state."""
        if job.attempt in self._places:
            self._pool = self._pool.put(job)
        else:
            self._add(job)

    def changes_since(self, after: int) -> tuple[int, list[JobReport]]:
        """Return the last change's number, and reports of jobs changed after number `after`."""
        self.write()
        return self._changes, [job.report() for job in self._select("change > ? ORDER BY change", after)]

    def forget(self, before: float) -> None:
        """Forget jobs that ended before this time, seconds since the epoch."""
        self._connection.execute("DELETE FROM jobs WHERE state NOT IN ('queued', 'running') AND ends < ?", (before,))

    def write(self) -> None:
        """Write the changed jobs and the pool's time."""
        before = {job.number: job for job in self._written.jobs}
        changed = [job for job in self.pool.jobs if before.get(job.number) != job]
        if not changed and self.pool.up == self._written.up:
            return  # the time alone: the next transaction computes the same again
        for job in changed:
            self._changes += 1
            self._connection.execute(_UPSERT, (*_job_row(job), self._launches.get(job.number, ""), self._changes))
        self._connection.execute(
            "UPDATE pool SET time = ?, up = ?, jobs = ?, changes = ?",
            (self.pool.time, ",".join(self.pool.up), self._jobs, self._changes),
        )
        self._written = self.pool

    def _add(self, job: SimulatedJob) -> None:
        self._jobs = max(self._jobs, job.number)
        self._places[job.attempt] = len(self.pool.jobs)
        self._pool = replace(self._pool, jobs=(*self._pool.jobs, job))

    def _select(self, which: str, *values: object) -> Iterator[SimulatedJob]:
        # S608: names and conditions of our own; all values are bound
        for row in self._connection.execute(f"SELECT {', '.join(_FIELDS)} FROM jobs WHERE {which}", values):  # noqa: S608
            yield _job_of_row(row)


def _host_names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def _job_row(job: SimulatedJob) -> tuple[object, ...]:
    outcome = job.outcome
    return (
        job.number,
        job.attempt,
        job.count,
        ",".join(job.pinned),
        job.ready,
        job.duration,
        outcome.state,
        outcome.exit_code,
        outcome.reason,
        job.state,
        ",".join(job.hosts),
        job.began,
        job.ends,
        job.stopped,
        job.memory,
        job.cores,
        job.gpus,
    )


def _job_of_row(row: tuple[Any, ...]) -> SimulatedJob:
    number, attempt, count, pinned, ready, duration, becomes, code, reason, state, hosts, began, ends = row[:13]
    stopped, *share = row[13:]
    return SimulatedJob(
        number,
        attempt,
        count,
        _host_names(pinned),
        ready,
        duration,
        JobOutcome(JobState(becomes), code, reason),
        JobState(state),
        _host_names(hosts),
        began,
        ends,
        bool(stopped),
        *share,
    )
