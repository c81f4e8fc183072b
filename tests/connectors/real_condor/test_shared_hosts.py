"""Nodes of 64 cores and four GPUs that jobs share, on a real pool of partitionable slots."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import JobState
from cosched.connector.contract import ForeignSharesContract, SharedDevicesContract, SharedHostsContract
from tests.connectors.real_condor.test_contract import OnThePool
from tests.testbed.condor.pool import CondorPool
from tests.testbed.node_size import NodeSize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from cosched.connector import HostShare, Launch
    from cosched.connector.contract import Bench

pytestmark = pytest.mark.pool


@pytest.fixture(scope="module")
def pool() -> Iterator[CondorPool]:
    with CondorPool(hosts=2, node=NodeSize(), settings="MAXJOBRETIREMENTTIME = 1000\n") as pool:
        yield pool


class TestSharedHosts(OnThePool, SharedHostsContract, SharedDevicesContract, ForeignSharesContract):
    @pytest.fixture
    def foreign_job(self, pool: CondorPool, shared: Path) -> Callable[[str, HostShare], AbstractContextManager[None]]:
        return lambda host, share: _foreign_job(pool, shared, host, share)

    def test_a_small_job_does_not_get_the_slot_that_was_cut_for_a_large_one(
        self, pool: CondorPool, bench: Bench
    ) -> None:
        """HTCondor's scheduler would give a claim that is free again to the next job that fits into it."""
        large, small, waiting = (_shared(bench, cores) for cores in (60, 4, 4))
        bench.submit_many([large[0], small[0]])
        for launch, _ in (large, small):
            bench.until(launch, JobState.RUNNING)
        job = bench.submit(waiting[0])
        bench.await_obstacle(waiting[0])
        large[1].touch()
        bench.until(waiting[0], JobState.RUNNING)
        given = pool.tool("condor_q", "-allusers", job, "-af", "CpusProvisioned", "MemoryProvisioned")
        assert given.split() == ["4", "1000"]  # memory as it was asked for, too, not rounded up
        for launch, gate in (small, waiting):
            gate.touch()
            bench.until(launch, JobState.COMPLETED)

    def test_a_drained_host_is_down_while_its_last_job_runs(self, pool: CondorPool, bench: Bench) -> None:
        launch, gate = _shared(bench, 4)
        bench.submit(launch)
        bench.until(launch, JobState.RUNNING)
        pool.tool("condor_drain", "-graceful", "-reason", "new disk", "slot1@node01")
        try:
            bench.await_host("node01", up=False)
            assert bench.report(launch).state is JobState.RUNNING
            gate.touch()
            bench.until(launch, JobState.COMPLETED)
        finally:
            pool.tool("condor_drain", "-cancel", "slot1@node01")
        bench.await_host("node01", up=True)


def _shared(bench: Bench, cores: int) -> tuple[Launch, Path]:
    launch, gate = bench.waiter(hosts=("node01",))
    return replace(launch, shared=True, cores=cores, memory=1000), gate


@contextmanager
def _foreign_job(pool: CondorPool, folder: Path, host: str, share: HostShare) -> Iterator[None]:
    file = folder / "foreign.sub"
    file.write_text(
        f"executable = /bin/sleep\narguments = 100\ninitialdir = {folder}\nrequest_cpus = {share.cores}\n"
        f"request_memory = {share.memory}\nrequest_gpus = {share.gpus}\n"
        f'requirements = TARGET.Machine == "{host}"\nqueue\n'
    )
    job = pool.tool("condor_submit", "-terse", str(file)).split()[0]
    try:
        yield
    finally:
        pool.tool("condor_rm", job)
