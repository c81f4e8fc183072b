"""Nodes of 64 cores and four GPUs that jobs share, on a real cluster."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector import HostShare, JobState
from cosched.connector.contract import ForeignSharesContract, SharedDevicesContract, SharedHostsContract
from cosched.connector.userfiles import UserFileOrigin
from cosched_slurm.userfile import read
from tests.testbed.node_size import NodeSize
from tests.testbed.slurm.cluster import SlurmCluster
from tests.testbed.slurm.install import SUITE
from tests.testbed.software.debian import PackageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from cosched.connector.contract import Bench
    from cosched_slurm import SlurmConnector

pytestmark = pytest.mark.pool


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    try:
        cluster = SlurmCluster(hosts=2, suite=os.environ.get("COSCHED_TESTBED_SLURM", SUITE), node=NodeSize())
    except PackageError as error:
        pytest.skip(f"Debian's Slurm cannot be had here: {error}")
    with cluster:
        yield cluster


class TestSharedHosts(SharedHostsContract, SharedDevicesContract, ForeignSharesContract):
    patience = 90.0
    quiet = 1.5

    @pytest.fixture
    def connect(self, connect: Callable[[], SlurmConnector]) -> Callable[[], SlurmConnector]:
        return connect

    @pytest.fixture
    def foreign_job(self, cluster: SlurmCluster) -> Callable[[str, HostShare], AbstractContextManager[None]]:
        return lambda host, share: _foreign_job(cluster, host, share)

    def test_a_launch_for_whole_hosts_waits_for_an_empty_one(self, bench: Bench) -> None:
        shared, first = bench.waiter(hosts=("node01",))
        whole, second = bench.waiter(hosts=("node01",))
        bench.submit(replace(shared, shared=True, cores=1, memory=128))
        bench.until(shared, JobState.RUNNING)
        bench.submit(whole)
        bench.await_obstacle(whole)
        first.touch()
        bench.until(whole, JobState.RUNNING)
        assert bench.report(shared).state is JobState.COMPLETED
        second.touch()
        bench.until(whole, JobState.COMPLETED)

    def test_a_users_script_has_what_it_asks_for_beside_others(
        self, cluster: SlurmCluster, bench: Bench, workplace: Path
    ) -> None:
        text = (
            "#!/bin/sh\n#SBATCH --ntasks=2 --cpus-per-task=4 --mem-per-cpu=512M --gres=gpu:1\n"
            'echo "$SLURM_NTASKS $SLURM_CPUS_PER_TASK $CUDA_VISIBLE_DEVICES" > seen.new; mv seen.new seen\n'
            "while [ ! -e gate ]; do sleep 0.1; done\n"
        )
        (job,) = read(text, UserFileOrigin(workplace, {}, "job.sh"))
        waiter, gate = bench.waiter(hosts=("node01",))
        beside = replace(waiter, shared=True, cores=50, memory=1024, gpus=3)
        bench.submit(beside)
        bench.until(beside, JobState.RUNNING)
        launch = replace(
            bench.launch("job.sh", hosts=("node01",)),
            native=job.native,
            directory=str(workplace),
            shared=True,
            memory=job.needs.memory,
            cores=job.needs.cores,
            gpus=job.needs.gpus,
        )
        number = bench.submit(launch)
        bench.await_file(workplace / "seen")
        ntasks, cores, devices = (workplace / "seen").read_text().split()
        assert (ntasks, cores, len(devices.split(","))) == ("2", "4", 1)
        held = cluster.tool("squeue", "--noheader", f"--jobs={number}", "--Format=tres-alloc:80")
        assert held.split()[0].startswith("cpu=8,mem=4G,node=1")
        for file in (workplace / "gate", gate):
            file.touch()
        bench.until(launch, JobState.COMPLETED)
        bench.until(beside, JobState.COMPLETED)


@contextmanager
def _foreign_job(cluster: SlurmCluster, host: str, share: HostShare) -> Iterator[None]:
    size = (f"--cpus-per-task={share.cores}", f"--mem={share.memory}M", f"--gres=gpu:{share.gpus}")
    job = cluster.tool(
        "sbatch", "--parsable", f"--nodelist={host}", *size, "--output=/dev/null", "--wrap=sleep 100"
    ).strip()
    try:
        yield
    finally:
        cluster.tool("scancel", job)
