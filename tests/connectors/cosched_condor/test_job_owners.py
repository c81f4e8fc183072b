"""Whose jobs count, as the scheduler and the spool say."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, Any, cast

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import ConnectorError
from cosched_condor.job_ads import ONE_PROCESS
from cosched_condor.job_owners import JobOwners

if TYPE_CHECKING:
    from cosched_condor.htcondor_client import CondorClient
    from cosched_condor.spool import CondorAttemptFolders


class Scheduler:
    """Says as whom it knows us, or nothing."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.asked = 0

    def call(self, verb: str, **_arguments: object) -> Any:
        self.asked += 1
        if not self.user:
            raise ConnectorError("the library has no ping", transient=True)
        return f"{self.user}@pool" if verb == "user" else [{"Owner": self.user}]


def _owners(user: str, attempts: CondorAttemptFolders) -> JobOwners:
    return JobOwners(cast("CondorClient", Scheduler(user)), attempts)


def _ad(attempts: CondorAttemptFolders, owner: str, job: str = "s#1.0#5", *, script: bool = True) -> dict[str, Any]:
    attempt = str(uuid.uuid4())
    attempts.create(attempt)
    if script:
        attempts.write(attempt, "run.sh", "")
    return {"CoschedAttempt": attempt, "Owner": owner, "GlobalJobId": job}


def test_a_job_of_another_user_does_not_count(attempts: CondorAttemptFolders) -> None:
    owners, own = _owners("cosched", attempts), _ad(attempts, "cosched")
    forged = {**own, "Owner": "eve", "GlobalJobId": "s#2.0#6"}
    assert owners.without_forged([own, forged]) == [own]
    assert owners.selection(own["CoschedAttempt"]) == 'member(Owner, {"cosched"})'


def test_an_adopted_job_counts_by_its_key_alone(attempts: CondorAttemptFolders) -> None:
    owners, adopted = _owners("cosched", attempts), _ad(attempts, "ann", script=False)
    attempts.adopt(adopted["CoschedAttempt"], adopted["GlobalJobId"])
    forged = {**adopted, "Owner": "eve", "GlobalJobId": "s#2.0#6"}
    assert owners.without_forged([adopted, forged]) == [adopted | ONE_PROCESS]
    assert owners.selection(adopted["CoschedAttempt"]) == 'GlobalJobId == "s#1.0#5"'


def test_what_its_user_writes_into_an_adopted_job_makes_no_more_processes_of_it(
    attempts: CondorAttemptFolders,
) -> None:
    """A billion of them took the daemon's memory."""
    owners, adopted = _owners("cosched", attempts), _ad(attempts, "ann", script=False)
    attempts.adopt(adopted["CoschedAttempt"], adopted["GlobalJobId"])
    (seen,) = owners.without_forged([{**adopted, "CoschedCount": 10**9, "CoschedRank": 7}])
    assert (seen["CoschedCount"], seen["CoschedRank"]) == (1, 0)


def test_a_job_that_says_it_was_adopted_is_not_believed(attempts: CondorAttemptFolders) -> None:
    """In a spool of a common group its text came into the expression of what cosched removes: all jobs of the queue."""
    if os.geteuid() != 0:
        pytest.skip("only root can write as another user")
    owners, own = _owners("cosched", attempts), _ad(attempts, "cosched")
    planted = attempts.folder(own["CoschedAttempt"]) / "adopted"
    planted.write_text('x" || true || "')
    os.chown(planted, 65534, -1)
    assert owners.selection(own["CoschedAttempt"]) == 'member(Owner, {"cosched"})'


def test_jobs_from_before_the_scheduler_knew_us_by_another_name_count(attempts: CondorAttemptFolders) -> None:
    before = _ad(attempts, "condor")
    _owners("condor", attempts).own_selection()
    owners = _owners("cosched", attempts)
    assert owners.without_forged([before]) == [before]
    now = _ad(attempts, "cosched")
    assert owners.without_forged([now, {**now, "Owner": "eve"}]) == [now]
    assert owners.own_selection() == 'member(Owner, {"condor", "cosched"})'


def test_the_owner_of_what_was_submitted_is_ours_whatever_the_scheduler_calls_us(
    attempts: CondorAttemptFolders,
) -> None:
    client = Scheduler("cosched")
    owners, own = JobOwners(cast("CondorClient", client), attempts), _ad(attempts, "batch")
    owners.own_selection()
    client.user = "batch"
    owners.submitted(7)
    assert owners.without_forged([own]) == [own]


def test_while_nothing_is_known_every_job_counts_and_nobody_is_asked_again_at_once(
    attempts: CondorAttemptFolders,
) -> None:
    client = Scheduler("")
    owners, ads = JobOwners(cast("CondorClient", client), attempts), [_ad(attempts, "cosched"), _ad(attempts, "eve")]
    assert owners.without_forged(ads) == ads
    assert (owners.own_selection(), client.asked) == ("true", 1)


def test_what_is_no_attempt_does_not_count(attempts: CondorAttemptFolders) -> None:
    assert _owners("cosched", attempts).without_forged([{"CoschedAttempt": "../x", "Owner": "cosched"}]) == []
