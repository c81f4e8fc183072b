"""What a simulated pool is at one moment: the hosts that are up, and the jobs that wait or run. No clock, no files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from cosched.connector import JobReport, JobState

__all__ = ["CANCELLED", "Ending", "Job", "Pool"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ends.

    Attributes:
        state: that it has from then on.
        exit_code: of its processes; None where they were made to end.
        reason: in the pool's words.
    """

    state: JobState
    exit_code: int | None = None
    reason: str = ""


CANCELLED = Ending(JobState.REMOVED, reason="cancelled")


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt, as the pool keeps it.

    Attributes:
        number: in the order of submission.
        attempt: UUID.
        count: hosts that it needs.
        pinned: hosts that it must have; empty where the pool chooses.
        ready: when it may start at the earliest, seconds since the epoch.
        duration: seconds from its start to the end that it has by itself.
        ending: how it ends, unless somebody stops it.
        state: QUEUED, RUNNING, or that of its ending.
        hosts: that it has or had.
        began: when it started; None before that.
        ends: when it will end or has ended; infinite while it waits.
        stopped: whether somebody made it end.
    """

    number: int
    attempt: str
    count: int
    pinned: tuple[str, ...]
    ready: float
    duration: float
    ending: Ending
    state: JobState = JobState.QUEUED
    hosts: tuple[str, ...] = ()
    began: float | None = None
    ends: float = inf
    stopped: bool = False

    @property
    def live(self) -> bool:
        """True while it waits or runs."""
        return self.state in (JobState.QUEUED, JobState.RUNNING)

    def start(self, hosts: tuple[str, ...], time: float) -> Job:
        """Return it as it starts."""
        return replace(self, state=JobState.RUNNING, hosts=hosts, began=time, ends=time + self.duration)

    def end(self) -> Job:
        """Return it as its end has come."""
        return replace(self, state=self.ending.state)

    def stop(self, ending: Ending, time: float, grace: float) -> Job:
        """Return it as somebody makes it end: at once while it waits, else after the grace at the latest.

        A cancel outdoes the loss of a host, before and after the end; nothing else changes an ending once more.
        """
        evicted = self.ending.state is JobState.EVICTED
        if not self.live:
            return replace(self, state=ending.state, ending=ending) if evicted else self
        if self.state is JobState.QUEUED:
            return replace(self, state=ending.state, ending=ending, ends=time, stopped=True)
        if self.stopped and not evicted:
            return self
        return replace(self, ending=ending, ends=min(self.ends, time + grace), stopped=True)

    def report(self) -> JobReport:
        """Return what the pool says of it."""
        job = str(self.number)
        match self.state:
            case JobState.QUEUED:
                reason = f"waits for {', '.join(self.pinned)}" if self.pinned else "waits for hosts"
                return JobReport(self.attempt, self.state, job, reason=reason)
            case JobState.RUNNING:
                return JobReport(self.attempt, self.state, job, self.began, hosts=self._chosen)
        ending = self.ending
        return JobReport(
            self.attempt, self.state, job, self.began, self.ends, ending.exit_code, ending.reason, self._chosen
        )

    @property
    def _chosen(self) -> tuple[str, ...]:
        return () if self.pinned else self.hosts


@dataclass(frozen=True, slots=True)
class Pool:
    """All that may still change.

    Attributes:
        up: hosts that are up, in the order in which they are given out.
        time: up to when everything has happened, seconds since the epoch.
        jobs: in the order of submission; those that have ended in this very turn are among them.
    """

    up: tuple[str, ...]
    time: float
    jobs: tuple[Job, ...] = ()

    def put(self, changed: Job) -> Pool:
        """Return the pool with one job replaced."""
        return replace(self, jobs=tuple(changed if job.number == changed.number else job for job in self.jobs))

    def observe(self, up: tuple[str, ...], grace: float) -> Pool:
        """Return the pool as these hosts are up from now on: what runs on a lost one ends, after the grace at most.

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
            ending = Ending(JobState.EVICTED, reason=f"host {lost} was lost")
            jobs.append(job if lost is None else job.stop(ending, self.time, grace))
        return replace(self, up=up, jobs=tuple(jobs))
