"""Hosts that others have, on a real pool: seen, planned around, and free again when they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

import functools
from dataclasses import replace

from cosched.connector import JobState
from cosched.connector.contract import Bench
from cosched.errors import UserError
from cosched_condor import CondorConnector
from tests.testbed.condor.pool import CondorPool

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector import Host

pytestmark = pytest.mark.pool


def test_a_host_with_a_strangers_job_is_claimed_until_it_ends(pool: CondorPool, bench: Bench, shared: Path) -> None:
    file = shared / "strange.sub"
    file.write_text(
        f"executable = /bin/sleep\narguments = 60\ninitialdir = {shared}\n"
        'requirements = TARGET.Machine == "node03"\nqueue\n'
    )
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
    bench.restart()  # it has read no event yet: a daemon may well look at its hosts first
    assert not any(host.claimed for host in bench.connector.hosts())
    for gate, launch in ((first, pinned), (second, free)):
        gate.touch()
        bench.listen(launch, JobState.COMPLETED)  # slots show a job for some time after its end
    assert not any(host.claimed for host in bench.connector.hosts())


def test_a_host_that_is_drained_is_down_for_its_reason_until_it_is_given_back(pool: CondorPool, bench: Bench) -> None:
    pool.tool("condor_drain", "-graceful", "-reason", "new disk", "slot1@node04")
    try:
        bench.await_host("node04", up=False)
        assert _host(bench, "node04").reason == "draining: new disk"
    finally:
        pool.tool("condor_drain", "-cancel", "slot1@node04")
    bench.await_host("node04", up=True)
    launch, diary = bench.diary(hosts=("node04",))
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    assert diary.read_text() == "0\n"


def test_a_job_on_a_host_that_is_drained_in_haste_is_evicted_and_its_host_down(pool: CondorPool, bench: Bench) -> None:
    launch, _ = bench.running("node04")
    pool.tool("condor_drain", "-fast", "-reason", "fire", "slot1@node04")
    try:
        assert bench.listen(launch, JobState.EVICTED)[-1].reason
        bench.await_host("node04", up=False)
        bench.connector.cancel(launch.attempt)
        bench.listen(launch, JobState.REMOVED)
    finally:
        pool.tool("condor_drain", "-cancel", "slot1@node04")
    bench.await_host("node04", up=True)


def test_a_machine_that_is_shown_as_offline_is_down(pool: CondorPool, bench: Bench) -> None:
    pool.advertise(
        Name='"slot1@node99"',
        Machine='"node99"',
        State='"Unclaimed"',
        Activity='"Idle"',
        Offline="true",
        MyAddress='"<127.0.0.1:9>"',
        StartdIpAddr='"<127.0.0.1:9>"',
        Cpus="1",
    )
    try:
        assert "offline" in _host(bench, "node99").reason
        assert not _host(bench, "node99").up
    finally:
        pool.forget("slot1@node99")
    assert "node99" not in [host.name for host in bench.connector.hosts()]


def _host(bench: Bench, name: str) -> Host:
    return next(host for host in bench.connector.hosts() if host.name == name)


def test_another_schedulers_jobs_are_not_ours_whatever_their_numbers(tmp_path: Path) -> None:
    with CondorPool(hosts=3, second=True) as pool:
        names = pool.tool("condor_status", "-schedd", "-af", "Name").split()
        assert len(names) == 2
        benches = []
        for name in sorted(names):
            folder = pool.spool / name.partition("@")[0]
            folder.mkdir()
            folder.chmod(0o1777)
            settings = {"config": str(pool.config), "spool": str(folder), "schedd": name}
            benches.append(Bench(functools.partial(CondorConnector, settings), folder, 90.0))
        (first, one), (second, two) = (
            bench.running(host) for bench, host in zip(benches, ("node01", "node02"), strict=True)
        )
        assert benches[0].report(first).job == benches[1].report(second).job == "1.0"
        for bench, host, other in ((benches[0], "node02", "node01"), (benches[1], "node01", "node02")):
            bench.await_claim(host, claimed=True)
            bench.await_claim(other, claimed=False)
        one.touch()
        two.touch()
        benches[0].listen(first, JobState.COMPLETED)
        benches[1].listen(second, JobState.COMPLETED)
        for bench in benches:
            bench.clear()


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
