"""Real pools for these tests, one for each of their groups, and a spool of its own for each test.

A pool ends with the tests of this folder that follow one another: one that lived as long as its process would take part
of a processor from all that come after.
"""

from __future__ import annotations

import subprocess
import uuid
from typing import TYPE_CHECKING

import pytest

from cosched.connector.contract import Bench
from tests.testbed.condor.pool import CondorPool
from tests.testbed.forked.quick_command import quick_popen, quick_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cosched_condor import CondorConnector


# Whole contracts, which wait more than they work: beside the others in processes of their own.
_APART = ("test_remote", "test_parallel")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep all tests of a pool in one process: a pool is started once."""
    for item in items:
        if "real_condor" in item.path.parts:
            name = item.path.stem
            item.add_marker(pytest.mark.xdist_group(f"condor-{name}" if name in _APART else "condor"))


_POOL = pytest.StashKey[CondorPool]()
SITES = {"node01": "delft", "node02": "delft", "node03": "leiden"}
_SITE_SETTINGS = "STARTD_ATTRS = $(STARTD_ATTRS) Site\n" + "".join(
    f'{host.upper()}.Site = "{site}"\n' for host, site in SITES.items()
)


@pytest.fixture(scope="module")
def pool(request: pytest.FixtureRequest) -> CondorPool:
    folder: pytest.Directory = request.node.getparent(pytest.Directory)
    if _POOL not in folder.stash:
        pool = folder.stash[_POOL] = CondorPool(hosts=4, settings=_SITE_SETTINGS)

        def end() -> None:
            del folder.stash[_POOL]
            pool.stop()

        folder.addfinalizer(end)
    return folder.stash[_POOL]


@pytest.fixture
def shared(pool: CondorPool) -> Path:
    """A folder of the test's own that the pool's user may write to."""
    folder = pool.spool / uuid.uuid4().hex
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def spool(shared: Path) -> Path:
    folder = shared / "spool"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def connect(pool: CondorPool, spool: Path) -> Callable[[], CondorConnector]:
    from cosched_condor import CondorConnector

    settings = {"config": str(pool.config), "spool": str(spool), "cluster_attribute": "Site"}
    return lambda: CondorConnector(settings)


@pytest.fixture
def bench(connect: Callable[[], CondorConnector], shared: Path) -> Iterator[Bench]:
    bench = Bench(connect, shared, patience=90.0)
    yield bench
    bench.clear()


@pytest.fixture(autouse=True)
def _quick_workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the connector's worker processes forked; how they start and die is what test_trouble.py tests."""
    if request.path.stem != "test_trouble":
        monkeypatch.setattr(subprocess, "Popen", quick_popen(str(quick_python())))
