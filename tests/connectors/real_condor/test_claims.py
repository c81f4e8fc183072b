"""Hosts that others have, on a real pool: seen, planned around, and free again when they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import JobState

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector.contract import Bench
    from tests.testbed.condor_pool import CondorPool

pytestmark = pytest.mark.pool


def test_a_host_with_a_strangers_job_is_claimed_until_it_ends(pool: CondorPool, bench: Bench, shared: Path) -> None:
    file = shared / "strange.sub"
    file.write_text('executable = /bin/sleep\narguments = 60\nrequirements = TARGET.Machine == "node03"\nqueue\n')
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
