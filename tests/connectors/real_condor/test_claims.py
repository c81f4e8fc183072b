"""Hosts that others have, on a real pool: seen, planned around, and free again when they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from dataclasses import replace

from cosched.connector import JobState
from cosched.errors import UserError
from cosched_condor import CondorConnector

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector.contract import Bench
    from tests.testbed.condor_pool import CondorPool

pytestmark = pytest.mark.pool


def test_a_host_with_a_strangers_job_is_claimed_until_it_ends(pool: CondorPool, bench: Bench, shared: Path) -> None:
    file = shared / "strange.sub"
    file.write_text(f"executable = /bin/sleep\narguments = 60\ninitialdir = {shared}\n"
                    'requirements = TARGET.Machine == "node03"\nqueue\n')  # fmt: skip
    job = pool.tool("condor_submit", "-terse", str(file)).split()[0]
    try:
        bench.await_claim("node03", claimed=True)
        assert any("claimed by" in host.reason for host in bench.connector.hosts())
    finally:
        pool.tool("condor_rm", job)
    bench.await_claim("node03", claimed=False)


def test_our_own_jobs_claim_nothing_and_say_where_they_run(bench: Bench) -> None:
    pinned, first = bench.running("node02")
    free, second = bench.waiter()
    bench.submit(free)
    where = bench.listen(free, JobState.RUNNING)[-1].hosts
    assert len(where) == 1
    assert where != ("node02",)
    assert bench.report(free).hosts == where
    assert not any(host.claimed for host in bench.connector.hosts())
    bench.restart()
    bench.connector.events(1.0)
    assert not any(host.claimed for host in bench.connector.hosts())
    for gate, launch in ((first, pinned), (second, free)):
        gate.touch()
        bench.until(launch, JobState.COMPLETED)
    assert not any(host.claimed for host in bench.connector.hosts())


def test_a_job_is_charged_to_its_owner_in_the_accounting_group(pool: CondorPool, bench: Bench, spool: Path) -> None:
    connector = CondorConnector({"config": str(pool.config), "spool": str(spool), "accounting_group": "group_x"})
    try:
        launch, gate = bench.waiter(hosts=("node01",))
        launch = replace(launch, owner="ada")
        job = connector.submit(launch)
        shown = pool.tool("condor_q", "-allusers", job, "-af", "AcctGroup", "AcctGroupUser", "CoschedOwner")
        assert shown.split() == ["group_x", "ada", "ada"]
        gate.touch()
        bench.until(launch, JobState.COMPLETED)
        with pytest.raises(UserError, match="owner"):
            connector.submit(replace(bench.launch("/bin/true", hosts=("node01",)), owner="a b"))
    finally:
        connector.close()
