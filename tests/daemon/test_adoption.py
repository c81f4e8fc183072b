"""Jobs in a manager's queue, without a manager: what is wrong with one is its own affair."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from cosched.connector import JobReport, JobState
from cosched.connector.interface import AdoptableJob
from cosched.coscheduler.events import HoldRequested
from cosched.coscheduler.task import TaskState
from cosched.daemon.adoption import Adopter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cosched.api.documents import TaskRequest


def _job(key: str, partition: str = "") -> AdoptableJob:
    return AdoptableJob(key, key, "ann", 1.0, ("/bin/true",), options={"deadline": "now+2h"}, partition=partition)


class Queue:
    """Jobs that wait; those that are let go are noted."""

    name = "condor"

    def __init__(self, *jobs: AdoptableJob) -> None:
        self.jobs = list(jobs)
        self.abandoned: list[str] = []

    def adoptable_jobs(self) -> list[AdoptableJob]:
        return self.jobs

    def renew(self, until: float) -> None:
        assert until > 0

    def abandon(self, key: str, _reason: str) -> None:
        self.abandoned.append(key)


class Submissions:
    """Makes a mistake with one of the jobs."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.requests: list[TaskRequest] = []

    def adopt(self, _principal: object, request: Callable[[], TaskRequest], key: str) -> Any:
        self.asked.append(key)
        if key == "odd":
            raise KeyError(key)
        self.requests.append(request())
        return SimpleNamespace(id="1", status=SimpleNamespace(state=TaskState.QUEUED))


def test_a_job_that_cosched_makes_a_mistake_with_is_let_go_and_the_others_are_adopted(tmp_path: Path) -> None:
    """Its lease was renewed with all others', so that it never ran, and no job after it was adopted."""
    queue = Queue(*(_job(key) for key in ("odd", "plain")))
    submissions = Submissions()
    core = SimpleNamespace(ask=lambda _question: {}, now=lambda: 1.0)
    adopter = Adopter(
        cast("Any", queue), cast("Any", core), cast("Any", submissions), lambda _attempt: None, 60.0, tmp_path / "seen"
    )
    adopter.look()
    assert (queue.abandoned, submissions.asked) == (["odd"], ["odd", "plain"])
    adopter.look()
    assert submissions.asked == ["odd", "plain", "plain"]


def test_a_job_is_planned_in_its_partition(tmp_path: Path) -> None:
    partitions = {"7#1": "", "8#1": "long,short"}
    jobs = [_job(key, partition) for key, partition in partitions.items()]
    submissions = Submissions()
    core = SimpleNamespace(ask=lambda _question: {}, now=lambda: 1.0)
    Adopter(
        cast("Any", Queue(*jobs)),
        cast("Any", core),
        cast("Any", submissions),
        lambda _attempt: None,
        60.0,
        tmp_path / "seen",
    ).look()
    assert [request.native.partitions for request in submissions.requests if request.native] == [(), ("long", "short")]


def test_a_job_that_is_held_and_marked_for_another_attempt_is_held_here_too(tmp_path: Path) -> None:
    """Marked by its user after it was adopted, its turn came again and again in place of their other jobs'."""
    marked = JobReport("made up", JobState.HELD, "7.0")
    job = AdoptableJob("7#1", "7.0", "ann", 1.0, ("/bin/true",), held=True, report=marked)
    task = SimpleNamespace(id="1", status=SimpleNamespace(state=TaskState.QUEUED, held_by=""))
    said: list[object] = []
    core = SimpleNamespace(
        ask=lambda _question: {job.key: SimpleNamespace(task=task, attempt=None)}, now=lambda: 1.0, apply=said.append
    )
    adopter = Adopter(
        cast("Any", Queue(job)),
        cast("Any", core),
        cast("Any", Submissions()),
        lambda _attempt: None,
        60.0,
        tmp_path / "seen",
    )
    adopter.look()
    (held,) = said
    assert isinstance(held, HoldRequested)
    assert (held.task, "ann" in held.by) == ("1", True)
