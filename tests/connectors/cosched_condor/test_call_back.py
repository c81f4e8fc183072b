"""A group of processes is called back whole or not at all, whatever a crash left of an earlier call."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, cast

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched_condor.job_owners import JobOwners
from cosched_condor.jobs import SchedulerJobs

if TYPE_CHECKING:
    from cosched_condor.htcondor_client import CondorClient
    from cosched_condor.spool import CondorAttemptFolders

IDLE, RUNNING, REMOVED, COMPLETED = 1, 2, 3, 4


class Scheduler:
    """Removes what is idle, as the expression asks; answers are those of a scheduler."""

    def __init__(self, queue: list[dict[str, Any]], history: list[dict[str, Any]]) -> None:
        self.ads, self.past = queue, history

    def call(self, verb: str, constraint: str = "", **_: Any) -> Any:
        match verb:
            case "user":
                return "cosched@pool"
            case "act":
                assert "JobStatus == 1 || JobStatus == 5" in constraint
                idle = [ad for ad in self.ads if ad["JobStatus"] == IDLE]
                self.ads = [ad for ad in self.ads if ad not in idle]
                return {"TotalSuccess": len(idle)}
            case "queue":
                return self.ads
            case _:
                assert verb == "history"
                return self.past


@pytest.mark.parametrize(
    ("queue", "history", "goes"),
    [
        ([RUNNING, RUNNING], [], False),
        ([RUNNING, COMPLETED], [], False),
        ([RUNNING], [COMPLETED], False),
        ([RUNNING, IDLE], [], True),
        ([RUNNING], [REMOVED], True),  # the daemon was killed between the removal and the fence
        ([RUNNING, REMOVED], [], True),
        ([IDLE, IDLE], [], True),
        ([], [COMPLETED, COMPLETED], True),  # to cancel what has ended changes nothing
    ],
)
def test_a_group_goes_on_where_all_of_it_has_begun(
    attempts: CondorAttemptFolders, queue: list[int], history: list[int], goes: bool
) -> None:
    attempt = str(uuid.uuid4())
    attempts.create(attempt)
    statuses = [*queue, *history]
    ads = [
        {
            "CoschedAttempt": attempt,
            "JobStatus": status,
            "ProcId": rank,
            "CoschedRank": rank,
            "CoschedCount": 2,
            "Owner": "cosched",
            "ClusterId": 7,
        }
        for rank, status in enumerate(statuses)
    ]
    scheduler = cast("CondorClient", Scheduler(ads[: len(queue)], ads[len(queue) :]))
    jobs = SchedulerJobs(scheduler, attempts, JobOwners(scheduler, attempts), 5.0)
    assert jobs.call_back(attempt) is goes
