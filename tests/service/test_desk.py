from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cosched.connector.interface import Host, JobReport, JobState
from cosched.coscheduler.events import AttemptSubmitted, HostsObserved, JobReported
from cosched.coscheduler.task import TaskState
from cosched.errors import SystemFault, UserError
from cosched.portal.documents import TaskRequest
from cosched.portal.problems import ConflictError, NotFoundError
from tests.service.makers import Daemon, daemon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.portal.interface import Service

HALVING = TaskRequest(application="halving")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Daemon]:
    with daemon(tmp_path) as running:
        yield running


def test_the_desk_is_the_service_of_the_portal(here: Daemon) -> None:
    service: Service = here.desk  # checked by mypy
    assert service.status().domain == "here"


def test_tasks_are_numbered_and_durable_on_return(here: Daemon) -> None:
    made = here.desk.submit([HALVING, HALVING], "", "")
    assert [task.id for task in made] == ["1", "2"]
    stored = here.store.task("2")
    assert stored is not None
    assert stored.state is TaskState.QUEUED


def test_of_several_tasks_all_or_none_are_accepted(here: Daemon) -> None:
    with pytest.raises(UserError, match=r"task 2 of 2: no application 'nothing'.*; none was accepted"):
        here.desk.submit([HALVING, TaskRequest(application="nothing")], "", "")
    assert here.desk.tasks([], 10, 0).total == 0


def test_a_key_used_again_returns_the_same_tasks(here: Daemon) -> None:
    first = here.desk.submit([HALVING], "key", "digest")
    assert here.desk.submit([HALVING], "key", "digest") == first
    with pytest.raises(ConflictError, match="'key' was used for another request"):
        here.desk.submit([HALVING], "key", "other")
    assert here.desk.tasks([], 10, 0).total == 1


def test_a_key_used_many_times_at_once_makes_one_task(here: Daemon) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: here.desk.submit([HALVING], "key", "digest"), range(16)))
    assert {answer[0].id for answer in answers} == {"1"}
    assert here.desk.tasks([], 10, 0).total == 1


def test_a_submission_that_is_not_answered_in_time_is_taken_back_or_said_to_be_open(
    here: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosched.service.desk._PATIENCE", 0.3)
    monkeypatch.setattr("cosched.service.engine._STORE_AGAIN", 0.02)
    gate = threading.Event()
    here.engine.ask(lambda _core, _time: gate.wait(20))
    with pytest.raises(SystemFault, match="try again; nothing was done"):
        here.desk.submit([HALVING], "key", "digest")
    gate.set()
    made = here.desk.submit([HALVING], "key", "digest")
    assert here.desk.tasks([], 10, 0).total == len(made) == 1
    with closing(sqlite3.connect(tmp_path / "cosched.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SystemFault, match="it may yet be done, so look before you try again, or use the same key"):
            here.desk.submit([HALVING], "other", "digest")
    monkeypatch.setattr("cosched.service.desk._PATIENCE", 20.0)
    assert [task.id for task in here.desk.submit([HALVING], "other", "digest")] == ["2"]


def test_a_forecast_stores_nothing(here: Daemon) -> None:
    (forecast,) = here.desk.foresee([HALVING])
    assert forecast.planned_start is not None
    assert forecast.planned_end == pytest.approx(forecast.planned_start + 10.0)
    assert len(forecast.planned_hosts) == 8
    assert forecast.meets_deadline is None
    assert here.desk.tasks([], 10, 0).total == 0


def test_a_forecast_reckons_with_the_queue_and_the_deadline(here: Daemon) -> None:
    here.desk.submit([TaskRequest(application="halving", parameters={"work": 800}, hosts=8)] * 4, "", "")
    now = here.clock.now()
    (relaxed,) = here.desk.foresee([HALVING])
    (urgent,) = here.desk.foresee([TaskRequest(application="halving", deadline=now + 60)])
    assert relaxed.planned_start is not None
    assert relaxed.planned_start > now + 150  # behind four tasks of 100 s on half of the hosts
    assert urgent.meets_deadline
    assert urgent.planned_start == pytest.approx(now, abs=5)


def test_a_plan_shows_what_waits_and_what_runs(tmp_path: Path) -> None:
    with daemon(tmp_path, hosts=8, staging=0.0) as here:
        here.desk.submit([TaskRequest(application="halving", hosts=8)] * 2, "", "")
        attempt, task = here.manager.submitted[0]
        here.engine.do(AttemptSubmitted(here.clock.now(), attempt.uuid, "job-1")).result(10)
        report = JobReport(attempt.uuid, JobState.RUNNING, "job-1", started=here.clock.now())
        here.engine.do(JobReported(here.clock.now(), report)).result(10)
        plan = here.desk.plan()
        assert [(place.task, place.running) for place in plan.placements] == [("1", True), ("2", False)]
        assert plan.placements[1].start == pytest.approx(plan.placements[0].end)
        assert plan.makespan == pytest.approx(20, abs=5)
        assert {(host.task, host.up) for host in here.desk.hosts()} == {("1", True)}
        assert here.desk.explain("2").waits_for
        assert here.desk.task("1").tries[0].job == "job-1"
        assert [line.kind for line in here.desk.task("1").log] == ["submitted", "attempt submitted", "job running"]
        assert task.id == "1"


def test_a_waiting_task_is_cancelled_at_once_and_stays_so(here: Daemon) -> None:
    here.desk.submit([HALVING], "", "")
    assert here.desk.cancel("1").state == "cancelled"
    assert here.desk.cancel("1").state == "cancelled"
    explanation = here.desk.explain("1")
    assert explanation.waits_for == ("nothing: the task is cancelled (cancelled by the user)",)


def test_what_nobody_submitted_is_not_found(here: Daemon) -> None:
    for look in (here.desk.task, here.desk.explain, here.desk.cancel):
        with pytest.raises(NotFoundError, match="there is no task '7'"):
            look("7")


def test_the_list_is_filtered_and_paged(here: Daemon) -> None:
    here.desk.submit([HALVING] * 5, "", "")
    here.desk.cancel("3")
    page = here.desk.tasks([TaskState.QUEUED], 2, 1)
    assert ([task.id for task in page.tasks], page.total) == (["4", "2"], 4)


def test_the_status_counts_and_names_what_does_not_work(here: Daemon) -> None:
    here.desk.submit([HALVING], "", "")
    here.engine.do(HostsObserved(here.clock.now(), (Host("h01"), Host("h02", up=False)))).result(10)
    here.faults.append("the manager does not answer")
    status = here.desk.status()
    assert (status.hosts_up, status.hosts_down, status.tasks["queued"]) == (1, 1, 1)
    assert status.faults == ("the manager does not answer",)


def test_models_wait_until_the_hosts_are_known(tmp_path: Path) -> None:
    with daemon(tmp_path, hosts=0) as here:
        with pytest.raises(SystemFault, match="has not said yet which hosts there are"):
            here.desk.submit([HALVING], "", "")
        (forecast,) = here.desk.foresee([TaskRequest(command=("/bin/true",), profile=(3.0,))])
        assert (forecast.planned_start, forecast.meets_deadline) == (None, None)


def test_hosts_of_one_class_decide_what_is_predicted(here: Daemon) -> None:
    hosts = tuple(Host(f"s{number}", host_class="slow") for number in range(4))
    here.engine.do(HostsObserved(here.clock.now(), hosts)).result(10)
    (forecast,) = here.desk.foresee([HALVING])
    assert forecast.profile is not None
    assert forecast.profile.seconds == (160.0, 80.0, 160 / 3, 40.0)
    assert forecast.profile.hardware == "slow"
