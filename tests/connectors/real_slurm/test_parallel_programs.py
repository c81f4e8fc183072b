"""Programs that are launched once on a real Slurm cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import pytest

from cosched.connector import JobState
from cosched.connector.jobs import LaunchMode
from tests.connectors.parallel_programs import ParallelProgramTests
from tests.testbed.node_size import NodeSize
from tests.testbed.slurm.cluster import SlurmCluster
from tests.testbed.software.debian import PackageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.connector.contract import Bench

pytestmark = pytest.mark.pool


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    """A cluster whose hosts have room for several ranks."""
    try:
        cluster = SlurmCluster(hosts=4, node=NodeSize(3, 1024, 0))
    except PackageError as error:
        pytest.skip(f"Debian's Slurm cannot be had here: {error}")
    with cluster:
        yield cluster


class TestParallelPrograms(ParallelProgramTests):
    # The nodes are one machine here, where Open MPI's ranks of several nodes would take each other's shared memory.
    variables: ClassVar = {"OMPI_MCA_btl": "tcp,self"}

    def test_the_begin_of_one_process_tells_all_hosts_that_slurm_chose(self, bench: Bench) -> None:
        """The first alone was told, and the others were planned as free."""
        launch, gate = bench.waiter()
        launch = replace(launch, launch=LaunchMode.ONCE, count=2)
        bench.submit(launch)
        assert len(set(bench.listen(launch, JobState.RUNNING)[-1].hosts)) == 2
        gate.touch()
        bench.until(launch, JobState.COMPLETED)
