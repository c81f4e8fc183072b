"""One real cluster for all of these tests, and a spool of its own for each.

It ends with the tests of this folder: one that lived as long as its process would take part of a processor from all
that come after.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from cosched.connector.contract import Bench
from cosched_slurm import SlurmConnector
from tests.testbed.slurm.cluster import SlurmCluster
from tests.testbed.slurm.install import SUITE
from tests.testbed.software.debian import PackageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep all tests of this cluster in one process: a cluster is started once."""
    for item in items:
        if "real_slurm" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group("slurm"))


_CLUSTER = pytest.StashKey[SlurmCluster]()


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> SlurmCluster:
    folder: pytest.Directory = request.node.getparent(pytest.Directory)
    if _CLUSTER not in folder.stash:
        try:
            cluster = SlurmCluster(hosts=4, suite=os.environ.get("COSCHED_TESTBED_SLURM", SUITE), leaves=(3, 1))
        except PackageError as error:
            pytest.skip(f"Debian's Slurm cannot be had here: {error}")
        folder.stash[_CLUSTER] = cluster

        def end() -> None:
            del folder.stash[_CLUSTER]
            cluster.stop()

        folder.addfinalizer(end)
    return folder.stash[_CLUSTER]


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def connect(cluster: SlurmCluster, spool: Path) -> Callable[[], SlurmConnector]:
    # `make test-pyslurm` has all of this done by Slurm's library.
    interface = os.environ.get("COSCHED_TESTBED_INTERFACE", "cli")
    return lambda: SlurmConnector(
        {**cluster.settings, "spool": str(spool), "interface": interface, "cluster": "switch"}
    )


@pytest.fixture
def bench(connect: Callable[[], SlurmConnector], tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(connect, tmp_path, patience=90.0)
    yield bench
    bench.clear()
