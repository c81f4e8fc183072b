"""Machines that are cut in static slots, each of which is a host: jobs begin on their own slot and have all of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import JobState
from cosched.connector.contract import Bench
from cosched_condor import CondorConnector
from tests.testbed.condor.pool import CondorPool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.pool

_SLOTS = (
    "NUM_CPUS = 8\nMEMORY = 8192\nNUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = cpus=2, memory=2048\n"
    "NUM_SLOTS_TYPE_2 = 1\nSLOT_TYPE_2 = cpus=6, memory=6144\nSLOT_TYPE_2_PARTITIONABLE = false\n"
)


@pytest.fixture(scope="module")
def pool() -> Iterator[CondorPool]:
    with CondorPool(hosts=1, settings=_SLOTS) as pool:
        yield pool


@pytest.fixture
def bench(pool: CondorPool, spool: Path, shared: Path) -> Iterator[Bench]:
    settings = {"config": str(pool.config), "spool": str(spool), "static_slots": "hosts"}
    bench = Bench(lambda: CondorConnector(settings), shared, 90.0)
    yield bench
    bench.clear()


def test_slots_of_one_machine_are_hosts_with_what_they_have(bench: Bench) -> None:
    found = sorted((host.cores, host.memory, host.unparted) for host in bench.connector.hosts())
    assert found == [(2, 2048, True), (6, 6144, True)]


def test_jobs_run_side_by_side_on_the_slots_that_they_are_pinned_to(bench: Bench, shared: Path) -> None:
    small, large = sorted(bench.connector.hosts(), key=lambda host: host.cores or 0)
    gates = [shared / name for name in ("small", "large")]
    waits = 'while [ ! -e "$0" ]; do sleep 0.1; done'
    launches = [
        replace(bench.shell(waits, str(gate), hosts=(host.name,)), shared=True, cores=2)
        for gate, host in zip(gates, (small, large), strict=True)
    ]
    bench.submit_many(launches)
    for launch, host in zip(launches, (small, large), strict=True):
        assert bench.until(launch, JobState.RUNNING).hosts == (host.name,)
    gates[1].touch()
    assert bench.until(launches[1], JobState.COMPLETED).hosts == (large.name,)
    assert bench.report(launches[0]).state is JobState.RUNNING
    gates[0].touch()
    bench.until(launches[0], JobState.COMPLETED)


def test_a_job_that_is_pinned_nowhere_tells_its_slot(bench: Bench) -> None:
    launch = bench.shell("exit 0")
    bench.submit(launch)
    names = {host.name for host in bench.connector.hosts()}
    assert set(bench.until(launch, JobState.COMPLETED).hosts) <= names
