"""Hosts whose owners come back, on a real pool: their jobs stand still and go on, and all of it is seen."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.waiting import PATIENCE, until

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import JobState
from cosched.connector.contract import Bench
from cosched_condor import CondorConnector
from tests.testbed.condor.owners import Owners
from tests.testbed.condor.pool import CondorPool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.connector import Host

pytestmark = pytest.mark.pool


@pytest.fixture(scope="module")
def owners() -> Iterator[Owners]:
    with tempfile.TemporaryDirectory(prefix="owners-") as folder:
        yield Owners(Path(folder), ["node01"])


@pytest.fixture(scope="module")
def owned(owners: Owners) -> Iterator[CondorPool]:
    with CondorPool(hosts=1, settings=owners.settings) as pool:
        yield pool


def test_an_owner_is_seen_and_a_job_waits_for_him(owned: CondorPool, owners: Owners) -> None:
    folder = owned.spool / "owners"
    spool = folder / "spool"
    for each in (folder, spool):
        each.mkdir()
        each.chmod(0o1777)

    def connect() -> CondorConnector:
        return CondorConnector({"config": str(owned.config), "spool": str(spool)})

    bench = Bench(connect, folder, patience=PATIENCE)

    def host() -> Host:
        (found,) = bench.connector.hosts()
        return found

    try:
        until(lambda: host().up and host().owner_takes == 0, "the host was not free")
        launch, gate = bench.running("node01")
        assert host().owner_takes == 0
        owners.come("node01")
        until(lambda: host().owner_takes == 1, "the job did not stand still")
        assert not host().others.cores  # nobody else has it
        assert bench.report(launch).state is JobState.RUNNING
        gate.touch()  # it could end now, if it were not for the owner
        assert bench.report(launch).state is JobState.RUNNING
        owners.go("node01")
        bench.listen(launch, JobState.COMPLETED)
        until(lambda: host().owner_takes == 0, "the owner was not seen to go")
        owners.come("node01")
        until(lambda: host().owner_takes == 1, "the owner of an idle host was not seen")
        assert not (host().up and not host().claimed)  # no job may begin there
    finally:
        owners.go("node01")
        bench.clear()
