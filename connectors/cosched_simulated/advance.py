"""What happens in a simulated pool by itself as time goes by: jobs end, and others start in their places.

A function of the pool and the time alone: looked at often or rarely, the same happens at the same moments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.connector import JobState

if TYPE_CHECKING:
    from cosched_simulated.pool import Job, Pool

__all__ = ["advance", "due"]


def advance(pool: Pool, now: float) -> Pool:
    """Return the pool as it is now; where the clock was set back, as it was.

    Args:
        pool: as it was at `pool.time`, and as somebody has changed it then.
        now: seconds since the epoch.
    """
    moment: float | None = pool.time
    while moment is not None and moment <= max(now, pool.time):
        pool = replace(pool, time=moment, jobs=tuple(_started(_ended(pool.jobs, moment), pool.up, moment)))
        moment = due(pool)
    return replace(pool, time=max(now, pool.time))


def due(pool: Pool) -> float | None:
    """Return when something happens by itself next, seconds since the epoch; None where nothing will."""
    ends = (job.ends for job in pool.jobs if job.state is JobState.RUNNING)
    readies = (job.ready for job in pool.jobs if job.state is JobState.QUEUED and job.ready > pool.time)
    return min((*ends, *readies), default=None)


def _ended(jobs: tuple[Job, ...], time: float) -> list[Job]:
    return [job.end() if job.state is JobState.RUNNING and job.ends <= time else job for job in jobs]


def _started(jobs: list[Job], up: tuple[str, ...], time: float) -> list[Job]:
    """Start what has its hosts, in order of submission: who waits keeps those that it could have from later ones."""
    busy = {host for job in jobs if job.state is JobState.RUNNING for host in job.hosts}
    free = dict.fromkeys(host for host in up if host not in busy)
    for place, job in enumerate(jobs):
        if not free:
            break
        if job.state is JobState.QUEUED and job.ready <= time:
            hosts = tuple(host for host in job.pinned or tuple(free)[: job.count] if host in free)
            for host in hosts:
                del free[host]
            if len(hosts) == job.count:
                jobs[place] = job.start(hosts, time)
    return jobs
