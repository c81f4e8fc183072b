"""A simulated pool at one moment, and its changes with time, as pure values.

Start at `SimulatedPool` and `advance`; `drawn_outcome` draws a job's run time and outcome at its submission.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from cosched.connector import JobReport, JobState
from cosched.connector.hosts import HostShare
from cosched.connector.interface import StartDiagnosis, StartVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.connector import Launch
    from cosched_simulated.simulated_settings import SimulatedSettings

__all__ = [
    "CANCELLED",
    "JobOutcome",
    "SimulatedJob",
    "SimulatedPool",
    "advance",
    "drawn_outcome",
    "host_size",
    "next_change",
    "start_diagnosis",
]


_PLENTY = 1 << 40  # MiB


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """Outcome of a job.

    Attributes:
        state: state of the job from its end on.
        exit_code: exit code of its processes; None where they were made to end.
        reason: the pool's words on it.
    """

    state: JobState
    exit_code: int | None = None
    reason: str = ""


def host_size(memory: int | None, cores: int | None, gpus: int | None) -> HostShare:
    """Return what a host has; where nothing is said one core, memory enough and no GPU."""
    return HostShare(_PLENTY if memory is None else memory, cores or 1, gpus or 0)


_UNSAID = host_size(None, None, None)
CANCELLED = JobOutcome(JobState.REMOVED, reason="cancelled")
_DONE = JobOutcome(JobState.COMPLETED, 0)
_FAILED = JobOutcome(JobState.FAILED, 1, "it fails, as 'failures' asks for")


@dataclass(frozen=True, slots=True)
class SimulatedJob:
    """One attempt, as the pool keeps it.

    Attributes:
        number: its number in the order of submission.
        attempt: UUID.
        count: hosts that it needs.
        pinned: the only hosts that it may have; empty where the pool chooses.
        ready: when it may start at the earliest, seconds since the epoch.
        duration: seconds from its start to the end that it has by itself.
        outcome: its outcome at the end, unless it is stopped before.
        state: QUEUED, RUNNING, or that of its outcome.
        hosts: its own while it runs, its last ones after that.
        began: its start; None before that.
        ends: its end, foreseen or past; infinite while it waits.
        stopped: whether it was made to end.
        memory: MiB that it takes of each host; so are cores and GPUs.
        cores: 0 where it has its hosts for itself.
        gpus: that it takes of each host.
    """

    number: int
    attempt: str
    count: int
    pinned: tuple[str, ...]
    ready: float
    duration: float
    outcome: JobOutcome
    state: JobState = JobState.QUEUED
    hosts: tuple[str, ...] = ()
    began: float | None = None
    ends: float = inf
    stopped: bool = False
    memory: int = 0
    cores: int = 0
    gpus: int = 0

    @property
    def share(self) -> HostShare | None:
        """Return what it takes of each of its hosts; None for the whole."""
        return HostShare(self.memory, self.cores, self.gpus) if self.cores else None

    @property
    def live(self) -> bool:
        """Return whether it waits or runs."""
        return self.state in (JobState.QUEUED, JobState.RUNNING)

    def start(self, hosts: tuple[str, ...], time: float) -> SimulatedJob:
        """Return the job as it starts."""
        return replace(self, state=JobState.RUNNING, hosts=hosts, began=time, ends=time + self.duration)

    def end(self) -> SimulatedJob:
        """Return the job as it ends."""
        return replace(self, state=self.outcome.state)

    def stop(self, outcome: JobOutcome, time: float, grace: float) -> SimulatedJob:
        """Return the stopped job: it ends at once if waiting, else within the grace.

        A cancel outdoes the loss of a host, before and after the end; nothing else changes an outcome once more.
        """
        evicted = self.outcome.state is JobState.EVICTED
        if not self.live:
            return replace(self, state=outcome.state, outcome=outcome) if evicted else self
        if self.state is JobState.QUEUED:
            return replace(self, state=outcome.state, outcome=outcome, ends=time, stopped=True)
        if self.stopped and not evicted:
            return self
        return replace(self, outcome=outcome, ends=min(self.ends, time + grace), stopped=True)

    def report(self) -> JobReport:
        """Return the job's report."""
        job = str(self.number)
        match self.state:
            case JobState.QUEUED:
                reason = f"waits for {', '.join(self.pinned)}" if self.pinned else "waits for hosts"
                return JobReport(self.attempt, self.state, job, reason=reason)
            case JobState.RUNNING:
                return JobReport(self.attempt, self.state, job, self.began, hosts=self._chosen)
        outcome = self.outcome
        return JobReport(
            self.attempt, self.state, job, self.began, self.ends, outcome.exit_code, outcome.reason, self._chosen
        )

    @property
    def _chosen(self) -> tuple[str, ...]:
        return () if self.pinned else self.hosts


@dataclass(frozen=True, slots=True)
class SimulatedPool:
    """The live part of a pool.

    Attributes:
        up: hosts that are up, in the order in which they are given out.
        time: the moment up to which the pool has advanced, seconds since the epoch.
        jobs: waiting and running ones in the order of submission, and those that ended in this very transaction.
        size: what each host has.
    """

    up: tuple[str, ...]
    time: float
    jobs: tuple[SimulatedJob, ...] = ()
    size: HostShare = _UNSAID

    def left(self) -> dict[str, HostShare]:
        """Return what running jobs leave of each host that is up."""
        return _left(self.jobs, self.up, self.size)

    def put(self, changed: SimulatedJob) -> SimulatedPool:
        """Return the pool with one job replaced."""
        return replace(self, jobs=tuple(changed if job.number == changed.number else job for job in self.jobs))

    def observe(self, up: tuple[str, ...], grace: float) -> SimulatedPool:
        """Return the pool with these hosts up; jobs on lost hosts end within the grace.

        Args:
            up: the hosts that are up, in the order in which they are given out.
            grace: seconds that jobs go on.
        """
        if up == self.up:
            return self
        there = set(up)
        jobs = []
        for job in self.jobs:
            lost = next((host for host in job.hosts if host not in there), None)
            outcome = JobOutcome(JobState.EVICTED, reason=f"host {lost} was lost")
            jobs.append(job if lost is None else job.stop(outcome, self.time, grace))
        return replace(self, up=up, jobs=tuple(jobs))


def advance(pool: SimulatedPool, now: float) -> SimulatedPool:
    """Return the pool as of now; the same pool if the clock was set back.

    A function of the pool and the time alone: asked often or rarely, the same happens at the same moments.

    Args:
        pool: as it was at `pool.time`, with the changes made to it then.
        now: seconds since the epoch.
    """
    moment: float | None = pool.time
    while moment is not None and moment <= max(now, pool.time):
        jobs = _with_ended_jobs(pool.jobs, moment)
        started = _with_started_jobs(jobs, _left(jobs, pool.up, pool.size), pool.size, moment)
        pool = replace(pool, time=moment, jobs=tuple(started))
        moment = next_change(pool)
    return replace(pool, time=max(now, pool.time))


def next_change(pool: SimulatedPool) -> float | None:
    """Return the epoch time when a job next ends or becomes ready, or None."""
    ends = (job.ends for job in pool.jobs if job.state is JobState.RUNNING)
    readies = (job.ready for job in pool.jobs if job.state is JobState.QUEUED and job.ready > pool.time)
    return min((*ends, *readies), default=None)


def start_diagnosis(pool: SimulatedPool, job: SimulatedJob) -> StartDiagnosis:
    """Return whose jobs have the hosts of a waiting one, and which are off."""
    left, there = pool.left(), dict[str, list[str]]()
    for other in pool.jobs:
        for host in other.hosts if other.state is JobState.RUNNING else ():
            there.setdefault(host, []).append(str(other.number))
    why = [f"{host} is off" for host in job.pinned if host not in left]
    full = [host for host in job.pinned if host in there and not _has_room(job, left.get(host), pool.size)]
    why += [f"job {', '.join(there[host])} has {host}" for host in full]
    return StartDiagnosis(StartVerdict.BLOCKED if why else StartVerdict.WAITING, ", ".join(why))


def _left(jobs: Iterable[SimulatedJob], up: Iterable[str], size: HostShare) -> dict[str, HostShare]:
    left = dict.fromkeys(up, size)
    for job in jobs:
        for host in job.hosts if job.state is JobState.RUNNING else ():
            if host in left:
                left[host] -= job.share or size
    return left


def _has_room(job: SimulatedJob, left: HostShare | None, size: HostShare) -> bool:
    """Return whether a job finds what it takes of a host; None where that is off."""
    if left is None:
        return False
    return left == size if job.share is None else job.share.within(left)


def _with_ended_jobs(jobs: tuple[SimulatedJob, ...], time: float) -> list[SimulatedJob]:
    return [job.end() if job.state is JobState.RUNNING and job.ends <= time else job for job in jobs]


def _with_started_jobs(
    jobs: list[SimulatedJob], left: dict[str, HostShare], size: HostShare, time: float
) -> list[SimulatedJob]:
    """Start jobs that find what they take of hosts, in order of submission.

    A waiting job keeps what it finds of its hosts.
    """
    free = {host: share for host, share in left.items() if share.cores > 0}
    for place, job in enumerate(jobs):
        if not free:
            break
        if job.state is JobState.QUEUED and job.ready <= time:
            hosts = [host for host in job.pinned or free if _has_room(job, free.get(host), size)][: job.count]
            for host in hosts:
                free[host] -= job.share or size
                if free[host].cores <= 0:
                    del free[host]
            if len(hosts) == job.count:
                jobs[place] = job.start(tuple(hosts), time)
    return jobs


def drawn_outcome(launch: Launch, settings: SimulatedSettings) -> tuple[float, JobOutcome]:
    """Draw an attempt's run time in seconds and its outcome.

    They are the same for the same seed and attempt.

    The time is the predicted one by a log-normal factor of median 1, cut off at the time limit.
    """
    draw = random.Random(f"{settings.seed}/{launch.attempt}")  # noqa: S311  a repeatable draw
    expected = settings.unpredicted if launch.predicted is None else launch.predicted
    seconds = expected * draw.lognormvariate(0.0, settings.error)
    if launch.time_limit is not None and seconds > launch.time_limit:
        return launch.time_limit, JobOutcome(
            JobState.REMOVED, reason=f"its time limit of {launch.time_limit:g} s was over"
        )
    return seconds, _FAILED if draw.random() < settings.failures else _DONE
