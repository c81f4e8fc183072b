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

    from tests.testbed.condor.pool import CondorPool

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


def test_a_job_that_says_it_was_adopted_takes_no_other_with_it(bench: Bench, spool: Path) -> None:
    """Its text became part of the expression of what cosched removes, and its cancel that of every job of the queue."""
    mine, others = bench.up(2)
    other, _ = bench.running(others)
    folder = f"{spool}/$COSCHED_ATTEMPT"
    key = """printf 'x" || true || "'"""
    launch = bench.shell(
        f"{key} > {folder}/adopted; echo 999999999999999 > {folder}/processes; touch {folder}/prepares; "
        f"mkfifo {folder}/code.0; touch {bench.workplace}/planted; sleep 600",
        hosts=(mine,),
    )
    bench.submit(launch)
    bench.await_file(bench.workplace / "planted")
    assert (spool / launch.attempt / "adopted").read_text() == 'x" || true || "'
    bench.connector.cancel(launch.attempt)
    bench.until(launch, JobState.REMOVED)
    assert bench.report(other).state is JobState.RUNNING


def test_a_cancelled_job_does_not_run_as_its_user(bench: Bench, spool: Path) -> None:
    ran = bench.workplace / "ran"
    launch = bench.shell(f"touch {ran}", hosts=bench.up(1))
    bench.connector.cancel(launch.attempt)
    with pytest.raises(ConnectorError, match="was cancelled before"):
        bench.submit(launch)
    assert (spool / "fences" / launch.attempt).exists()
    assert not ran.exists()
