"""What ended jobs wrote, fetched once; what cannot be had keeps nothing else from coming."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, cast

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import ConnectorError
from cosched_condor.job_owners import JobOwners
from cosched_condor.jobs import OutputFetcher, SchedulerJobs

if TYPE_CHECKING:
    from cosched_condor.htcondor_client import CondorClient
    from cosched_condor.spool import CondorAttemptFolders


class Scheduler:
    """Gives back everything but what it was told not to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.broken = ""

    def call(self, verb: str, wait: float = 0.0, constraint: str = "") -> str | None:
        if verb == "user":
            return "cosched@pool"
        assert (verb, wait > 0) == ("retrieve", True)
        self.asked.append(constraint)
        if self.broken and self.broken in constraint:
            raise ConnectorError("no room on the disk", transient=True)
        return None


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler()


@pytest.fixture
def fetching(scheduler: Scheduler, attempts: CondorAttemptFolders) -> OutputFetcher:
    client = cast("CondorClient", scheduler)
    return OutputFetcher(client, attempts, JobOwners(client, attempts))


def _ended(attempts: CondorAttemptFolders, count: int) -> list[dict[str, Any]]:
    found = []
    for _ in range(count):
        attempt = str(uuid.uuid4())
        attempts.create(attempt)
        found.append({"CoschedAttempt": attempt, "JobStatus": 4})
    return found


def test_what_has_ended_is_fetched_once(
    fetching: OutputFetcher, scheduler: Scheduler, attempts: CondorAttemptFolders
) -> None:
    ads = _ended(attempts, 2)
    fetching.note([*ads, {"CoschedAttempt": ads[0]["CoschedAttempt"], "JobStatus": 2}])
    fetching.fetch_all()
    fetching.fetch_all()
    (constraint,) = scheduler.asked
    assert all(ad["CoschedAttempt"] in constraint for ad in ads)
    assert constraint.endswith('&& member(Owner, {"cosched"}) && JobStatus == 4')


def test_nothing_is_fetched_of_what_runs_was_fetched_or_is_not_ours(
    fetching: OutputFetcher, scheduler: Scheduler, attempts: CondorAttemptFolders
) -> None:
    (ad,) = _ended(attempts, 1)
    fetching.note([{**ad, "JobStatus": 2}, {**ad, "StageOutFinish": 5}])
    fetching.note([{"CoschedAttempt": str(uuid.uuid4()), "JobStatus": 4}, {"JobStatus": 4}])
    fetching.fetch_all()
    fetching.fetch(ad["CoschedAttempt"])
    assert scheduler.asked == []


def test_what_cannot_be_had_keeps_nothing_else_from_coming(
    fetching: OutputFetcher, scheduler: Scheduler, attempts: CondorAttemptFolders
) -> None:
    ads = _ended(attempts, 5)
    scheduler.broken = ads[3]["CoschedAttempt"]
    fetching.note(ads)
    fetching.fetch_all()
    had = [ad for ad in ads if any(ad["CoschedAttempt"] in c and scheduler.broken not in c for c in scheduler.asked)]
    assert had == [ad for ad in ads if ad["CoschedAttempt"] != scheduler.broken]
    scheduler.asked.clear()
    fetching.fetch_all()  # not again at once
    assert scheduler.asked == []
    with pytest.raises(ConnectorError, match="no room"):
        fetching.fetch(scheduler.broken)
    broken, scheduler.broken = scheduler.broken, ""
    fetching.fetch(broken)
    fetching.fetch(broken)
    assert len(scheduler.asked) == 2


def test_of_attempts_that_somebody_has_made_up_nothing_is_read(attempts: CondorAttemptFolders) -> None:
    """Of very many attempts all jobs are asked for that carry the name of one: anybody's, with any number in them."""
    own, made_up = str(uuid.uuid4()), str(uuid.uuid4())
    ads = [
        {"ClusterId": 7, "ProcId": 0, "JobStatus": 1, "Owner": "cosched", "CoschedAttempt": own},
        {"ClusterId": 8, "ProcId": 0, "JobStatus": 1, "Owner": "eve", "CoschedAttempt": made_up, "CoschedCount": 10**9},
    ]

    class Queue:
        def call(self, verb: str, **_arguments: object) -> Any:
            return "cosched@pool" if verb == "user" else ads if verb == "queue" else []

    client = cast("CondorClient", Queue())
    jobs = SchedulerJobs(client, attempts, JobOwners(client, attempts), 10.0)
    asked = [own, *(str(uuid.uuid4()) for _ in range(300))]
    assert list(jobs.look_up(asked)) == [own]
