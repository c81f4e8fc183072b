"""Hosts that others have, on a real cluster: seen, planned around, and free again when they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.connector import Host, JobState

if TYPE_CHECKING:
    from cosched.connector.contract import Bench
    from tests.testbed.slurm.cluster import SlurmCluster

pytestmark = pytest.mark.pool


def _host(bench: Bench, name: str) -> Host:
    return next(host for host in bench.connector.hosts() if host.name == name)


def test_a_host_with_a_strangers_job_is_claimed_until_it_ends(cluster: SlurmCluster, bench: Bench) -> None:
    job = cluster.tool(
        "sbatch", "--parsable", "--nodelist=node03", "--time=5", "--output=/dev/null", "--wrap=sleep 60"
    ).strip()
    try:
        bench.await_claim("node03", claimed=True)
        host = _host(bench, "node03")
        assert job in host.reason
        assert host.free_at is not None
    finally:
        cluster.tool("scancel", job)
    bench.await_claim("node03", claimed=False)


def test_our_own_jobs_claim_nothing_and_say_where_they_run(bench: Bench) -> None:
    pinned, first = bench.running("node02")
    free, second = bench.waiter()
    bench.submit(free)
    where = bench.listen(free, JobState.RUNNING)[-1].hosts
    assert len(where) == 1
    assert where != ("node02",)
    assert not any(host.claimed for host in bench.connector.hosts())
    bench.restart()
    assert bench.report(free).hosts == where
    bench.connector.events(0)
    assert not any(host.claimed for host in bench.connector.hosts())
    for gate, launch in ((first, pinned), (second, free)):
        gate.touch()
        bench.until(launch, JobState.COMPLETED)
    assert not any(host.claimed for host in bench.connector.hosts())


def test_the_host_of_a_suspended_job_is_taken_until_it_goes_on(cluster: SlurmCluster, bench: Bench) -> None:
    """Slurm calls it idle, and starts nothing there: the job keeps its memory."""
    launch, gate = bench.running("node02")
    job = bench.report(launch).job
    cluster.tool("scontrol", "suspend", job)
    bench.listen(launch, JobState.HELD)
    bench.await_claim("node02", claimed=True)
    assert "suspended" in _host(bench, "node02").reason
    cluster.tool("scontrol", "resume", job)
    bench.listen(launch, JobState.RUNNING)
    bench.await_claim("node02", claimed=False)
    gate.touch()
    bench.until(launch, JobState.COMPLETED)
