"""The simulated connector: whoever calls brings the pool up to date first, so that no process need look after it."""

from __future__ import annotations

import random
import shlex
import threading
import time
from collections import Counter
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING

from cosched.connector import ConnectorError, Host, JobReport, JobState, Launch, Output
from cosched.connector.interface import SubmitOutcomes
from cosched.connector.launches import check_attempt, check_launch
from cosched.connector.spool import AttemptFolders, offline_hosts, output_part
from cosched.errors import UserError
from cosched_simulated.database import PoolDatabase
from cosched_simulated.pool import CANCELLED, advance, drawn_outcome, next_change
from cosched_simulated.simulated_settings import SimulatedSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cosched_simulated.database import PoolTransaction

__all__ = ["SimulatedConnector"]

_LOOK = 0.5  # seconds between looks for hosts that are taken off or given back
_REPEATED_CHANGES = 10  # changes that are told once more
_DAY = 86400.0
_FORGET_PERIOD = 3600.0  # seconds between looks for jobs that ended long ago


class SimulatedConnector:
    """A pool that is a file: jobs last as long as was predicted, more or less, and nothing runs.

    Methods may be called from different threads; other processes may use the same pool.

    Attributes:
        calls: verb → how often it was called.
    """

    name = "simulated"

    def __init__(self, settings: Mapping[str, object]) -> None:
        self._settings = SimulatedSettings.read(settings)
        self._book = PoolDatabase(self._settings.spool / "pool.db")
        self._folders = AttemptFolders(self._settings.spool / "attempts")
        self._offline = self._settings.spool / "offline"
        # A stream for each kind: how often events are asked for has no part in which submits are lost.
        self._weather = {
            kind: random.Random(f"{self._settings.seed}/{kind}")  # noqa: S311  a repeatable draw
            for kind in ("busy", "lost", "repeat")
        }
        self._guard = threading.Lock()
        self._bell = threading.Event()  # ends a wait in `events`
        self._closed = False
        self._heard = 0  # number of the last change that was told
        self._forget_at = 0.0
        self.calls: Counter[str] = Counter()

    def hosts(self) -> Sequence[Host]:
        """Return the hosts; those with a marker in the spool's folder `offline` are down."""
        self._reach("hosts")
        with self._turn() as turn:
            if time.monotonic() >= self._forget_at:
                self._forget_at = time.monotonic() + _FORGET_PERIOD
                turn.forget(time.time() - self._settings.keep_days * _DAY)
            off = offline_hosts(self._offline)
        return [
            Host(name, host_class, up=name not in off, reason=off.get(name, ""))
            for name, host_class in self._settings.hosts.items()
        ]

    def submit(self, launch: Launch) -> str:
        """Put the attempt into the queue and return the number of its job.

        Raises:
            ConnectorError: it was cancelled before; or bad weather (`transient`).
            UserError: a value cannot be carried, or no pool of these hosts could run it.
        """
        return self.submit_many([launch]).job(launch.attempt)

    def submit_many(self, launches: Sequence[Launch]) -> SubmitOutcomes:
        """Put attempts into the queue in one turn; see `TakesMany.submit_many`."""
        self._reach("submit")
        outcomes = SubmitOutcomes()
        with self._turn() as turn:
            for launch in launches:
                with outcomes.settle([launch.attempt]):
                    outcomes[launch.attempt] = self._submit(turn, launch)
        self._bell.set()
        if self._happens("lost", self._settings.lost):
            raise ConnectorError("the simulated pool's answer to a submit was lost, as 'lost' asks for", transient=True)
        return outcomes

    def status(self, attempts: Sequence[str]) -> Mapping[str, JobReport]:
        """Return a report for each attempt."""
        for attempt in attempts:
            check_attempt(attempt)
        self._reach("status")
        with self._turn() as turn:
            return {attempt: _job_report(turn, attempt) or JobReport(attempt, JobState.UNKNOWN) for attempt in attempts}

    def cancel(self, attempt: str) -> None:
        """End the attempt, or see to it that it never begins."""
        check_attempt(attempt)
        self._reach("cancel")
        with self._turn() as turn:
            job = turn.job(attempt)
            if job is None:
                turn.fence(attempt)
            else:
                turn.change(job.stop(CANCELLED, turn.pool.time, self._settings.grace))
        self._bell.set()

    def find(self, attempt: str) -> JobReport | None:
        """Look the attempt up in queue and history, which are one."""
        check_attempt(attempt)
        self._reach("find")
        with self._turn() as turn:
            return _job_report(turn, attempt)

    def events(self, timeout: float) -> Sequence[JobReport]:
        """Return what has become of jobs that changed since the last call; after a restart, of all that are known."""
        self._reach("events")
        end = time.monotonic() + timeout
        news: list[JobReport] = []
        while not self._closed:
            self._bell.clear()
            with self._turn() as turn:
                last, news = turn.news(self._heard)
                moment = next_change(turn.pool) or inf
            left = end - time.monotonic()
            if news or left <= 0:
                again = bool(news) and self._happens("repeat", self._settings.repeat)
                self._heard = max(last - _REPEATED_CHANGES, 0) if again else last
                break
            self._bell.wait(min(left, _LOOK, max(moment - time.time(), 0.0)))
        return news

    def output(self, attempt: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        """Return part of what a process would have written if there were one: a line that says what it was to run.

        Whoever plays the hosts, as the contract's tests do, leaves what its processes wrote in the spool's `attempts/`.
        """
        check_attempt(attempt)
        self._reach("output")
        with self._turn() as turn:
            written = self._folders.output(attempt, stream, rank, offset, limit)
            if written is not None:
                return written
            job, launch = turn.job(attempt), turn.launch(attempt)
        if job is None or launch is None or not 0 <= rank < len(job.hosts):
            return None
        line = f"simulated, nothing ran on {job.hosts[rank]}: {shlex.join(launch.command)}\n" if stream == "out" else ""
        return output_part(line.encode(), offset, limit)

    def close(self) -> None:
        """Let go of the file; the pool goes on. The object is of no use any more."""
        self._closed = True
        self._bell.set()
        with self._guard:
            self._book.close()

    def _reach(self, verb: str) -> None:
        """Count a call, and let it fail where the weather is bad."""
        self.calls[verb] += 1
        if self._happens("busy", self._settings.busy):
            raise ConnectorError("the simulated pool is busy, as 'busy' asks for", transient=True)

    def _happens(self, kind: str, share: float) -> bool:
        return self._weather[kind].random() < share

    @contextmanager
    def _turn(self) -> Iterator[PoolTransaction]:
        """Bring the pool up to date, then give it to be read or changed."""
        with self._guard:
            if self._closed:
                raise ConnectorError("this simulated connector was closed: make another", transient=False)
            with self._book.turn() as turn:
                if not self._offline.is_dir():
                    self._offline.mkdir()
                off = offline_hosts(self._offline)
                up = tuple(host for host in self._settings.hosts if host not in off)
                now = time.time()
                turn.pool = advance(turn.pool, now).observe(up, self._settings.grace)
                turn.pool = advance(turn.pool, now)
                yield turn  # what comes of it by itself comes of it at this moment, whoever looks next

    def _submit(self, turn: PoolTransaction, launch: Launch) -> str:
        check_launch(launch)
        self._check_fits(launch)
        job = turn.job(launch.attempt)
        if job is not None and not job.count:
            raise ConnectorError(
                f"attempt {launch.attempt} was cancelled before it was submitted: make a new attempt", transient=False
            )
        if job is None:
            duration, ending = drawn_outcome(launch, self._settings)
            job = turn.submit(launch, turn.pool.time + self._settings.latency, duration, ending)
        return str(job.number)

    def _check_fits(self, launch: Launch) -> None:
        hosts = self._settings.hosts
        if launch.native is not None:
            raise UserError(f"task {launch.name!r} is written for {launch.native.manager}: submit it where that runs")
        unknown = next((host for host in launch.hosts if host not in hosts), None)
        if unknown is not None:
            raise UserError(f"host {unknown!r} does not exist here: choose from {min(hosts)} … {max(hosts)}")
        if launch.count > len(hosts):
            raise UserError(f"task {launch.name!r} asks for {launch.count} hosts of {len(hosts)}: ask for fewer")


def _job_report(turn: PoolTransaction, attempt: str) -> JobReport | None:
    job = turn.job(attempt)
    return None if job is None else job.report()
