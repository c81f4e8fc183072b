"""The local connector is a small resource manager that keeps its state on disk."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import threading
import time
from typing import TYPE_CHECKING

from cosched.connector import Connector, ConnectorError, Host, HostShare, JobReport, JobState, Launch, Output
from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched.connector.launches import check_attempt, check_launch
from cosched.connector.mailboxes import Mailboxes
from cosched.connector.spool import cancelled_before_submission, read_output, spool_faults
from cosched.connector.spool_lock import SpoolLock
from cosched.errors import UserError
from cosched_local.job import MAILBOX, LocalJob, reap
from cosched_local.local_settings import LocalSettings
from cosched_local.parts import SlotParts, parts_text
from cosched_local.processor_use import ForeignUse
from cosched_local.spool import LocalSpool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["LocalConnector"]

_QUICK = 0.02  # seconds between looks while a job starts or is being ended
_SLOW = 0.5  # seconds between looks for hosts that are taken off or given back
_DAY = 86400.0
_PRUNE_AGAIN = 3600.0  # seconds between looks for attempts that ended long ago, and from their end to the first look


class LocalConnector(Connector):
    """Runs attempts as processes of this machine on named slots.

    Methods may be called from different threads.

    Pinned launches wait until all of their slots are free and up, first come first served on each slot; unpinned ones
    run beside the slots, a limited number of processes at once. Waiting launches start while a method is called.
    """

    name = "local"

    def __init__(self, settings: Mapping[str, object]) -> None:
        self._settings = LocalSettings.read(settings)
        self._spool = LocalSpool(self._settings.spool)
        self._guard = threading.RLock()
        self._jobs: dict[str, LocalJob] = {}  # in the order of submission; only what has not ended
        self._changed: list[JobReport] = []
        self._closed = False
        self._pruned_at = 0.0
        self._lock = SpoolLock(self._spool.root, self._spool.root / "lock")
        self._size = _slot_size(self._settings)
        self._slots = SlotParts(self._settings.hosts, self._size)
        self._foreign = ForeignUse(len(self._settings.hosts), self._own_sessions)
        self._wake_fd = -1  # eventfd that ends a wait in `events`

    @property
    def home(self) -> str:
        """Its spool."""
        return f"spool {self._spool.root}"

    def hosts(self) -> Sequence[Host]:
        """Return the slots; those with a marker in the spool's folder `offline` are down."""
        with self._working():
            if time.monotonic() >= self._pruned_at + _PRUNE_AGAIN:
                self._prune()
            off = self._spool.offline()
            taken = self._foreign.part() if self._settings.machine == "shared" else 0.0
        size = self._size
        return [
            Host(
                name,
                up=name not in off,
                reason=off.get(name, ""),
                memory=size.memory,
                cores=size.cores,
                gpus=size.gpus,
                owner_takes=taken,
                cluster=self._settings.clusters.get(name, ""),
            )
            for name in self._settings.hosts
        ]

    def _own_sessions(self) -> set[int]:
        """Return the sessions of the attempts that run."""
        found = (job.session for job in self._jobs.values())
        return {session for session in found if session is not None}

    def submit(self, launch: Launch) -> str:
        """Start the attempt or queue it for its slots; return its folder's short identifier.

        Raises:
            ConnectorError: it was cancelled before; the spool cannot be written (`transient`).
            UserError: a value cannot be carried, or a host does not exist.
        """
        check_launch(launch)
        self._check_fits(launch)
        with self._working():
            if launch.attempt not in self._jobs and self._spool.launch(launch.attempt) is None:
                if self._spool.end(launch.attempt) is not None:
                    raise cancelled_before_submission(launch.attempt)
                self._spool.write_launch(launch)
                self._jobs[launch.attempt] = LocalJob(self._spool, launch, self._settings.grace)
                self._advance()
                self._wake()
        return launch.attempt[:8]

    def status(self, attempts: Sequence[str]) -> Mapping[str, JobReport]:
        """Return a report for each attempt."""
        for attempt in attempts:
            check_attempt(attempt)
        with self._working():
            self._advance()
            return {a: self._report(a) or JobReport(a, JobState.UNKNOWN) for a in attempts}

    def cancel(self, attempt: str) -> None:
        """End the attempt with SIGTERM, then SIGKILL after the grace; or forbid its start."""
        check_attempt(attempt)
        with self._working():
            job = self._jobs.get(attempt)
            if job is not None:
                job.stop(JobState.REMOVED, "cancelled")
                self._advance()
            else:
                self._cancel_ended_or_unknown(attempt)
            self._wake()

    def find(self, attempt: str) -> JobReport | None:
        """Look the attempt up in the spool."""
        check_attempt(attempt)
        with self._working():
            self._advance()
            return self._report(attempt)

    def diagnose(self, attempt: str) -> StartDiagnosis:
        """Return which slot, or what runs there, an attempt waits for."""
        check_attempt(attempt)
        with self._working():
            self._advance()
            job = self._jobs.get(attempt)
            if job is None or not job.waiting:
                return StartDiagnosis(StartVerdict.STARTING if job is not None else StartVerdict.WAITING)
            return StartDiagnosis(StartVerdict.CLOSED if job.launch.hosts else StartVerdict.WAITING, job.report.reason)

    def events(self, timeout: float) -> Sequence[JobReport]:
        """Return changes since the last call; after a restart, first all known ends."""
        end = time.monotonic() + timeout
        while not self._closed:
            with self._working():
                self._advance()
                changed, self._changed = self._changed, []
                handles = [job.handle for job in self._jobs.values() if job.handle is not None]
                pause = _QUICK if any(job.changes_soon for job in self._jobs.values()) else _SLOW
                wake_fd = self._wake_fd
            left = end - time.monotonic()
            if changed or left <= 0:
                return changed
            _wait_for_change(handles, wake_fd, min(left, pause))
        return []

    def output(self, attempt: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        """Return part of what a process wrote."""
        check_attempt(attempt)
        with self._working():
            return read_output(self._spool.folder(attempt) / f"{stream}.{rank}", offset, limit)

    @property
    def mail(self) -> Mailboxes:
        """The mailboxes of attempts, in their folders."""
        return Mailboxes(
            lambda attempt: self._spool.folder(attempt) / MAILBOX, lambda: spool_faults(self.name, self._settings.spool)
        )

    def close(self) -> None:
        """Release the spool; jobs go on, but this object cannot be used again."""
        with self._guard:
            self._closed = True
            if not self._lock.is_held:
                return
            for job in self._jobs.values():
                job.release()
            self._jobs.clear()
            self._changed.clear()
            os.close(self._wake_fd)
            self._lock.release()

    @contextlib.contextmanager
    def _working(self) -> Iterator[None]:
        """Hold the guard and the spool; turn the machine's refusals into `ConnectorError`."""
        with spool_faults(self.name, self._settings.spool), self._guard:
            if self._closed:
                raise ConnectorError("this local connector was closed: make another", transient=False)
            if not self._lock.is_held:
                self._open()
            yield

    def _open(self) -> None:
        self._spool.create()
        self._lock.take()
        try:
            self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        except OSError:
            self._lock.release()
            raise
        for attempt in self._spool.attempts():
            self._load(attempt)
        self._pruned_at = time.monotonic()  # later: what ended while no daemon was there is to be told of first

    def _prune(self) -> None:
        keep = max(self._settings.keep_days * _DAY, _PRUNE_AGAIN)
        self._spool.prune(time.time() - keep, self._jobs)
        self._pruned_at = time.monotonic()

    def _load(self, attempt: str) -> None:
        end = self._spool.end(attempt)
        if end is not None:
            self._changed.append(end)
            return
        launch = self._spool.launch(attempt)
        if launch is not None:
            self._jobs[attempt] = LocalJob(self._spool, launch, self._settings.grace)

    def _advance(self) -> None:
        """Update running jobs, end those that lost a host, and start waiting jobs."""
        off = self._spool.offline()
        for attempt, job in list(self._jobs.items()):
            if job.waiting:
                continue
            before = job.report
            if job.look():
                del self._jobs[attempt]
            elif not job.stopping:
                self._end_if_lost(job, off)
            self._note_change(before, job.report)
        self._start_waiting(off)
        reap()

    @staticmethod
    def _end_if_lost(job: LocalJob, off: Mapping[str, str]) -> None:
        lost = next((host for host in job.launch.hosts if host in off), None)
        if lost is not None:
            job.stop(JobState.EVICTED, f"host {lost} was lost: {off[lost]}")

    def _start_waiting(self, off: Mapping[str, str]) -> None:
        """Start jobs with room on their slots; an earlier waiting launch keeps what it takes from later ones."""
        left = dict.fromkeys(self._settings.hosts, self._size)
        room = self._settings.beside
        for job in sorted(self._jobs.values(), key=lambda job: job.waiting):  # stable: those that run come first
            launch = job.launch
            if job.waiting:
                before = job.report
                self._start(job, self._why_waiting(launch, off, left, room))
                self._note_change(before, job.report)
            for host in launch.hosts:
                left[host] = left.get(host, self._size) - (_share(launch) or self._size)
            room -= 0 if launch.hosts else launch.count

    def _parts(self, launch: Launch) -> str:
        if not launch.shared:
            return ""
        others = [job.parts for job in self._jobs.values() if job.parts]
        return parts_text(launch, {host: self._slots.free(host, launch, others) for host in launch.hosts})

    def _start(self, job: LocalJob, obstacle: str) -> None:
        try:
            if not obstacle:
                job.start(self._parts(job.launch))
            elif job.report.reason != obstacle:
                job.set_waiting_reason(obstacle)
        except OSError as error:
            if error.errno == errno.E2BIG:
                job.stop(JobState.FAILED, "its command and environment are longer than this machine takes")
            else:
                job.set_waiting_reason(f"this machine cannot start one more process now: {error.strerror}")

    def _why_waiting(self, launch: Launch, off: Mapping[str, str], left: Mapping[str, HostShare], room: int) -> str:
        """Return why the launch cannot start now; empty if it can."""
        share = _share(launch)
        for host in launch.hosts:
            if host in off:
                return f"waits for host {host}: {off[host]}"
            free = left.get(host, self._size)
            if free != self._size if share is None else not share.within(free):
                return f"waits for host {host}, which is busy"
        if not launch.hosts and launch.count > room:
            return "waits until fewer tasks run beside the hosts"
        return ""

    def _check_fits(self, launch: Launch) -> None:
        if launch.native is not None:
            raise UserError(f"task {launch.name!r} is written for {launch.native.manager}: submit it where that runs")
        for host in launch.hosts:
            if host not in self._settings.hosts:
                known = self._settings.hosts
                raise UserError(f"host {host!r} does not exist here: choose from {known[0]} … {known[-1]}")
        share, size = _share(launch), self._size
        if launch.hosts and share is not None and not share.within(size):
            raise UserError(
                f"task {launch.name!r} takes {share.cores} cores, {share.memory} MiB and {share.gpus} GPUs of each "
                f"slot, which has {size.cores}, {size.memory} and {size.gpus}: ask for less"
            )
        if not launch.hosts and launch.count > self._settings.beside:
            raise UserError(
                f"task {launch.name!r} asks for {launch.count} processes, but at most {self._settings.beside} run "
                "beside the hosts: ask for fewer or raise 'beside'"
            )

    def _cancel_ended_or_unknown(self, attempt: str) -> None:
        end = self._spool.end(attempt)
        if end is None or end.state is JobState.EVICTED:
            self._spool.write_stop(attempt, JobState.REMOVED, "cancelled")
            self._spool.fence(attempt)
            report = self._spool.end(attempt)
            if report is not None:
                self._changed.append(report)

    def _report(self, attempt: str) -> JobReport | None:
        job = self._jobs.get(attempt)
        return job.report if job is not None else self._spool.end(attempt)

    def _note_change(self, before: JobReport, after: JobReport) -> None:
        if after != before:
            self._changed.append(after)

    def _wake(self) -> None:
        os.eventfd_write(self._wake_fd, 1)


def _machine_memory() -> int:
    """Return the memory of this machine in MiB."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


def _slot_size(settings: LocalSettings) -> HostShare:
    return HostShare(settings.memory or _machine_memory(), settings.cores or os.cpu_count() or 1, settings.gpus or 0)


def _share(launch: Launch) -> HostShare | None:
    """Return what a launch takes of each of its slots; None for the whole."""
    return HostShare(launch.memory, launch.cores, launch.gpus) if launch.shared else None


def _wait_for_change(handles: list[int], wake_fd: int, seconds: float) -> None:
    """Wait until a runner ends, a handle is closed or the time is up.

    A write to `wake_fd` ends the wait, too.
    """
    poll = select.poll()
    for handle in (*handles, wake_fd):
        poll.register(handle, select.POLLIN)
    ready = poll.poll(seconds * 1000)
    if any(handle == wake_fd for handle, _ in ready):
        with contextlib.suppress(OSError):  # another thread has read it, or closed the connector
            os.eventfd_read(wake_fd)
