"""A real pool whose machines are cut to size for each job: cores, memory, disk and devices."""

from __future__ import annotations

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

_SLOTS = "NUM_CPUS = 4\nMEMORY = 4096\nSLOT_TYPE_1_PARTITIONABLE = true\nMACHINE_RESOURCE_GPUS = CUDA0, CUDA1\n"
_NEEDS = {"request_cpus": 2, "request_memory": 512, "request_disk": 2048, "request_gpus": 1}


@pytest.fixture(scope="module")
def pool() -> Iterator[CondorPool]:
    with CondorPool(hosts=2, settings=_SLOTS) as pool:
        yield pool


@pytest.fixture
def bench(pool: CondorPool, spool: Path, shared: Path) -> Iterator[Bench]:
    bench = Bench(lambda: CondorConnector({"config": str(pool.config), "spool": str(spool), **_NEEDS}), shared, 90.0)
    yield bench
    bench.clear()


def test_a_job_gets_what_it_asks_for_on_each_of_its_hosts(pool: CondorPool, bench: Bench, shared: Path) -> None:
    gate = shared / "gate"
    script = (
        'echo "$OMP_NUM_THREADS $CUDA_VISIBLE_DEVICES" > "$0-$COSCHED_RANK"; '
        'mv "$0-$COSCHED_RANK" "$0.$COSCHED_RANK"; '
        'while [ ! -e "$0" ]; do sleep 0.1; done'
    )
    launch = bench.shell(script, str(gate), hosts=("node01", "node02"))
    job = bench.submit(launch)
    bench.listen(launch, JobState.RUNNING)
    asked = pool.tool("condor_q", "-allusers", job, "-af", "RequestCpus", "RequestMemory", "RequestDisk", "RequestGPUs")
    assert asked.split() == ["2", "512", "2048", "1"]
    for rank in range(2):
        bench.await_file(shared / f"gate.{rank}")
        cores, device = (shared / f"gate.{rank}").read_text().split()
        assert cores == "2"
        assert device.startswith("CUDA")
    assert not any(host.claimed for host in bench.connector.hosts())  # what is ours claims nothing
    gate.touch()
    assert bench.until(launch, JobState.COMPLETED).hosts == ("node01", "node02")


def test_a_host_with_less_left_than_a_job_asks_for_is_claimed(pool: CondorPool, bench: Bench, shared: Path) -> None:
    file = shared / "strange.sub"
    file.write_text(
        f"executable = /bin/sleep\narguments = 60\nrequest_cpus = 3\ninitialdir = {shared}\n"
        'requirements = TARGET.Machine == "node02"\nqueue\n'
    )
    stranger = pool.tool("condor_submit", "-terse", str(file)).split()[0]
    try:
        bench.await_claim("node02", claimed=True)
        assert [host.name for host in bench.connector.hosts() if host.claimed] == ["node02"]
    finally:
        pool.tool("condor_rm", stranger)
    bench.await_claim("node02", claimed=False)


def test_attempts_that_leave_together_share_a_host_without_getting_in_each_others_way(bench: Bench) -> None:
    """Two jobs of two cores fit on one host of four; each has a device of its own."""
    made = [bench.waiter(hosts=("node01",)) for _ in range(2)]
    bench.submit_many([launch for launch, _ in made])
    for launch, _ in made:
        bench.until(launch, JobState.RUNNING)
    for launch, gate in made:
        gate.touch()
        bench.until(launch, JobState.COMPLETED)
