"""Jobs of condor_submit become tasks of their users, on a real pool with a real daemon."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from tests.waiting import until

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from tests.connectors.condor_people import DEADLINE, People, adopting
from tests.testbed.condor.pool import CondorPool
from tests.testbed.forked.nursery import QuickSite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import ExitStack

    from cosched.api.documents import TaskView

pytestmark = [
    pytest.mark.pool,
    pytest.mark.xdist_group("condor-adoption"),
    pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning"),
]

_PLANNED = DEADLINE + "cosched_runtime = 2s\ncosched_name = hers\n"


class AdoptingSite(QuickSite):
    """A daemon that adopts, beside a pool with the gate."""

    people: People

    def _manager(self, stack: ExitStack) -> dict[str, Any]:
        self.pool = pool = stack.enter_context(CondorPool(hosts=self._hosts, settings=adopting(300)))
        self.people = People(pool)
        self.journal = pool.spool / "journal"
        self.journal.touch()
        return {"config": str(pool.config), "spool": str(pool.spool)}

    def task_of(self, job: str, so: Callable[[TaskView], object] = bool) -> TaskView:
        """Return the task of a job once it is so."""
        until = time.monotonic() + 60.0
        with self.client() as client:
            while True:
                found = [task for task in client.tasks().tasks if client.task(task.id).adopted.split("#")[1:2] == [job]]
                if found and so(found[0]):
                    return found[0]
                assert time.monotonic() < until, (found, self.log.read_text()[-3000:])
                time.sleep(0.2)


@pytest.fixture(scope="module")
def site() -> Iterator[AdoptingSite]:
    settings: dict[str, dict[str, Any]] = {"adopt": {"enabled": True}, "dispatch": {"grace": "1s", "start_grace": "3s"}}
    with AdoptingSite("condor", scale=0.02, hosts=6, settings=settings) as started:
        yield started


def test_a_job_is_its_users_task_and_runs_on_the_host_chosen(site: AdoptingSite) -> None:
    job = site.people.submit(_PLANNED + "queue\n")
    task = site.task_of(job, lambda task: task.state == "completed")
    assert (task.owner, task.name, task.exit_code) == ("ann", "hers", 0)
    assert site.people.shown(job, "LastRemoteHost").rpartition("@")[2] == task.hosts[0]
    assert int(site.people.shown(job, "JobStartDate")) < int(site.people.shown(job, "CoschedLease"))


def test_a_parallel_job_runs_on_as_many_hosts_as_were_chosen(site: AdoptingSite) -> None:
    parallel = "universe = parallel\nmachine_count = 2\n"
    job = site.people.submit(_PLANNED + parallel + "queue\n")
    task = site.task_of(job, lambda task: task.state == "completed")
    assert len(task.hosts) == 2
    assert site.people.shown(job, "CoschedMachine").split(",") == list(task.hosts)
    more = "cosched_hosts = 2-4\ncosched_runtime = 2:9s,3:8s,4:2s\n"
    job = site.people.submit(DEADLINE + parallel + more + "queue\n")
    assert len(site.task_of(job, lambda task: task.state == "completed").hosts) == 4
    assert len(site.people.shown(job, "AllRemoteHosts").split(",")) == 4


def test_a_parallel_job_that_is_called_back_asks_for_its_own_number_again(site: AdoptingSite) -> None:
    more = "universe = parallel\nmachine_count = 2\ncosched_hosts = 3\ncosched_runtime = 3:2s\n"
    job = site.people.submit(DEADLINE + more + 'requirements = Machine == "elsewhere"\nqueue\n')
    site.task_of(job, lambda task: task.state == "queued" and "did not start it" in task.reason)
    assert [site.people.shown(job, name) for name in ("CoschedAttempt", "MinHosts", "MaxHosts")] == [
        "undefined",
        "2",
        "2",
    ]
    site.people.by_ann("condor_rm", job)


def test_a_job_without_a_run_time_and_one_that_fails_are_followed_to_their_ends(site: AdoptingSite) -> None:
    job = site.people.submit(DEADLINE + "executable = /bin/false\narguments =\nqueue\n")
    assert site.task_of(job, lambda task: task.state == "failed").exit_code == 1


@pytest.mark.parametrize(
    ("lines", "word"),
    [
        ("cosched_deadline = soonish\n", "soonish"),
        (DEADLINE + "cosched_application = sweep3d\n+CoschedSet_Weather = 2\n", "Weather"),
    ],
)
def test_what_cannot_be_planned_is_let_go_with_a_note(site: AdoptingSite, lines: str, word: str) -> None:
    job = site.people.submit(lines + "queue\n")
    site.people.wait(job, "2", "4")
    assert word in site.people.shown(job, "CoschedNote")


def test_what_no_host_has_for_a_job_is_its_note(site: AdoptingSite) -> None:
    job = site.people.submit(_PLANNED + "request_memory = 99999\nqueue\n")
    note = "no host has 1 core and 99999M of memory"
    until(lambda: note in site.people.shown(job, "CoschedNote"))
    site.people.by_ann("condor_rm", job)


def test_holds_releases_edits_and_removals_of_users_are_seen(site: AdoptingSite) -> None:
    job = site.people.submit(_PLANNED + "hold = true\nqueue\n")
    before = site.task_of(job, lambda task: "ann" in task.held_by).deadline
    site.people.by_ann("condor_qedit", job, "CoschedDeadline", '"now+20m"')
    site.task_of(job, lambda task: task.deadline == (before or 0.0) + 600.0)
    site.people.by_ann("condor_release", job)
    site.task_of(job, lambda task: task.state == "completed")
    removed = site.people.submit(_PLANNED + "hold = true\nqueue\n")
    site.task_of(removed)
    site.people.by_ann("condor_rm", removed)
    site.task_of(removed, lambda task: task.state == "cancelled")


def test_what_somebody_writes_into_a_job_keeps_nobody_elses_from_being_adopted(site: AdoptingSite) -> None:
    """A text for a number ended each look at the queue, and a billion processes took the daemon's memory."""
    odd = '+CoschedMachineCount = "x"\n+CoschedCount = 1000000000\n'
    texts = site.people.submit(DEADLINE + "universe = parallel\nmachine_count = 1\nhold = true\n" + odd + "queue\n")
    forged = site.people.submit(_PLANNED + "hold = true\nqueue\n")
    made_up = f'"{uuid.uuid4()}"'
    site.people.by_ann("condor_qedit", forged, "CoschedAttempt", made_up, "CoschedCount", "1000000000")
    assert site.people.shown(forged, "CoschedCount") == "1000000000"
    job = site.people.submit(_PLANNED + "queue\n")
    assert site.task_of(job, lambda task: task.state == "completed").exit_code == 0
    site.people.by_ann("condor_rm", texts, forged)


def test_the_gate_of_a_job_that_no_machine_may_run_closes_again(site: AdoptingSite) -> None:
    wish = '+Wanted = "elsewhere"\nrequirements = Machine == MY.Wanted || MY.Wanted == "any"\n'
    job = site.people.submit(_PLANNED + wish + "queue\n")
    task = site.task_of(job, lambda task: task.state == "queued" and "did not start it" in task.reason)
    assert site.people.shown(job, "CoschedAttempt") == "undefined"
    site.people.by_ann("condor_qedit", job, "Wanted", '"any"')
    site.task_of(job, lambda ended: ended.state == "completed" and ended.id == task.id)


def test_a_job_that_ran_by_itself_while_no_daemon_was_there_counts_by_what_it_did(site: AdoptingSite) -> None:
    job = site.people.submit(DEADLINE + "executable = /bin/false\narguments =\nhold = true\nqueue\n")
    site.task_of(job, lambda task: task.held_by)
    site.kill()
    site.people.by_ann("condor_qedit", job, "Requirements", "true")
    site.people.by_ann("condor_release", job)
    site.people.wait(job, "4")
    site.start()
    assert site.task_of(job, lambda task: task.state == "failed").exit_code == 1


@pytest.mark.parametrize("lines", ["hold = true\nqueue\n", "arguments = 600\nqueue\n"])
def test_cancelling_the_task_removes_the_job(site: AdoptingSite, lines: str) -> None:
    job = site.people.submit(_PLANNED + lines)
    task = site.task_of(job, lambda task: task.held_by or task.state == "running")
    with site.client() as client:
        client.cancel(task.id)
    site.people.wait(job, "3")
    site.task_of(job, lambda task: task.state == "cancelled")


def test_each_job_runs_once_whenever_the_daemon_is_killed(site: AdoptingSite) -> None:
    jobs = []
    for pause in (0.0, 0.6, 1.2, 1.8, 2.4):
        universe = "universe = parallel\nmachine_count = 2\n" if pause in (0.6, 1.8) else ""
        jobs.append(site.people.submit(_PLANNED + universe + "queue\n"))
        time.sleep(pause)
        site.kill()
        site.start()
    for job in jobs:
        site.task_of(job, lambda task: task.state == "completed")
        assert site.people.shown(job, "NumShadowStarts") == "1"
