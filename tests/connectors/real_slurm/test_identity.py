"""Whose jobs they are, on a real cluster: never silently a shared account."""

from __future__ import annotations

import os
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector import ConnectorError, JobState, NativeDescription
from cosched.connector.contract import Bench
from cosched.errors import UserError
from cosched_slurm import SlurmConnector
from cosched_slurm.commands import SlurmCommands
from cosched_slurm.jobs import job_comment
from cosched_slurm.owners import owner_account
from cosched_slurm.slurm_settings import SlurmSettings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.testbed.slurm.cluster import SlurmCluster

pytestmark = pytest.mark.pool


@pytest.fixture
def users(cluster: SlurmCluster, tmp_path: Path) -> Iterator[Bench]:
    """A connector that submits each job as its owner's own."""
    if os.geteuid() != 0:
        pytest.skip("only root may submit for other users")
    spool = cluster.spool / uuid.uuid4().hex
    spool.mkdir(mode=0o755)
    settings = {**cluster.settings, "spool": str(spool), "identity": "user"}
    bench = Bench(lambda: SlurmConnector(settings), tmp_path, patience=90.0)
    yield bench
    bench.clear()


def test_a_job_is_its_owners_own_and_so_is_what_it_writes(cluster: SlurmCluster, users: Bench) -> None:
    launch = replace(users.shell("id -un", hosts=("node01",)), owner="nobody")
    job = users.submit(launch)
    users.until(launch, JobState.COMPLETED)
    assert users.written(launch, "out", 0).data == b"nobody\n"
    assert "UserId=nobody" in cluster.tool("scontrol", "show", "job", job)
    users.restart()
    assert users.report(launch).state is JobState.COMPLETED


def test_a_job_fences_neither_itself_nor_others(cluster: SlurmCluster, users: Bench) -> None:
    other = replace(users.shell("true", hosts=("node02",)), owner="nobody")
    plant = (
        f'cd "$(dirname "$0")"; touch cancelled; for name in "$(basename "$PWD")" {other.attempt}; do '
        'touch "../fences/$name" || mv ../fences ../elsewhere || echo refused; done; '
        "echo true >> run.sh || echo refused"
    )
    native = NativeDescription("slurm", {}, f"#!/bin/sh\n{plant}\n")
    launch = replace(users.launch("/bin/true", hosts=("node01",)), owner="nobody", native=native)
    users.submit(launch)
    users.until(launch, JobState.COMPLETED)
    assert users.written(launch, "out", 0).data == b"refused\n" * 3
    assert users.submit(launch)  # an answer that was lost is asked for again
    users.restart()
    assert users.report(launch).state is JobState.COMPLETED
    users.submit(other)
    users.until(other, JobState.COMPLETED)


@pytest.mark.parametrize(
    "harm",
    [
        "rm began.0; mkfifo began.0 cancelled",
        "rm began.0; truncate -s 1T began.0",
        'echo "5" > ended.0',
        'echo "nan 1" > ended.0',
        'echo "1 x 9999999" > began.1; rm began.0; ln began.1 began.0',
        "rm began.0; ln -s /dev/zero began.0",
        "chmod 0 began.0 .",
    ],
)
def test_a_job_holds_up_no_other_by_what_it_puts_in_place_of_its_stamps(users: Bench, harm: str) -> None:
    """With a pipe there no task of the domain left any more; with one word for an end no other's end was heard of."""
    plant = f'#!/bin/sh\ncd "$(dirname "$0")" && {harm}; echo planted\nsleep 600\n'
    native = NativeDescription("slurm", {}, plant)
    eve = replace(users.launch("/bin/true", hosts=("node01",)), owner="nobody", native=native)
    users.submit(eve)
    users.written(eve, "out", 0)
    ann = users.shell("echo hers", hosts=("node02",))
    users.submit(replace(ann, owner="nobody"))
    assert users.listen(ann, JobState.COMPLETED)[-1].exit_code == 0
    users.restart()
    assert users.report(ann).state is JobState.COMPLETED
    users.connector.cancel(eve.attempt)
    users.until(eve, JobState.REMOVED, JobState.FAILED, JobState.COMPLETED)


def test_a_job_of_another_user_with_the_name_of_an_attempt_is_not_taken_for_it(
    commands: SlurmCommands, cluster: SlurmCluster, users: Bench
) -> None:
    launch = replace(users.shell("exit 3", hosts=("node01",)), owner="nobody")
    users.submit(launch)
    script = cluster.spool / "forged.sh"
    script.write_text("#!/bin/sh\nsleep 60\n")
    script.chmod(0o755)
    forged = commands.submit(
        [
            f"--comment={job_comment(launch.attempt, 1)}",
            "--nodelist=node02",
            "--output=/dev/null",
            "--chdir=/",
            str(script),
        ],
        owner_account("daemon", 1),
    )
    try:
        users.until(launch, JobState.FAILED)
        assert users.report(launch).exit_code == 3
        users.connector.cancel(launch.attempt)
        assert "JobState=CANCELLED" not in cluster.tool("scontrol", "show", "job", forged)
        users.await_claim("node02", claimed=True)
    finally:
        commands.cancel([forged])


def test_an_attempt_that_is_cancelled_before_it_begins_does_not_run_as_its_owner(users: Bench) -> None:
    launch = replace(users.shell("echo ran", hosts=("node01",)), owner="nobody")
    users.connector.cancel(launch.attempt)
    with pytest.raises(ConnectorError, match="was cancelled before it was submitted"):
        users.submit(launch)


def test_tasks_of_several_owners_that_leave_together_share_no_array(cluster: SlurmCluster, users: Bench) -> None:
    connector = SlurmConnector({**cluster.settings, "spool": str(cluster.spool), "identity": "user", "lowest_uid": 1})
    launches = [replace(users.shell("id -un", count=1), owner=owner) for owner in ("nobody", "daemon", "nobody")]
    outcomes = connector.submit_many(launches)
    for launch in launches:
        job = outcomes.job(launch.attempt)
        assert f"UserId={launch.owner}(" in cluster.tool("scontrol", "show", "job", job)
        connector.cancel(launch.attempt)


def test_no_file_of_roots_gets_into_a_users_job(users: Bench, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root's alone")
    secret.chmod(0o600)
    native = NativeDescription("slurm", {"bbf": str(secret)}, "#!/bin/sh\ncat $(dirname $0)/*\n")
    launch = replace(users.launch("/bin/true", hosts=("node01",)), owner="nobody", native=native)
    with pytest.raises(UserError, match="bbf"):
        users.submit(launch)


@pytest.fixture
def commands(cluster: SlurmCluster, tmp_path: Path) -> SlurmCommands:
    if os.geteuid() != 0:
        pytest.skip("only root may submit for other users")
    return SlurmCommands(SlurmSettings.read({**cluster.settings, "spool": str(tmp_path), "identity": "user"}))


def test_sbatch_reads_no_file_with_roots_rights(commands: SlurmCommands, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("#!/bin/sh\n# root's alone\n")
    secret.chmod(0o600)
    with pytest.raises(ConnectorError, match="Unable to open"):
        commands.submit([str(secret)], owner_account("nobody", 1000))


def test_sbatch_asks_for_no_priority_with_roots_rights(cluster: SlurmCluster, commands: SlurmCommands) -> None:
    script = cluster.spool / "priority.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    plain, nobody = ["--begin=now+1hour", "--output=/dev/null", "--chdir=/"], owner_account("nobody", 1000)
    with pytest.raises(ConnectorError, match="nice"):
        commands.submit([*plain, "--nice=-2147483000", str(script)], nobody)
    job = commands.submit([*plain, "--priority=4294967000", str(script)], nobody)
    try:
        assert "Priority=4294967000" not in cluster.tool("scontrol", "show", "job", job)
    finally:
        commands.cancel([job])


@pytest.mark.parametrize("owner", ["", "root", "daemon", "0", "no-such-user", "nobody\n", "-x", "a,b"])
def test_who_is_nobody_here_submits_nothing(users: Bench, owner: str) -> None:
    launch = replace(users.launch("/bin/true", hosts=("node01",)), owner=owner)
    # One of whom this machine does not know may only not be known at present.
    with pytest.raises(ConnectorError if owner == "no-such-user" else UserError, match=r"owner|user|root"):
        users.submit(launch)


def test_accounts_are_named_after_owners(cluster: SlurmCluster, bench: Bench, spool: Path) -> None:
    connector = SlurmConnector({**cluster.settings, "spool": str(spool), "identity": "account"})
    launch = replace(bench.launch("/bin/true", hosts=("node01",)), owner="ada")
    job = connector.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    assert "Account=ada" in cluster.tool("scontrol", "show", "job", job)
    with pytest.raises(UserError, match="owner"):
        connector.submit(bench.launch("/bin/true", hosts=("node01",)))


def test_a_reservation_is_asked_for_by_name(cluster: SlurmCluster, bench: Bench, spool: Path) -> None:
    cluster.tool(
        "scontrol",
        "create",
        "reservation",
        "reservationname=mine",
        "users=root" if os.geteuid() == 0 else f"users={os.environ.get('USER', '')}",
        "starttime=now",
        "duration=10",
        "nodes=node04",
    )
    try:
        connector = SlurmConnector({**cluster.settings, "spool": str(spool), "reservation": "mine"})
        launch = bench.launch("/bin/true", hosts=("node04",))
        connector.submit(launch)
        bench.until(launch, JobState.COMPLETED)
        cluster.wait("the flag of the node", lambda: "resv" in cluster.tool("sinfo", "--noheader", "--format=%t"))
        assert [host.name for host in connector.hosts() if host.up] == ["node04"]
        assert [host.name for host in bench.connector.hosts() if host.up] == ["node01", "node02", "node03"]
        other = SlurmConnector({**cluster.settings, "spool": str(spool), "reservation": "none"})
        with pytest.raises(ConnectorError, match="none"):
            other.hosts()
        with pytest.raises(ConnectorError) as refusal:
            other.submit(bench.launch("/bin/true", hosts=("node04",)))
        assert refusal.value.transient  # it is over, perhaps until the next night: tasks that were accepted wait
    finally:
        cluster.tool("scontrol", "delete", "reservationname=mine")


def test_resources_that_no_host_has_are_refused_for_good(cluster: SlurmCluster, bench: Bench, spool: Path) -> None:
    connector = SlurmConnector({**cluster.settings, "spool": str(spool), "gres": "gpu:1"})
    with pytest.raises(ConnectorError) as refusal:
        connector.submit(bench.launch("/bin/true", hosts=("node01",)))
    assert not refusal.value.transient
