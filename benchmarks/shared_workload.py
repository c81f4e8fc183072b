"""The jobs of `benchmarks.against_managers`: drawn once, fixed by their digest before the first run.

Estimates are drawn as real logs have them (Tsafrir, Etsion and Feitelson 2005): round values, that are the limits of
jobs; one program in seven uses all of its estimate, the others an evenly drawn part. Jobs of one user and program with
the same words run alike, as they do in logs. Their work is 1.3 times what 16 nodes of 64 cores do in the 20 minutes.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["DIGEST", "SPAN", "WorkloadJob", "digest", "draw_workload"]

SPAN = 1200.0
"""Seconds over which the jobs arrive."""
DIGEST = "70938c795e45569de9819ddef0344d1d9ed4457564a5666533e1e386bac1aa56"
"""SHA-256 of `draw_workload()`, so that nobody changes the jobs after a run."""

_SEED = 23
_USERS = ("ann", "bob", "eve")
_MINUTES = (1, 2, 3, 5, 10)  # what people write
_CORES = (1, 2, 4, 8, 16, 32, 64)
_CORE_WEIGHTS = (1, 1, 2, 3, 5, 7, 8)
_SLACK = 0.25  # mean of the slack of deadlines in estimates: in a simulation of EASY backfilling 49 % are met


@dataclass(frozen=True, slots=True)
class WorkloadJob:
    """One job; times in seconds.

    Attributes:
        name: its own.
        user: its owner.
        program: what runs; with `size` what its run time follows.
        size: a word of its command line.
        arrival: since the beginning.
        seconds: run time on `hosts` hosts.
        estimate: its user's, and its limit.
        hosts: how many.
        cores: of each host.
        memory: MiB of each host.
        gpus: of each host.
        deadline: since the beginning.
        serial: part of the run time that more hosts do not shorten (Amdahl).
    """

    name: str
    user: str
    program: str
    size: int
    arrival: float
    seconds: float
    estimate: float
    hosts: int
    cores: int
    memory: int
    gpus: int
    deadline: float
    serial: float

    def on(self, hosts: int) -> float:
        """Return its run time on another number of hosts."""
        work = self.seconds / (self.serial + (1 - self.serial) / self.hosts)
        return work * (self.serial + (1 - self.serial) / hosts)


def draw_workload(count: int = 300) -> list[WorkloadJob]:
    """Return the first jobs by arrival."""
    random_ = random.Random(_SEED)
    programs = [_draw_program(random_, number) for number in range(24)]
    arrivals = sorted(random_.uniform(0.0, SPAN) for _ in range(300))
    return [_draw_job(random_, random_.choice(programs), number, at) for number, at in enumerate(arrivals)][:count]


def _draw_program(random_: random.Random, number: int) -> dict[str, Any]:
    """Return what the jobs of one program have in common."""
    cores = random_.choices(_CORES, _CORE_WEIGHTS)[0]
    gpus = random_.choice((1, 2, 4)) if random_.random() < 1 / 6 else 0
    return {
        "user": random_.choice(_USERS),
        "program": f"program{number}",
        "cores": cores,
        "gpus": gpus,
        "memory": min(int(cores * 1024 * random_.choice((0.5, 1, 2, 4, 12))), 240 * 1024),
        "hosts": random_.choice((2, 4)) if cores == 64 and random_.random() < 0.5 else 1,
        "serial": round(random_.uniform(0.01, 0.2), 3),
        "minutes": random_.choice(_MINUTES),
        "used": 1.0 if random_.random() < 1 / 7 else random_.uniform(0.1, 0.95),
    }


def _draw_job(random_: random.Random, program: dict[str, Any], number: int, arrival: float) -> WorkloadJob:
    size = random_.choice((1, 2, 3))
    estimate = 60.0 * program["minutes"]
    seconds = estimate * program["used"] * size / 3 * random_.uniform(0.95, 1.0)
    slack = random_.expovariate(1 / _SLACK) * estimate
    return WorkloadJob(
        name=f"job{number:03d}",
        user=program["user"],
        program=program["program"],
        size=size,
        arrival=round(arrival, 3),
        seconds=round(seconds, 3),
        estimate=estimate,
        hosts=program["hosts"],
        cores=program["cores"],
        memory=program["memory"],
        gpus=program["gpus"],
        deadline=round(arrival + seconds + slack, 3),
        serial=program["serial"],
    )


def digest(jobs: list[WorkloadJob]) -> str:
    """Return the SHA-256 of jobs."""
    return hashlib.sha256(json.dumps([asdict(job) for job in jobs], sort_keys=True).encode()).hexdigest()
