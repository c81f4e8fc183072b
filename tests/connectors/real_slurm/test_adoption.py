"""Jobs of sbatch become tasks of their users, on a real cluster with a real daemon."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.connectors.slurm_people import DEADLINE, People, job_number, job_submit
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.node_size import WHOLE, NodeSize
from tests.testbed.slurm.cluster import SlurmCluster
from tests.testbed.slurm.install import SUITE
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import ExitStack

    from cosched.api.documents import TaskView

pytestmark = [
    pytest.mark.pool,
    pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(os.geteuid() != 0, reason="submits as another user"),
]

_PLANNED = DEADLINE + "#COSCHED --runtime=2s --name=hers\nsleep 1\n"
_LONG = DEADLINE + "#COSCHED --runtime=2s\nsleep 600\n"


class AdoptingSite(QuickSite):
    """A daemon that adopts, beside a cluster with the shipped script."""

    people: People

    def _manager(self, stack: ExitStack) -> dict[str, Any]:
        self.cluster = cluster = stack.enter_context(
            SlurmCluster(
                hosts=self._hosts,
                suite=os.environ.get("COSCHED_TESTBED_SLURM", SUITE),
                node=self._node or WHOLE,
                settings="Licenses=scarce:1\n",
                job_submit=job_submit(300),
            )
        )
        self.people = People(cluster)
        return {**cluster.settings, "poll": 1}

    def submit(self, script: str, *options: str) -> str:
        """Submit a script as nobody; return the job."""
        return job_number(self.people.submit(script, *options))

    def task_of(self, job: str, so: Callable[[TaskView], object] = bool) -> TaskView:
        """Return the task of a job once it is so."""
        until = time.monotonic() + 60
        with self.client() as client:
            while True:
                found = [task for task in client.tasks().tasks if client.task(task.id).adopted.split("#")[1:2] == [job]]
                if found and so(found[0]):
                    return found[0]
                assert time.monotonic() < until, (found, self.log.read_text()[-1500:])
                time.sleep(0.2)


@pytest.fixture(scope="module")
def site() -> Iterator[AdoptingSite]:
    settings: dict[str, dict[str, Any]] = {"adopt": {"enabled": True}, "dispatch": {"grace": "1s", "start_grace": "3s"}}
    with AdoptingSite("slurm", scale=0.02, hosts=6, settings=settings) as started:
        yield started


def test_a_job_is_its_users_task_and_runs_on_the_hosts_chosen(site: AdoptingSite) -> None:
    jobs = [site.submit(_PLANNED), site.submit(_PLANNED, "--nodes=2", "--comment=hers")]
    for job, count in zip(jobs, (1, 2), strict=True):
        task = site.task_of(job, lambda task: task.state == "completed")
        assert (task.owner, task.name, task.exit_code, len(task.hosts)) == ("nobody", "hers", 0, count)
        assert site.people.shown(job, "ReqNodeList").replace("[", "").count("node") == 1 or count > 1
        assert site.people.seconds(job, "StartTime") < site.people.seconds(job, "SubmitTime") + 300
    assert site.people.comment(jobs[1]) == "hers"


def test_a_job_that_fails_is_followed_to_its_end(site: AdoptingSite) -> None:
    job = site.submit(DEADLINE + "exit 3\n")
    assert site.task_of(job, lambda task: task.state == "failed").exit_code == 3


@pytest.mark.parametrize("asked", ["--deadline=soonish", "--deadline=now+9m --nonsense"])
def test_what_cannot_be_planned_is_let_go_with_a_note(site: AdoptingSite, asked: str) -> None:
    job = site.submit("#!/bin/sh\ntrue\n", f"--comment=cosched: {asked}")
    site.people.wait(job, "RUNNING", "COMPLETED")
    _, _, reason = site.people.note(job).partition(" # ")
    assert asked.split("=")[-1].split()[-1] in reason


def test_holds_releases_edits_and_removals_of_users_are_seen(site: AdoptingSite) -> None:
    job = site.submit(_PLANNED, "--hold")
    before = site.task_of(job, lambda task: "nobody" in task.held_by).deadline
    site.people.by_nobody("scontrol", "update", f"jobid={job}", "comment=cosched: --deadline=now+20m")
    site.task_of(job, lambda task: task.deadline == (before or 0.0) + 600.0)
    site.people.by_nobody("scontrol", "release", job)
    site.task_of(job, lambda task: task.state == "completed")
    removed = site.submit(_PLANNED, "--hold")
    site.task_of(removed)
    site.people.by_nobody("scancel", removed)
    site.task_of(removed, lambda task: task.state == "cancelled")


def test_a_job_that_slurm_does_not_start_waits_again(site: AdoptingSite) -> None:
    taken = job_number(
        site.cluster.tool(
            "sbatch", "--licenses=scarce:1", "--nodelist=node06", "--output=/dev/null", "--wrap=sleep 600"
        )
    )
    job = site.submit(_PLANNED, "--licenses=scarce:1")
    task = site.task_of(job, lambda task: task.state == "queued" and "Licenses" in task.reason)
    until(lambda: site.people.shown(job, "ReqNodeList") == "(null)")  # the task waits first, then Slurm is told
    site.people.by_nobody("scancel", job)
    site.cluster.tool("scancel", taken)
    site.task_of(job, lambda ended: ended.state == "cancelled" and ended.id == task.id)


def test_what_a_user_did_while_no_daemon_was_there_counts(site: AdoptingSite) -> None:
    job, edited = site.submit(DEADLINE + "exit 3\n", "--hold"), site.submit(_PLANNED, "--hold")
    site.task_of(job, lambda task: task.held_by)
    before = site.task_of(edited, lambda task: task.held_by).deadline
    site.kill()
    site.people.by_nobody("scontrol", "update", f"jobid={edited}", "comment=cosched: --deadline=now+20m")
    site.people.by_nobody("scontrol", "release", job)
    site.people.by_nobody("scontrol", "update", f"jobid={job}", "StartTime=now")
    site.people.wait(job, "FAILED")
    site.start()
    site.task_of(edited, lambda task: task.deadline == (before or 0.0) + 600.0)
    site.people.by_nobody("scancel", edited)
    assert site.task_of(job, lambda task: task.state == "failed").exit_code == 3


def test_a_job_that_slurm_itself_has_forgotten_counts_by_what_it_did(site: AdoptingSite) -> None:
    job = site.submit(DEADLINE + "exit 3\n", "--hold")
    site.task_of(job, lambda task: task.held_by)
    site.kill()
    site.people.by_nobody("scontrol", "release", job)
    site.people.by_nobody("scontrol", "update", f"jobid={job}", "StartTime=now")
    site.people.wait(job, "FAILED")
    site.cluster.forget()
    site.start()
    assert site.task_of(job, lambda task: task.state == "failed").exit_code == 3


@pytest.mark.parametrize("options", [["--hold"], []])
def test_cancelling_the_task_cancels_the_job(site: AdoptingSite, options: list[str]) -> None:
    job = site.submit(_LONG, *options)
    task = site.task_of(job, lambda task: task.held_by or task.state == "running")
    with site.client() as client:
        client.cancel(task.id)
    site.people.wait(job, "CANCELLED")
    site.task_of(job, lambda task: task.state == "cancelled")


def test_each_job_runs_once_whenever_the_daemon_is_killed(site: AdoptingSite) -> None:
    jobs = []
    for pause in (0.0, 0.6, 1.2, 1.8, 2.4):
        jobs.append(site.submit(_PLANNED))
        time.sleep(pause)
        site.kill()
        site.start()
    for job in jobs:
        site.task_of(job, lambda task: task.state == "completed")
        assert site.people.shown(job, "Restarts") == "0"


def test_jobs_share_a_node_as_their_options_ask() -> None:
    settings: dict[str, dict[str, Any]] = {"adopt": {"enabled": True}, "planning": {"share_hosts": True}}
    node = NodeSize(cores=4, memory=4096, gpus=0)
    with AdoptingSite("slurm", hosts=1, node=node, scale=0.02, settings=settings) as site:
        halves = [site.submit(_LONG, "--cpus-per-task=2", "--mem=1G") for _ in range(2)]
        running = [site.task_of(job, lambda task: task.state == "running") for job in halves]
        assert {task.hosts for task in running} == {("node01",)}
        small, whole = site.submit(_LONG, "--mem-per-cpu=512"), site.submit(_LONG, "--exclusive")
        waiting = [site.task_of(job, lambda task: task.state == "queued") for job in (small, whole)]
        with site.client() as client:
            shown = [client.task(task.id) for task in (*running, *waiting)]
            assert [(task.cores, task.memory) for task in shown] == [(2, 1024), (2, 1024), (1, 512), (0, 1024)]
            until = time.monotonic() + 60  # a job that has just begun is another's until the next look at the queue
            while "1 core on one host" not in (said := " ".join(client.explain(waiting[0].id).waits_for)):
                assert time.monotonic() < until, said
                time.sleep(0.2)
            client.cancel(running[0].id)
            site.task_of(small, lambda task: task.state == "running")
            assert client.task(waiting[1].id).state == "queued"
