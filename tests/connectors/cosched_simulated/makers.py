"""Pools, jobs and launches for tests."""

from __future__ import annotations

import uuid
from typing import Any

from cosched.connector import JobState, Launch
from cosched_simulated.pool import JobOutcome, SimulatedJob, SimulatedPool

DONE = JobOutcome(JobState.COMPLETED, 0)
HOSTS = ("h1", "h2", "h3")


def a_job(number: int, *pinned: str, count: int = 0, ready: float = 0.0, duration: float = 10.0) -> SimulatedJob:
    return SimulatedJob(number, str(uuid.UUID(int=number)), count or len(pinned), pinned, ready, duration, DONE)


def a_pool(*jobs: SimulatedJob, up: tuple[str, ...] = HOSTS, time: float = 0.0) -> SimulatedPool:
    return SimulatedPool(up, time, jobs)


def a_launch(*hosts: str, **fields: Any) -> Launch:
    fields = {"count": len(hosts) or 1, "command": ("/opt/sweep3d", "a b"), **fields}
    return Launch(attempt=str(uuid.uuid4()), task="17", name="sweep", hosts=hosts, **fields)
