from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import ReservationRequest, TaskRequest
from cosched.client import Client
from cosched.connector.interface import JobReport, JobState
from cosched.coscheduler.events import AttemptSubmitted, JobReported
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from pathlib import Path


def test_a_run_is_in_the_past_the_log_and_the_accuracy(tmp_path: Path) -> None:
    with serving(tmp_path, staging=0.0) as (daemon, address), Client(address) as client:
        assert (client.runs(), client.accuracy()) == ([], [])
        task = client.submit(TaskRequest(application="halving", parameters={"work": 40.0}))
        attempt, now = daemon.manager.submitted[0][0], daemon.clock.now()
        daemon.inbox.apply(AttemptSubmitted(now, attempt.uuid, "j")).result(10)
        done = JobReport(attempt.uuid, JobState.COMPLETED, "j", started=now, finished=now + 6, exit_code=0)
        daemon.inbox.apply(JobReported(now + 6, done)).result(10)
        (run,) = client.runs(now - 60)
        assert (run.task, run.state, run.end - run.start, run.hosts) == (task.id, "completed", 6.0, attempt.hosts)
        assert client.runs(now + 60) == []
        (entry,) = client.accuracy()
        assert (entry.application, entry.ratios) == ("halving", (6.0 / (attempt.predicted or 0.0),))
        assert {line.task for line in client.log(2)} == {task.id}
        assert client.log(1, 1) == client.log(2)[1:]
        assert client.search() == []  # nobody searches here


def test_the_plans_of_a_task_are_told(tmp_path: Path) -> None:
    with serving(tmp_path) as (daemon, address), Client(address) as client:
        task = client.submit(TaskRequest(application="halving", parameters={"work": 40.0}))
        daemon.inbox.ask(lambda _core, _time: None).result(10)  # it looks at the plan when it has answered
        (point,), (spot,) = client.plans(task.id), client.plan().placements
        assert point.hosts == len(spot.hosts)
        assert point.end - point.start == pytest.approx(spot.end - spot.start)


def test_hosts_are_reserved_and_released(tmp_path: Path) -> None:
    with serving(tmp_path) as (daemon, address), Client(address) as client:
        wanted = ReservationRequest(hosts=("h01",), end=daemon.clock.now() + 60, name="course")
        made = client.reserve(wanted)
        assert (made.hosts, made.end, made.name, client.reservations()) == (("h01",), wanted.end, "course", [made])
        client.release(made.id)
        assert client.reservations() == []
