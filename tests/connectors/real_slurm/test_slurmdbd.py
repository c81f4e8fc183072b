"""Beside a real slurmdbd: accounts, QOS, limits of associations, and what only the accounting still knows."""

from __future__ import annotations

import os
import pwd
import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cosched.api.documents import TaskRequest
from cosched.connector import ConnectorError, JobState
from cosched.connector.contract import Bench
from cosched_slurm import SlurmConnector
from tests.history import faults, read
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.gates import behind
from tests.testbed.slurm.cluster import SlurmCluster
from tests.testbed.software.debian import PackageError
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from demo.site import Site

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [pytest.mark.pool, pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")]

_SCALE = 0.02
_FEW = 3  # jobs that one user may have with the QOS "few", and `nobody` at all


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A daemon beside it, whose jobs are of the QOS "few"."""
    settings: dict[str, dict[str, Any]] = {
        "connector.slurm": {"qos": "few"},
        "dispatch": {"retry": "200ms", "retry_longest": "1s"},
    }
    try:
        with QuickSite("slurm", scale=_SCALE, hosts=6, settings=settings, prepare=_associate, accounting=True) as site:
            yield site
    except PackageError as error:
        pytest.skip(f"Debian's slurmdbd cannot be had here: {error}")


def _associate(site: Site) -> None:
    assert isinstance(site.pool, SlurmCluster)
    for words in (
        ("add", "qos", "few", f"maxsubmitjobsperuser={_FEW}"),
        ("add", "account", "ada"),
        ("add", "user", "nobody", "account=ada", f"maxsubmitjobs={_FEW}"),
        ("add", "user", _user(), "account=ada"),
        ("modify", "user", _user(), "set", "qos+=few"),
    ):
        site.pool.tool("sacctmgr", "--immediate", *words)


def _user() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture
def cluster(site: Site) -> SlurmCluster:
    assert isinstance(site.pool, SlurmCluster)
    return site.pool


@pytest.fixture
def benched(cluster: SlurmCluster, tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Make a connector with more settings and a spool of its own."""
    benches: list[Bench] = []

    def benched(**more: str) -> Bench:
        spool = cluster.spool / uuid.uuid4().hex
        spool.mkdir(mode=0o755)
        settings = {**cluster.settings, "spool": str(spool), "completions": "", **more}
        settings = {key: value for key, value in settings.items() if value}
        benches.append(Bench(lambda: SlurmConnector(settings), tmp_path, patience=90.0))
        return benches[-1]

    yield benched
    for bench in benches:
        bench.clear()


def test_what_the_controller_has_forgotten_is_known_from_the_accounting_once_that_answers(
    cluster: SlurmCluster, benched: Callable[..., Bench]
) -> None:
    bench = benched()
    done, failed = bench.shell("exit 0", hosts=("node01",)), bench.shell("exit 3", hosts=("node02",))
    removed, _ = bench.running("node03")
    jobs = {launch.attempt: bench.submit(launch) for launch in (done, failed)}
    bench.until(done, JobState.COMPLETED)
    bench.until(failed, JobState.FAILED)
    jobs[removed.attempt] = bench.report(removed).job
    cluster.tool("scancel", jobs[removed.attempt])
    bench.until(removed, JobState.REMOVED)
    for job in jobs.values():
        cluster.wait("the accounting", partial(_has_ended, cluster, job))
    cluster.forget()
    for launch in (done, failed, removed):
        _remove_stamps(cluster, launch.attempt)
    bench.restart()
    cluster.kill("slurmdbd")
    try:
        with pytest.raises(ConnectorError) as refusal:
            bench.connector.find(done.attempt)
        assert refusal.value.transient
    finally:
        cluster.start_accounting()
    for launch, state, code in (
        (done, JobState.COMPLETED, 0),
        (failed, JobState.FAILED, 3),
        (removed, JobState.REMOVED, None),
    ):
        report = bench.connector.find(launch.attempt)
        assert report is not None
        assert (report.state, report.exit_code) == (state, code)
        assert report.job == jobs[launch.attempt]
        assert report.started is not None
    assert bench.connector.find(str(uuid.uuid4())) is None


def test_jobs_are_charged_to_the_account_of_their_owner_or_not_submitted(
    cluster: SlurmCluster, benched: Callable[..., Bench]
) -> None:
    bench = benched(identity="account")
    launch = replace(bench.shell("exit 0", hosts=("node01",)), owner="ada")
    job = bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    cluster.wait("the accounting", lambda: "ada" in _accounted(cluster, job, "Account"))
    with pytest.raises(ConnectorError, match="account") as refusal:
        bench.submit(replace(bench.shell("exit 0", hosts=("node01",)), owner="nobodys"))
    assert not refusal.value.transient


def test_a_quality_of_service_that_nobody_has_is_refused_for_good(
    cluster: SlurmCluster, benched: Callable[..., Bench]
) -> None:
    bench = benched(qos="few")
    launch = bench.shell("exit 0", hosts=("node01",))
    job = bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    assert "QOS=few" in cluster.tool("scontrol", "show", "job", job)
    with pytest.raises(ConnectorError, match="qos") as refusal:
        benched(qos="none").submit(bench.shell("exit 0", hosts=("node01",)))
    assert not refusal.value.transient


def test_a_job_that_is_too_large_for_a_policy_is_refused_for_good(
    cluster: SlurmCluster, benched: Callable[..., Bench]
) -> None:
    cluster.tool("sacctmgr", "--immediate", "add", "qos", "short", "maxwall=1", "flags=denyonlimit")
    cluster.tool("sacctmgr", "--immediate", "modify", "user", _user(), "set", "qos+=short")
    bench = benched(qos="short")
    with pytest.raises(ConnectorError, match="MaxWall") as refusal:
        bench.submit(replace(bench.shell("exit 0", hosts=("node01",)), time_limit=600.0))
    assert not refusal.value.transient


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may submit for other users")
def test_a_users_own_limit_lets_his_jobs_wait_and_nobody_elses(
    cluster: SlurmCluster, benched: Callable[..., Bench]
) -> None:
    bench = benched(identity="user")
    connector = bench.connector
    assert isinstance(connector, SlurmConnector)
    launches = [replace(bench.shell("sleep 60"), owner="nobody") for _ in range(_FEW + 3)]
    found = connector.submit_many(launches)
    refused = [one for one in found.values() if isinstance(one, ConnectorError)]
    assert len(refused) == 3
    assert all(one.refused and "AssocMaxSubmitJobLimit" in str(one) for one in refused)
    jobs = [one for one in found.values() if isinstance(one, str)]
    assert all("UserId=nobody" in cluster.tool("scontrol", "show", "job", job) for job in jobs)
    other = benched()
    assert other.submit(other.shell("exit 0"))


def test_a_daemon_keeps_what_a_policy_refuses_and_each_task_runs_once(site: Site, cluster: SlurmCluster) -> None:
    gate = site.folder / "gate"
    command = behind(gate, site.command("sweep3d", str(_SCALE)))
    requests = [
        TaskRequest(command=command, profile=(20 * _SCALE,) if place % 2 else None, hosts="1")
        for place in range(4 * _FEW)
    ]
    with site.client() as client:
        tasks = client.submit_all(requests)
        until(lambda: any("QOSMaxSubmitJobPerUserLimit" in task.reason for task in client.tasks(["queued"]).tasks))
        gate.touch()
        done = client.wait([task.id for task in tasks], 120.0)
        assert {task.state for task in done} == {"completed"}
    assert not faults(read(site.journal), [task.id for task in tasks])


def _has_ended(cluster: SlurmCluster, job: str) -> bool:
    """Whether all of a job has been recorded: the controller tells of its end, and then of when it became eligible."""
    state, *eligible = _accounted(cluster, job, "State", "Eligible")
    return state not in ("", "PENDING", "RUNNING") and eligible != ["Unknown"]


def _accounted(cluster: SlurmCluster, job: str, *fields: str) -> Sequence[str]:
    form = ("--allocations", "--noheader", "--parsable2", f"--format={','.join(fields)}")
    return cluster.tool("sacct", f"--jobs={job}", *form).strip().split("|")


def _remove_stamps(cluster: SlurmCluster, attempt: str) -> None:
    for spool in cluster.spool.iterdir():
        for stamp in (spool / attempt).glob("*"):
            if stamp.name.startswith(("began.", "ended.")):
                stamp.unlink()
