"""What Slurm's own tools show of a job of cosched's, on a real cluster, and jobs of an older cosched."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector import JobState

if TYPE_CHECKING:
    from cosched.connector.contract import Bench
    from tests.testbed.slurm.cluster import SlurmCluster

pytestmark = pytest.mark.pool

_DEADLINE = 1893456000.75


def test_squeue_shows_deadline_and_application_behind_the_attempt(cluster: SlurmCluster, bench: Bench) -> None:
    made, gate = bench.waiter(hosts=bench.up(1))
    launch = replace(made, deadline=_DEADLINE, application="jacobi")
    job = bench.submit(launch)
    assert _comments(cluster, job) == [f"cosched:{launch.attempt}:1 deadline=1893456000 application=jacobi"]
    gate.touch()
    bench.until(launch, JobState.COMPLETED)


def test_an_array_shows_the_earliest_deadline_and_the_application(cluster: SlurmCluster, bench: Bench) -> None:
    made = [bench.waiter() for _ in range(3)]
    launches = [
        replace(launch, deadline=_DEADLINE + 60 * place, application="jacobi")
        for place, (launch, _) in reversed(list(enumerate(made)))
    ]
    arrays = {job.partition("_")[0] for job in bench.submit_many(launches).values()}
    assert len(arrays) == 1
    (comment,) = set(_comments(cluster, *arrays))
    assert comment.startswith("cosched-array:")
    assert comment.endswith(":1 deadline=1893456000 application=jacobi")
    bench.restart()
    for _, gate in made:
        gate.touch()
    for launch in launches:
        bench.until(launch, JobState.COMPLETED)


def test_attempts_with_and_without_deadlines_are_arrays_of_their_own(cluster: SlurmCluster, bench: Bench) -> None:
    launches = [
        replace(bench.shell("sleep 60"), deadline=deadline, application=application)
        for application in ("jacobi", "sweep3d")
        for deadline in (None, _DEADLINE)
        for _ in range(2)
    ]
    arrays = {job.partition("_")[0] for job in bench.submit_many(launches).values()}
    tails = sorted(comment.partition(" ")[2] for comment in set(_comments(cluster, *arrays)))
    assert tails == [
        "application=jacobi",
        "application=sweep3d",
        "deadline=1893456000 application=jacobi",
        "deadline=1893456000 application=sweep3d",
    ]


def test_a_job_whose_comment_ends_with_the_count_is_still_found_and_cancelled(
    cluster: SlurmCluster, bench: Bench
) -> None:
    """So an older cosched wrote it."""
    launch = bench.shell("sleep 60")
    cluster.tool("sbatch", f"--comment=cosched:{launch.attempt}:1", "--output=/dev/null", "--wrap=sleep 60")
    found = bench.connector.find(launch.attempt)
    assert found is not None
    assert found.state in (JobState.QUEUED, JobState.RUNNING)
    bench.connector.cancel(launch.attempt)
    bench.until(launch, JobState.REMOVED)


def _comments(cluster: SlurmCluster, *jobs: str) -> list[str]:
    """Return the comments that squeue shows, one for each line of these jobs."""
    until = time.monotonic() + 60
    while True:
        lines = cluster.tool("squeue", f"--jobs={','.join(jobs)}", "--noheader", "--format=%k").splitlines()
        if lines or time.monotonic() > until:
            return [line.strip() for line in lines]
