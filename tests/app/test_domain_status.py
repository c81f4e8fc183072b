from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.access import Principal, Role
from cosched.api.documents import TaskRequest
from cosched.connector.interface import Host, JobReport, JobState
from cosched.coscheduler.events import AttemptSubmitted, HostsObserved, JobReported
from tests.daemon.makers import Daemon, daemon

if TYPE_CHECKING:
    from pathlib import Path


ME = Principal("me", Role.USER)
HALVING = TaskRequest(application="halving")


def test_a_plan_shows_what_waits_and_what_runs(tmp_path: Path) -> None:
    with daemon(tmp_path, hosts=8, staging=0.0) as here:
        here.services.submissions.submit(ME, [TaskRequest(application="halving", hosts=8)] * 2, "", "")
        attempt, task = here.manager.submitted[0]
        here.inbox.apply(AttemptSubmitted(here.clock.now(), attempt.uuid, "job-1")).result(10)
        report = JobReport(attempt.uuid, JobState.RUNNING, "job-1", started=here.clock.now())
        here.inbox.apply(JobReported(here.clock.now(), report)).result(10)
        before = here.clock.now()
        plan = here.services.domain.plan(ME)
        assert [(place.task, place.running) for place in plan.placements] == [("1", True), ("2", False)]
        assert plan.placements[1].start == pytest.approx(plan.placements[0].end)
        end = plan.placements[1].end
        assert end == pytest.approx(plan.placements[0].start + 20)
        assert end - here.clock.now() <= plan.makespan <= end - before
        assert {(host.task, host.up) for host in here.services.domain.hosts(ME)} == {("1", True)}
        assert here.services.tasks.explain(ME, "2").waits_for
        assert here.services.tasks.task(ME, "1").tries[0].job == "job-1"
        assert [line.kind for line in here.services.tasks.task(ME, "1").log] == [
            "submitted",
            "attempt submitted",
            "job running",
        ]
        assert task.id == "1"


def test_the_status_counts_and_names_what_does_not_work(here: Daemon) -> None:
    here.services.submissions.submit(ME, [HALVING], "", "")
    here.inbox.apply(HostsObserved(here.clock.now(), (Host("h01"), Host("h02", up=False)))).result(10)
    here.faults.append("the manager does not answer")
    status = here.services.domain.status(ME)
    assert (status.hosts_up, status.hosts_down, status.tasks["queued"]) == (1, 1, 1)
    assert status.faults == ("the manager does not answer",)
