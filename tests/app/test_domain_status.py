from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import httpx2
import pytest

from cosched.access import Principal, Role
from cosched.api.documents import TaskRequest
from cosched.app.core_access import CoreClient
from cosched.app.domain_status import CurrentDomain, TaskCounts
from cosched.connector.hosts import Host
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.events import AttemptSubmitted, HostsObserved, JobReported
from cosched.coscheduler.task import TaskState
from cosched.store.database import StoreFault
from tests.daemon.makers import Daemon, daemon, serving
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cosched.store.store import Store


ME = Principal("me", Role.USER)
HALVING = TaskRequest(application="halving")


def test_a_plan_shows_what_waits_and_what_runs(tmp_path: Path) -> None:
    with daemon(tmp_path, hosts=8, staging=0.0) as here:
        here.services.submissions.submit(ME, [TaskRequest(application="halving", hosts=8)] * 2, "", "")
        attempt, task = here.manager.submitted[0]
        here.inbox.apply(AttemptSubmitted(here.clock.now(), attempt.uuid, "job-1")).result(60)
        report = JobReport(attempt.uuid, JobState.RUNNING, "job-1", started=here.clock.now())
        here.inbox.apply(JobReported(here.clock.now(), report)).result(60)
        before = here.clock.now()
        plan = here.services.domain.plan(ME)
        assert [(place.task, place.running) for place in plan.placements] == [("1", True), ("2", False)]
        assert plan.placements[1].start == pytest.approx(plan.placements[0].end)
        end = plan.placements[1].end
        assert end is not None
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


def test_late_tasks_are_counted_for_each_owner_and_the_core_is_not_waited_for(here: Daemon) -> None:
    other, operator = Principal("other", Role.USER), Principal("root", Role.OPERATOR)
    late = TaskRequest(command=("/bin/true",), profile=(9000.0,), deadline=here.clock.now() + 60, best_effort=True)
    here.services.submissions.submit(ME, [late, late, replace(late, deadline=None)], "", "")
    here.services.submissions.submit(other, [late], "", "")
    status = here.services.domain.status
    until(lambda: status(ME).late is not None)  # the core is busy
    assert [status(each).late for each in (ME, other, operator)] == [2, 1, 3]
    free = threading.Event()
    here.inbox.ask(lambda _core, _time: free.wait(60))
    try:
        assert status(ME).late == 2
    finally:
        free.set()


def test_the_status_counts_and_names_what_does_not_work(here: Daemon) -> None:
    here.services.submissions.submit(ME, [HALVING], "", "")
    here.inbox.apply(HostsObserved(here.clock.now(), (Host("h01"), Host("h02", up=False)))).result(60)
    here.faults.append("the manager does not answer")
    status = here.services.domain.status(ME)
    assert (status.hosts_up, status.hosts_down, status.tasks["queued"]) == (1, 1, 1)
    assert status.faults == ("the manager does not answer",)


def test_the_status_answers_while_the_core_is_stuck_and_everybody_waits_for_it(tmp_path: Path) -> None:
    with serving(tmp_path, hosts=3) as (here, address), ThreadPoolExecutor(60) as pool:
        stuck, go_on = threading.Event(), threading.Event()

        def block(_core: object, _time: float) -> None:
            stuck.set()
            go_on.wait(60)

        here.inbox.ask(block)
        assert stuck.wait(60)
        transport = httpx2.HTTPTransport(uds=address.removeprefix("unix:"), limits=httpx2.Limits(max_connections=None))
        with httpx2.Client(transport=transport, base_url="http://x", timeout=240) as client:
            waiting = [pool.submit(client.get, "/api/v1/plan") for _ in range(60)]
            while here.inbox.silence() < 2:
                threading.Event().wait(0.1)
            status = client.get("/api/v1/status").json()
            ready = client.get("/readyz").status_code
            figures = client.get("/metrics").text
            assert not any(answer.done() for answer in waiting)
            go_on.set()
            assert {answer.result().status_code for answer in waiting} == {200}
            until(lambda: (after := client.get("/api/v1/status").json())["as_of"] == after["time"])
        assert (status["hosts_up"], ready) == (3, 200)
        assert status["as_of"] <= status["time"] - 2
        assert 'cosched_hosts{state="up"} 3.0' in figures


def test_a_state_of_before_a_change_is_not_kept_however_late_it_comes(here: Daemon) -> None:
    class Overtaken(CurrentDomain):
        """Hosts change between the look whether they have and the keeping of what was asked."""

        changed = False

        def __setattr__(self, name: str, value: object) -> None:
            if name == "_known" and value is not None and not self.changed:
                self.changed = True
                here.inbox.apply(HostsObserved(here.inbox.now(), (Host("late"),))).result(60)
                self.on_change((), (HostsObserved(here.inbox.now(), (Host("late"),)),))
            super().__setattr__(name, value)

    current = Overtaken(CoreClient(here.inbox))
    assert current.state().hosts > 1
    assert current.state().hosts == 1


def counts_of(answer: Callable[[object], dict[TaskState, int]], patience: float = 60.0) -> TaskCounts:
    times = iter(range(100, 200))
    return TaskCounts(cast("Store", SimpleNamespace(counts=answer)), lambda: float(next(times)), patience)


def test_the_last_counts_are_given_while_the_database_fails() -> None:
    answers: list[Any] = [{TaskState.QUEUED: 2}, StoreFault("the disk is full"), StoreFault("the disk is full")]

    def answer(_selection: object) -> dict[TaskState, int]:
        found = answers.pop(0)
        if isinstance(found, StoreFault):
            raise found
        return cast("dict[TaskState, int]", found)

    counts = counts_of(answer)
    assert counts.counted("ann").counts == {"queued": 2}
    old = counts.counted("ann")
    assert (old.counts, old.time, old.fault) == ({"queued": 2}, 100.0, "the disk is full")
    assert counts.counted("bob").counts == {}


def test_a_database_that_does_not_answer_keeps_nobody_waiting() -> None:
    go_on = threading.Event()

    def hang(_selection: object) -> dict[TaskState, int]:
        go_on.wait(60)
        return {}

    counts = counts_of(hang, patience=0.05)
    assert [counts.counted(None).fault for _ in range(3)] == ["the database does not answer"] * 3
    go_on.set()
