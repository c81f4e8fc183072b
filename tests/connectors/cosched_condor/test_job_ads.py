"""Reading the ads of the queue and the history; the ads are as HTCondor 25 gives them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector import JobState
from cosched_condor.job_ads import (
    CondorProcess,
    attempt_report,
    constraint,
    is_cut_off,
    reports_of_ads,
    waits_for_release,
    with_exit_codes,
)

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
        ({**_RUNNING, "JobStatus": 3, "ExitBySignal": True, "ExitSignal": 15}, JobState.REMOVED),
        ({**_RUNNING, "JobStatus": 3, "ExitBySignal": False, "ExitCode": 143}, JobState.REMOVED),
        ({"JobStatus": 2}, JobState.UNKNOWN),
    ],
)
def test_state_of_a_job_in_the_history(values: dict[str, Any], state: JobState) -> None:
    assert reports_of_ads([], [_ad(**values)])["a"].state is state


@pytest.mark.parametrize("value", ["x", "", None, float("nan"), float("inf"), -1.0, 10**30, [1], {"a": 1}])
@pytest.mark.parametrize(
    "name",
    ["CoschedCount", "CoschedRank", "CoschedStarts", "NumJobStarts", "NumShadowStarts", "ExitCode", "ExitSignal",
     "EnteredCurrentStatus", "JobCurrentStartDate", "JobCurrentStartExecutingDate", "CompletionDate", "ServerTime"],
)  # fmt: skip
def test_whatever_a_jobs_user_writes_into_its_ad_it_is_read(name: str, value: Any) -> None:
    """With `condor_qedit` users change their own jobs; one value kept all others' from being read."""
    for status in range(8):
        ad = _ad(**{"JobStatus": status, "HoldReasonCode": 16, "ExitBySignal": name == "ExitSignal", name: value})
        for queue, history in (([ad], []), ([], [ad])):
            report = reports_of_ads(queue, history)["a"]
            assert report.started is None or math.isfinite(report.started)
        is_cut_off(ad, 60.0)


def test_a_removal_that_came_after_the_programs_end_removed_nothing() -> None:
    """The scheduler logs "Attempt to change JobStatus of removed job 46.1 to 4" and keeps the rest.

    Taken for removed, the attempt was made again, and the task completed twice.
    """
    ended: dict[str, Any] = {**_RUNNING, "ExitBySignal": False, "ExitCode": 0, "TerminationPending": True}
    completed = {**ended, "JobStatus": 4, "CompletionDate": 102}
    removed = {**ended, "JobStatus": 3, "RemoveReason": "cancelled by cosched", "EnteredCurrentStatus": 103}
    report = reports_of_ads([], [_ad(0, 2, **completed), _ad(1, 2, **removed)])["a"]
    assert (report.state, report.exit_code, report.finished) == (JobState.COMPLETED, 0, 103)
    assert reports_of_ads([_ad(0, 1, **removed)], [])["a"].state is JobState.RUNNING  # not yet done


@pytest.mark.parametrize("values", [{}, {"ExitCode": "x"}, {"ExitBySignal": True}])
def test_a_job_that_has_ended_without_an_exit_code_has_not_completed(values: dict[str, Any]) -> None:
    """Nothing passed for 0, and the tasks that were to come after it began."""
    report = reports_of_ads([], [_ad(**{**_RUNNING, "JobStatus": 4, "CompletionDate": 120, **values})])["a"]
    assert (report.state, report.exit_code, report.finished) == (JobState.FAILED, None, 120.0)
    assert "exit code" in report.reason


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


_RUNS = CondorProcess(JobState.RUNNING, started=5.0)
_WAITS = CondorProcess(JobState.QUEUED)
_DONE = CondorProcess(JobState.COMPLETED, started=5.0, finished=9.0, code=0)
_REMOVED = CondorProcess(JobState.REMOVED, finished=7.0, reason="by hand")
_LOST = CondorProcess(JobState.EVICTED, started=5.0, reason="host lost")
_HELD = CondorProcess(JobState.HELD, reason="no disk")


def _failed(code: int, finished: float = 8.0) -> CondorProcess:
    return CondorProcess(JobState.FAILED, started=5.0, finished=finished, code=code)


@pytest.mark.parametrize(
    ("ranks", "state"),
    [
        ([_WAITS, _RUNS], JobState.QUEUED),
        ([_RUNS, _RUNS], JobState.RUNNING),
        ([_RUNS, _DONE], JobState.RUNNING),
        ([_RUNS, _failed(1)], JobState.RUNNING),
        ([_DONE, _DONE], JobState.COMPLETED),
        ([_DONE, _failed(1)], JobState.FAILED),
        ([_DONE, _REMOVED], JobState.REMOVED),
        ([_RUNS, _REMOVED], JobState.RUNNING),
        ([_RUNS, _LOST], JobState.EVICTED),
        ([_LOST, _HELD], JobState.HELD),
        ([_RUNS, _HELD], JobState.RUNNING),
        ([_DONE, _HELD], JobState.HELD),
        ([_DONE, CondorProcess()], JobState.RUNNING),
        ([CondorProcess(), CondorProcess()], JobState.UNKNOWN),
    ],
)
def test_state_of_a_group(ranks: list[CondorProcess], state: JobState) -> None:
    assert attempt_report("a", "1", 2, dict(enumerate(ranks))).state is state


def test_a_group_of_which_one_process_is_held_has_its_hosts_and_says_so() -> None:
    """Tasks were sent to the hosts of the others, and waited for their ends while other hosts were idle."""
    report = attempt_report("a", "1", 2, {0: _RUNS, 1: _HELD})
    assert report.reason == "rank 1 is held: no disk"


def test_a_group_starts_with_its_last_and_ends_with_its_last() -> None:
    late = CondorProcess(JobState.COMPLETED, started=6.0, finished=7.0, code=0)
    report = attempt_report("a", "1", 2, {0: _DONE, 1: late})
    assert (report.started, report.finished, report.exit_code) == (6.0, 9.0, 0)


def test_the_first_code_in_rank_order_counts() -> None:
    report = attempt_report("a", "1", 3, {0: _DONE, 1: _failed(3), 2: _failed(9)})
    assert (report.exit_code, report.reason) == (3, "rank 1 ended with exit code 3")


@pytest.mark.parametrize(("code", "word"), [(126, "cannot be executed"), (127, "not found"), (137, "signal 9")])
def test_a_code_is_explained(code: int, word: str) -> None:
    assert word in attempt_report("a", "1", 1, {0: _failed(code)}).reason


def test_the_reason_is_that_of_the_state() -> None:
    assert attempt_report("a", "1", 2, {0: _LOST, 1: _HELD}).reason == "no disk"


@given(
    st.lists(st.sampled_from([_RUNS, _WAITS, _DONE, _REMOVED, _LOST, _HELD, _failed(2), CondorProcess()]), min_size=1)
)
def test_final_means_that_nothing_runs(ranks: list[CondorProcess]) -> None:
    report = attempt_report("a", "1", len(ranks), dict(enumerate(ranks)))
    assert report.state.final == all(process.state.final for process in ranks)
    assert (report.finished is not None) == report.state.final
    assert report.exit_code is None or report.state in (JobState.COMPLETED, JobState.FAILED)


@pytest.mark.parametrize(
    ("codes", "state", "code"),
    [
        ([], JobState.COMPLETED, 0),
        ([0, 0], JobState.COMPLETED, 0),
        ([0, 137, 3], JobState.FAILED, 137),
        ([0, None], JobState.FAILED, None),
    ],
)
def test_a_parallel_job_has_completed_when_each_process_says_so(
    codes: list[int | None], state: JobState, code: int | None
) -> None:
    """HTCondor tells of the first process alone."""
    ended = attempt_report("a", "7.0", 1, {0: CondorProcess(JobState.COMPLETED, 1.0, 2.0, 0, host="a,b")})
    assert ended.hosts == ("a", "b")
    report = with_exit_codes(ended, codes)
    assert (report.state, report.exit_code) == (state, code)
    assert bool(report.reason) == (state is JobState.FAILED)
