"""The Slurm connector on a real cluster: what only Slurm can do to us."""

from __future__ import annotations

import os
import shutil
import signal
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector import ConnectorError, Host, JobState
from cosched.connector.contract import Bench
from cosched.errors import UserError
from cosched_slurm import SlurmConnector
from tests.testbed.slurm.cluster import SlurmCluster

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector import Launch

pytestmark = pytest.mark.pool


@pytest.mark.parametrize(
    "argument",
    [
        "1\ninclude command : touch hacked",
        "10\nqueue 500",
        "$ENV(PATH)",
        "$$(Memory)",
        '"; touch hacked #',
        "$(touch hacked)",
        "`touch hacked`",
        "x\n#SBATCH --uid=0",
    ],
)
def test_arguments_are_no_options_directives_or_shell(
    cluster: SlurmCluster, bench: Bench, tmp_path: Path, argument: str
) -> None:
    """One job, on its host, as its user, and nothing else happens."""
    launch = bench.shell('printf %s "$1" > "$0"', str(tmp_path / "argument"), argument, hosts=("node01",))
    job = bench.submit(replace(launch, directory=str(tmp_path)))
    bench.until(launch, JobState.COMPLETED)
    assert (tmp_path / "argument").read_bytes().decode() == argument
    assert not list(tmp_path.rglob("hacked"))
    shown = cluster.tool("scontrol", "show", "job", job)
    assert f"({os.geteuid()})" in shown
    assert "NodeList=node01\n" in shown


@pytest.mark.parametrize(
    ("name", "hosts"),
    [("x\n#SBATCH --uid=0", ("node01",)), ("--wrap=id", ("node01",)), ("x", ("node[01-04]",)), ("x", ("/etc/passwd",))],
)
def test_names_that_are_more_than_names_never_reach_slurm(
    cluster: SlurmCluster, bench: Bench, name: str, hosts: tuple[str, ...]
) -> None:
    before = cluster.tool("squeue", "--states=all", "--noheader", "--format=%i")
    launch = replace(bench.launch("/bin/true", hosts=hosts), name=name)
    with pytest.raises(UserError):
        bench.submit(launch)
    assert cluster.tool("squeue", "--states=all", "--noheader", "--format=%i") == before


def test_names_and_classes_of_hosts(cluster: SlurmCluster, spool: Path, tmp_path: Path) -> None:
    connector = SlurmConnector({**cluster.settings, "spool": str(spool), "host_class": "class-", "partition": "all"})
    assert list(connector.hosts()) == [
        Host(name, "Testbed", memory=1024, cores=1, gpus=0, partitions=("all",)) for name in cluster.hosts
    ]
    with pytest.raises(ConnectorError, match=r"no node is in the partition 'none': correct .*: all\)"):
        SlurmConnector({**cluster.settings, "spool": str(tmp_path / "other"), "partition": "none"}).hosts()


def test_a_drained_host_says_why(cluster: SlurmCluster, bench: Bench) -> None:
    cluster.tool("scontrol", "update", "nodename=node04", "state=drain", "reason=new memory")
    try:
        (host,) = (host for host in bench.connector.hosts() if host.name == "node04")
        assert not host.up
        assert "new memory" in host.reason
    finally:
        cluster.tool("scontrol", "update", "nodename=node04", "state=resume")
    bench.await_host("node04", up=True)


def test_an_unknown_partition_is_a_refusal_for_good(cluster: SlurmCluster, spool: Path, bench: Bench) -> None:
    launch = bench.launch("/bin/true", hosts=("node01",))
    with pytest.raises(ConnectorError, match="partition") as refusal:
        SlurmConnector({**cluster.settings, "spool": str(spool), "partition": "none"}).submit(launch)
    assert not refusal.value.transient


@pytest.mark.parametrize("state", ["drain", "inactive"])
def test_a_partition_that_is_closed_for_now_is_a_refusal_for_now(
    cluster: SlurmCluster, bench: Bench, state: str
) -> None:
    """Every task whose turn came during the maintenance of a partition had failed for good."""
    launch, diary = bench.diary(hosts=("node01",))
    cluster.tool("scontrol", "update", "partitionname=all", f"state={state}")
    try:
        with pytest.raises(ConnectorError, match="partition") as refusal:
            bench.submit(launch)
        assert (refusal.value.transient, refusal.value.refused) == (True, False)
    finally:
        cluster.tool("scontrol", "update", "partitionname=all", "state=up")
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    assert diary.read_text() == "0\n"


def test_a_job_held_by_hand_says_so_and_goes_on_when_released(cluster: SlurmCluster, bench: Bench) -> None:
    first, gate = bench.running("node01")
    launch, diary = bench.diary(hosts=("node01",))
    job = bench.submit(launch)
    cluster.tool("scontrol", "hold", job)
    assert "JobHeldUser" in bench.listen(launch, JobState.HELD)[-1].reason or os.geteuid() == 0
    assert "Held" in bench.until(launch, JobState.HELD).reason
    gate.touch()
    bench.until(first, JobState.COMPLETED)
    cluster.tool("scontrol", "release", job)
    assert bench.listen(launch, JobState.COMPLETED)[-1].exit_code == 0
    assert diary.read_text() == "0\n"


def test_a_job_removed_by_hand_is_removed(cluster: SlurmCluster, bench: Bench) -> None:
    launch, _ = bench.running("node01", "node02")
    cluster.tool("scancel", bench.report(launch).job)
    assert "cancelled" in bench.listen(launch, JobState.REMOVED)[-1].reason
    assert bench.until(launch, JobState.REMOVED).exit_code is None


def test_a_job_is_known_and_cancelled_whatever_its_comment_says_meanwhile(cluster: SlurmCluster, bench: Bench) -> None:
    """Its task was run a second time beside it."""
    launch, _ = bench.running("node01", "node02")
    job = bench.report(launch).job
    cluster.tool("scontrol", "update", f"jobid={job}", "comment=step 3")
    assert (bench.report(launch).state, bench.report(launch).job) == (JobState.RUNNING, job)
    bench.restart()
    assert bench.report(launch).state is JobState.RUNNING
    bench.connector.cancel(launch.attempt)
    assert bench.until(launch, JobState.REMOVED).job == job
    assert "CANCELLED" in cluster.tool("scontrol", "show", "job", job)


def test_a_job_that_was_queued_anew_is_evicted(cluster: SlurmCluster, bench: Bench) -> None:
    """It counted as running until it began again, and failed then."""
    launch, _ = bench.running("node01")
    job = bench.report(launch).job
    cluster.tool("scontrol", "update", f"jobid={job}", "requeue=1")
    cluster.tool("scontrol", "requeue", job)
    assert "queued it anew" in bench.listen(launch, JobState.EVICTED)[-1].reason
    bench.connector.cancel(launch.attempt)
    bench.until(launch, JobState.REMOVED)


def test_one_lost_host_of_several_evicts(cluster: SlurmCluster, bench: Bench) -> None:
    launch, gate = bench.running("node01", "node02", "node03")
    cluster.take_host("node03")
    try:
        assert bench.listen(launch, JobState.EVICTED)[-1].reason
        bench.connector.cancel(launch.attempt)
        assert bench.listen(launch, JobState.REMOVED)[-1].state is JobState.REMOVED
    finally:
        cluster.give_host("node03")
    gate.touch()
    time.sleep(0.5)
    assert bench.report(launch).state is JobState.REMOVED


def test_a_controller_that_crashed_comes_back_with_its_jobs(cluster: SlurmCluster, bench: Bench) -> None:
    launch, gate = bench.running("node01", "node02")
    job, started = bench.report(launch).job, time.time()
    saved = cluster.directory / "state" / "job_state"  # what is younger than this file dies with the controller
    cluster.tool("scontrol", "update", f"jobid={job}", "admincomment=save me")  # or it was written just before
    cluster.wait("the state on disk", lambda: saved.stat().st_mtime > started)
    cluster.kill("slurmctld")
    try:
        with pytest.raises(ConnectorError) as refusal:
            bench.report(launch)
        assert refusal.value.transient
    finally:
        cluster.start_controller()
    cluster.wait("slurmctld", lambda: job in cluster.tool("squeue", "--noheader", "--format=%i"))
    report = bench.report(launch)
    assert (report.state, report.job) == (JobState.RUNNING, job)
    gate.touch()
    assert [report.state for report in bench.listen(launch, JobState.COMPLETED)] == [JobState.COMPLETED]
    bench.await_host("node01", up=True)


def test_a_submit_whose_answer_is_lost_runs_once(cluster: SlurmCluster, spool: Path, bench: Bench) -> None:
    """sbatch gives up while the controller is frozen, which may or may not take the job once it goes on."""
    impatient = SlurmConnector({**cluster.settings, "spool": str(spool), "timeout": 1})
    launch, diary = bench.diary(hosts=("node01",))
    os.kill(cluster.pid("slurmctld"), signal.SIGSTOP)
    try:
        with pytest.raises(ConnectorError, match="did not answer") as refusal:
            impatient.submit(launch)
        assert refusal.value.transient
    finally:
        os.kill(cluster.pid("slurmctld"), signal.SIGCONT)
    time.sleep(0.5)
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    time.sleep(1.5)
    assert diary.read_text() == "0\n"


def test_a_submission_that_was_under_way_at_its_cancel_is_cancelled(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch, diary = bench.diary(hosts=("node01",))
    connector = bench.connector
    assert isinstance(connector, SlurmConnector)
    write = connector._attempts.write_script

    def cancelled_meanwhile(launch: Launch, commands: Path | None) -> Path:
        connector.cancel(launch.attempt)
        return write(launch, commands)

    monkeypatch.setattr(connector._attempts, "write_script", cancelled_meanwhile)
    with pytest.raises(ConnectorError, match="cancelled") as refusal:
        connector.submit(launch)
    assert not refusal.value.transient
    bench.until(launch, JobState.REMOVED)
    assert not diary.exists()


def test_what_slurm_has_forgotten_is_known_from_its_traces(tmp_path: Path) -> None:
    """The controller remembers jobs for two seconds; the stamps and the completion file remain."""
    with SlurmCluster(hosts=1, job_age=2) as cluster:
        bench = Bench(lambda: SlurmConnector(cluster.settings), tmp_path, patience=60.0)
        done, _ = bench.diary(hosts=("node01",))
        bench.submit(done)
        bench.until(done, JobState.COMPLETED)
        removed, _ = bench.running("node01")
        cluster.tool("scancel", bench.report(removed).job)
        bench.until(removed, JobState.REMOVED)
        cluster.wait("oblivion", lambda: not cluster.tool("squeue", "--states=all", "--noheader"))
        for launch, state in ((done, JobState.COMPLETED), (removed, JobState.REMOVED)):
            found = bench.connector.find(launch.attempt)
            assert found is not None
            assert found.state is state
            assert bench.connector.submit(launch) == found.job


def test_an_attempt_whose_folder_is_gone_is_found_in_the_queue(bench: Bench, spool: Path) -> None:
    launch, _ = bench.diary(hosts=("node01",))
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    shutil.rmtree(spool / launch.attempt)
    cluster_says = bench.until(launch, JobState.COMPLETED)
    assert cluster_says.exit_code == 0


def test_nothing_to_talk_to_is_an_error_that_may_pass(cluster: SlurmCluster, tmp_path: Path) -> None:
    config = tmp_path / "slurm.conf"
    lines = cluster.config.read_text().splitlines(keepends=True)
    config.write_text("".join("SlurmctldPort=1\n" if line.startswith("SlurmctldPort") else line for line in lines))
    connector = SlurmConnector({**cluster.settings, "config": str(config), "timeout": 1})
    for ask in (connector.hosts, lambda: connector.find(str(uuid.uuid4())), lambda: connector.events(0.0)):
        with pytest.raises(ConnectorError) as refusal:
            ask()
        assert refusal.value.transient


def test_a_spool_that_cannot_be_made_is_named(cluster: SlurmCluster, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    connector = SlurmConnector({**cluster.settings, "spool": str(tmp_path / "file" / "spool")})
    with pytest.raises(ConnectorError, match="spool"):
        connector.cancel(str(uuid.uuid4()))
