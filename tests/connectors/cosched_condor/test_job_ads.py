"""Reading the ads of the queue and the history; the ads are as HTCondor 25 gives them."""

from __future__ import annotations

from typing import Any

import pytest

from cosched.connector import JobState
from cosched_condor.job_ads import constraint, reports_of_ads, waits_for_release

_RUNNING = {"JobStatus": 2, "JobCurrentStartDate": 100, "JobCurrentStartExecutingDate": 101, "NumShadowStarts": 1}


def _ad(rank: int = 0, count: int = 1, cluster: int = 7, **values: Any) -> dict[str, Any]:
    return {"ClusterId": cluster, "ProcId": rank, "CoschedAttempt": "a", "CoschedCount": count, **values}


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ({"JobStatus": 1}, JobState.QUEUED),
        ({"JobStatus": 1, "NumJobStarts": 1}, JobState.EVICTED),
        ({"JobStatus": 1, "NumJobStarts": 0, "NumShadowStarts": 1}, JobState.EVICTED),
        ({"JobStatus": 2, "JobCurrentStartDate": 100}, JobState.QUEUED),
        ({"JobStatus": 2, "JobCurrentStartDate": 100, "JobCurrentStartExecutingDate": 90}, JobState.QUEUED),
        (_RUNNING, JobState.RUNNING),
        ({**_RUNNING, "JobStatus": 6}, JobState.RUNNING),
        ({**_RUNNING, "JobStatus": 7}, JobState.RUNNING),
        ({**_RUNNING, "JobDisconnectedDate": 110}, JobState.EVICTED),
        ({**_RUNNING, "JobStatus": 3}, JobState.RUNNING),
        ({"JobStatus": 3}, JobState.QUEUED),
        ({"JobStatus": 5, "HoldReasonCode": 1, "HoldReason": "by hand"}, JobState.HELD),
        ({"JobStatus": 5, "HoldReasonCode": 15}, JobState.QUEUED),
        ({**_RUNNING, "JobStatus": 4, "ExitCode": 0, "CompletionDate": 120}, JobState.COMPLETED),
        ({**_RUNNING, "JobStatus": 4, "ExitCode": 2, "CompletionDate": 120}, JobState.FAILED),
        ({"JobStatus": 42}, JobState.UNKNOWN),
        ({}, JobState.UNKNOWN),
    ],
)
def test_state_of_a_job_in_the_queue(values: dict[str, Any], state: JobState) -> None:
    assert reports_of_ads([_ad(**values)], [])["a"].state is state


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ({"JobStatus": 3, "RemoveReason": "by hand", "EnteredCurrentStatus": 130}, JobState.REMOVED),
        ({**_RUNNING, "JobStatus": 4, "ExitBySignal": False, "ExitCode": 0}, JobState.COMPLETED),
        ({"JobStatus": 2}, JobState.UNKNOWN),
    ],
)
def test_state_of_a_job_in_the_history(values: dict[str, Any], state: JobState) -> None:
    assert reports_of_ads([], [_ad(**values)])["a"].state is state


def test_a_signal_is_128_and_its_number() -> None:
    ad = _ad(JobStatus=4, ExitBySignal=True, ExitSignal=9, CompletionDate=120, JobCurrentStartDate=1)
    assert reports_of_ads([], [ad])["a"].exit_code == 137


def test_queue_and_history_together_make_the_group() -> None:
    done = _ad(1, 2, **{**_RUNNING, "JobStatus": 4, "ExitCode": 0, "CompletionDate": 120})
    report = reports_of_ads([_ad(0, 2, **_RUNNING)], [done])["a"]
    assert (report.state, report.job) == (JobState.RUNNING, "7.0")


def test_what_left_the_queue_counts_more_than_what_was_seen_there() -> None:
    done = _ad(**{**_RUNNING, "JobStatus": 4, "ExitCode": 0, "CompletionDate": 120})
    assert reports_of_ads([_ad(**_RUNNING)], [done])["a"].state is JobState.COMPLETED


def test_of_two_clusters_the_first_is_the_job() -> None:
    late = _ad(cluster=9, JobStatus=1)
    assert reports_of_ads([late, _ad(cluster=8, **_RUNNING)], [])["a"].job == "8.0"


def test_a_submission_that_was_cut_off_waits_for_its_release() -> None:
    assert waits_for_release({"JobStatus": 5, "HoldReasonCode": 15})
    assert not waits_for_release({"JobStatus": 5, "HoldReasonCode": 1})
    assert not waits_for_release({"JobStatus": 1, "HoldReasonCode": 15})


def test_one_expression_selects_many() -> None:
    assert constraint(["a"]) == 'CoschedAttempt == "a"'
    assert constraint(["a", "b"]) == 'member(CoschedAttempt, {"a", "b"})'
