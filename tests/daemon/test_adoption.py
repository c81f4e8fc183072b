"""Jobs in a manager's queue, without a manager: what is wrong with one is its own affair."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from cosched.connector import JobReport, JobState
from cosched.connector.interface import AdoptableJob
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.edits import TaskEdit
from cosched.coscheduler.events import (
    AdoptedJobGone,
    AdoptedJobStarted,
    EditRequested,
    HoldRequested,
    JobReported,
    ReleaseRequested,
)
from cosched.coscheduler.task import TaskState
from cosched.daemon.adoption import Adopter, adoption_request
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


KEY = "7#1"


class Queue:
    """A manager's queue; what is done to its jobs is noted."""

    name = "condor"

    def __init__(self, *jobs: AdoptableJob) -> None:
        self.jobs = list(jobs)
        self.done: list[tuple[str, ...]] = []
        self.leases: list[float] = []
        self.alone = False

    @property
    def abandoned(self) -> list[str]:
        return [words[1] for words in self.done if words[0] == "abandon"]

    def adoptable_jobs(self) -> list[AdoptableJob]:
        return self.jobs

    def renew(self, until: float) -> None:
        self.leases.append(until)

    def abandon(self, key: str, reason: str) -> None:
        self.done.append(("abandon", key, reason))

    def remove(self, key: str, reason: str) -> None:
        self.done.append(("remove", key, reason))

    def retract(self, attempt: str, key: str) -> None:
        self.done.append(("retract", attempt, key))

    def ran_alone(self, key: str) -> bool:
        assert key == KEY
        return self.alone


class Submissions:
    """Takes jobs in as a task of some state; makes a mistake with one of them, and refuses others."""

    def __init__(self, state: TaskState = TaskState.QUEUED) -> None:
        self.state = state
        self.asked: list[str] = []
        self.faults: dict[str, Exception] = {"odd": KeyError("odd")}

    def adopt(self, _principal: object, _request: Callable[[], object], key: str) -> Any:
        self.asked.append(key)
        if key in self.faults:
            raise self.faults[key]
        return SimpleNamespace(id="1", status=SimpleNamespace(state=self.state, reason="it is over"))


class World:
    """An adopter between a queue and a core, whose tasks are given; what it tells the core is noted."""

    def __init__(self, folder: Path, *jobs: AdoptableJob, state: TaskState = TaskState.QUEUED) -> None:
        self.queue, self.submissions = Queue(*jobs), Submissions(state)
        self.live: dict[str, Any] = {}
        self.said: list[Any] = []
        self.located: list[str] = []
        core = SimpleNamespace(ask=lambda _question: dict(self.live), now=lambda: 1.0, apply=self.said.append)
        self.adopter = Adopter(
            cast("Any", self.queue),
            cast("Any", core),
            cast("Any", self.submissions),
            self.located.append,
            60.0,
            folder / "seen",
        )

    def has_task(
        self, state: TaskState = TaskState.QUEUED, held_by: str = "", attempt: AttemptState | None = None
    ) -> None:
        """Give the job a task, with an attempt of some state or none."""
        task = SimpleNamespace(
            id="1", spec=SimpleNamespace(adopted=KEY), status=SimpleNamespace(state=state, held_by=held_by)
        )
        live = None if attempt is None else SimpleNamespace(uuid="u1", state=attempt)
        self.live[KEY] = SimpleNamespace(task=task, attempt=live)

    def look(self, *jobs: AdoptableJob) -> list[Any]:
        """Look at other jobs, if any are given; return what the core was told."""
        if jobs:
            self.queue.jobs = list(jobs)
        self.said.clear()
        self.adopter.look()
        return list(self.said)


def a_job(**fields: Any) -> AdoptableJob:
    return AdoptableJob(KEY, "7.0", "ann", 1000.0, ("/bin/true",), **fields)


def test_a_job_that_cosched_makes_a_mistake_with_is_let_go_and_the_others_are_adopted(tmp_path: Path) -> None:
    """Its lease was renewed with all others', so that it never ran, and no job after it was adopted."""
    world = World(tmp_path, *(replace(a_job(), key=key) for key in ("odd", "plain")))
    world.look()
    assert (world.queue.abandoned, world.submissions.asked) == (["odd"], ["odd", "plain"])
    world.look()
    assert world.submissions.asked == ["odd", "plain", "plain"]


def test_a_job_that_is_held_and_marked_for_another_attempt_is_held_here_too(tmp_path: Path) -> None:
    """Marked by its user after it was adopted, its turn came again and again in place of their other jobs'."""
    world = World(tmp_path)
    world.has_task()
    (held,) = world.look(a_job(held=True, report=JobReport("made up", JobState.HELD, "7.0")))
    assert held == HoldRequested(1.0, "1", "ann (in the resource manager's queue)")


def test_leases_are_renewed_three_times_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = 1000.0
    monkeypatch.setattr("cosched.daemon.adoption.time", SimpleNamespace(monotonic=lambda: passed))
    world = World(tmp_path, a_job())
    for passed in (1000.0, 1019.0, 1020.5, 1030.0):  # noqa: B007  read by the clock
        world.look()
    assert world.queue.leases == [61.0, 61.0]


def test_what_is_wrong_with_one_job_is_told_when_the_others_have_been_looked_at(tmp_path: Path) -> None:
    world = World(tmp_path, *(replace(a_job(), key=key) for key in ("busy", "plain")))
    world.submissions.faults["busy"] = SystemFault("the core does not answer")
    for _ in range(2):
        with pytest.raises(SystemFault, match="does not answer"):
            world.look()
    assert (world.queue.done, world.submissions.asked) == ([], ["busy", "plain"] * 2)


def test_a_job_that_is_refused_is_let_go_once_and_tried_anew_under_its_number_later(tmp_path: Path) -> None:
    world = World(tmp_path, a_job())
    world.submissions.faults[KEY] = UserError("no such application")
    world.look()
    world.look()
    assert world.queue.done == [("abandon", KEY, "cosched does not plan this job: no such application")]
    world.queue.jobs = []
    world.look()
    world.look(a_job())
    assert world.submissions.asked == [KEY, KEY]


@pytest.mark.parametrize(
    ("state", "done"),
    [
        (TaskState.CANCELLED, ("remove", KEY, "task 1 was cancelled through cosched")),
        (TaskState.FAILED, ("abandon", KEY, "task 1 has ended: it is over")),
    ],
)
def test_a_job_whose_task_has_ended_is_let_go_and_one_that_was_cancelled_removed(
    tmp_path: Path, state: TaskState, done: tuple[str, ...]
) -> None:
    world = World(tmp_path, a_job(), state=state)
    world.look()
    world.look()
    assert world.queue.done == [done]


def test_a_job_that_has_ended_or_is_marked_for_an_attempt_is_not_adopted(tmp_path: Path) -> None:
    world = World(tmp_path, a_job(ended=True))
    world.look()
    world.look(a_job(report=JobReport("lost", JobState.RUNNING)))
    world.look()
    assert world.submissions.asked == []
    assert world.queue.done == [("abandon", KEY, "cosched has no record of this job")]


def test_a_report_is_told_once_and_only_of_the_live_attempt(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.has_task(TaskState.DISPATCHING, attempt=AttemptState.SUBMITTED)
    running = JobReport("u1", JobState.RUNNING, started=5.0)
    assert world.look(a_job(report=replace(running, attempt="u0"))) == []
    assert world.look(a_job(report=running)) == [JobReported(1.0, running)]
    assert world.look() == []
    done = replace(running, state=JobState.COMPLETED)
    assert world.look(a_job(report=done)) == [JobReported(1.0, done)]


def test_who_holds_a_job_in_the_queue_holds_its_task_and_releases_no_other_hold(tmp_path: Path) -> None:
    by = "ann (in the resource manager's queue)"
    world = World(tmp_path)
    world.has_task()
    assert world.look(a_job(held=True)) == [HoldRequested(1.0, "1", by)]
    world.has_task(held_by=by)
    assert world.look() == []
    assert world.look(a_job()) == [ReleaseRequested(1.0, "1", by)]
    world.has_task(held_by="chief")
    assert world.look() == []
    world.has_task(TaskState.RUNNING)
    assert world.look(a_job(held=True)) == []


def test_a_job_that_runs_for_no_attempt_has_started_and_is_not_held(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.has_task()
    assert world.look(a_job(running=True, held=True)) == [AdoptedJobStarted(1.0, "1")]
    assert world.look(a_job(ended=True)) == [AdoptedJobStarted(1.0, "1")]


def test_only_an_evicted_job_is_taken_back_from_its_attempt(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.has_task()
    world.look(a_job(report=JobReport("u1", JobState.QUEUED)))
    assert world.queue.done == []
    world.look(a_job(report=JobReport("u1", JobState.EVICTED)))
    assert world.queue.done == [("retract", "u1", KEY)]


def test_a_deadline_that_is_changed_in_the_queue_is_changed_here_also_after_a_restart(tmp_path: Path) -> None:
    job = a_job(options={"deadline": "now+1h"})
    world = World(tmp_path)
    world.has_task()
    assert world.look(job) == []  # as it was adopted with it
    later = World(tmp_path)
    later.has_task()
    changed = [EditRequested(1.0, "1", TaskEdit(deadline=1000.0 + 7200.0), "ann")]
    assert later.look(replace(job, options={"deadline": "now+2h"})) == changed
    assert later.look() == []
    (tmp_path / "seen").write_text("[]")
    assert World(tmp_path).look() == []


def test_a_job_that_has_left_the_queue_is_gone_or_ran_alone_or_is_looked_for(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.has_task()
    assert world.look() == [AdoptedJobGone(1.0, "1")]
    world.queue.alone = True
    assert world.look() == [AdoptedJobStarted(1.0, "1")]
    world.has_task(TaskState.CANCELLING)
    assert world.look() == []
    world.has_task(TaskState.DISPATCHING, attempt=AttemptState.SUBMITTING)
    world.look()
    assert world.located == []  # its job may not be there yet
    world.has_task(TaskState.DISPATCHING, attempt=AttemptState.SUBMITTED)
    world.look()
    assert world.located == ["u1"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"begin": "now+1h"}, "takes no begin"),
        ({"hosts": "2"}, "runs on one host"),
        ({"deadline": "now+1h", "priority": "high"}, "priority is 'high': give a whole number"),
    ],
)
def test_what_such_a_job_cannot_have_is_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        adoption_request(a_job(options=options), "condor")


def test_what_such_a_job_asks_for_is_read() -> None:
    asked = {"profile": "60,30", "besteffort": "False", "deadline": "now+1h", "licences": "matlab:2"}
    alone, several = (adoption_request(a_job(options=asked, hosts=hosts), "condor") for hosts in ("", "1-2"))
    assert (alone.profile, alone.hosts, several.profile, several.hosts) == ((60.0,), 1, (60.0, 30.0), "1-2")
    assert (alone.best_effort, alone.deadline, alone.licences) == (False, 4600.0, {"matlab": 2})
    assert adoption_request(a_job(options={"deadline": "now+1h", "besteffort": ""}), "condor").best_effort


@pytest.mark.parametrize(("partition", "partitions"), [("", ()), ("long,short", ("long", "short"))])
def test_a_job_is_planned_in_its_partitions(partition: str, partitions: tuple[str, ...]) -> None:
    native = adoption_request(a_job(options={"deadline": "now+1h"}, partition=partition), "slurm").native
    assert native is not None
    assert native.partitions == partitions
