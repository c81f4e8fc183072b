"""Jobs that run as another user than cosched's, in a spool that both reach by a common group."""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import ConnectorError, JobState
from cosched.connector.contract import Bench
from cosched_condor import CondorConnector

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.testbed.condor_pool import CondorPool

pytestmark = pytest.mark.pool


@pytest.fixture
def spool(shared: Path) -> Path:
    """As docs/connectors/htcondor.md recommends: `chgrp GROUP`, mode 3770."""
    if os.geteuid() != 0:
        pytest.skip("only a pool of root's runs jobs as another user")
    folder = shared / "spool"
    folder.mkdir()
    os.chown(folder, -1, pwd.getpwnam("nobody").pw_gid)
    folder.chmod(0o3770)
    return folder


@pytest.fixture
def bench(pool: CondorPool, spool: Path, shared: Path) -> Iterator[Bench]:
    bench = Bench(lambda: CondorConnector({"config": str(pool.config), "spool": str(spool)}), shared, patience=90.0)
    yield bench
    bench.clear()


def test_a_job_fences_neither_itself_nor_others(bench: Bench, spool: Path) -> None:
    other = bench.shell("true", hosts=bench.up(1))
    fences = spool / "fences"
    attempts = f"$COSCHED_ATTEMPT {other.attempt}"
    harm = f"touch {fences}/$name || mv {fences} {spool}/elsewhere || rm -r {fences}"
    plant = f"id -un; for name in {attempts}; do {harm} || echo refused; done"
    launch = bench.shell(plant, hosts=bench.up(1))
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    assert bench.written(launch, "out", 0).data == b"nobody\nrefused\nrefused\n"
    bench.restart()  # what is looked at anew finds no fence
    assert bench.report(launch).state is JobState.COMPLETED
    bench.submit(other)
    bench.until(other, JobState.COMPLETED)


def test_a_cancelled_job_does_not_run_as_its_user(bench: Bench, spool: Path) -> None:
    ran = bench.workplace / "ran"
    launch = bench.shell(f"touch {ran}", hosts=bench.up(1))
    bench.connector.cancel(launch.attempt)
    with pytest.raises(ConnectorError, match="was cancelled before"):
        bench.submit(launch)
    assert (spool / "fences" / launch.attempt).exists()
    assert not ran.exists()
