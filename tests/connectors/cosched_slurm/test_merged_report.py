"""What is reported where Slurm and the stamps of the processes say different things, or one of them is silent."""

from __future__ import annotations

import pytest

from cosched.connector import JobReport, JobState
from cosched_slurm.job_events import merged_report
from cosched_slurm.jobs import JobRecord
from cosched_slurm.spool import FENCED, ProcessStamps

_NOW = 1000.0
_BEGAN = ProcessStamps(990.25, job="4711")
_ENDED_WELL = ProcessStamps(990.25, 995.5, 0, "4711")
_ENDED_BADLY = ProcessStamps(990.25, 995.5, 3, "4711")


def _record(state: JobState, count: int = 1, exit_code: int | None = None) -> JobRecord:
    return JobRecord("a", count, "4711", state, 990.0, 995.0 if state.final else None, exit_code)


def _judge(record: JobRecord | None, stamps: ProcessStamps, *, fenced: bool = False) -> JobReport | None:
    return merged_report("a", record, stamps, fenced=fenced, now=_NOW)


def _state(record: JobRecord | None, stamps: ProcessStamps, *, fenced: bool = False) -> JobState | None:
    report = _judge(record, stamps, fenced=fenced)
    return None if report is None else report.state


@pytest.mark.parametrize("stamps", [ProcessStamps(), _BEGAN])
def test_absent_from_slurm_without_an_end_is_unknown(stamps: ProcessStamps) -> None:
    assert _judge(None, stamps) is None


def test_stamps_remember_what_slurm_forgot() -> None:
    assert _judge(None, _ENDED_WELL) == JobReport("a", JobState.COMPLETED, "4711", 990.25, 995.5, 0)
    assert _judge(None, _ENDED_BADLY) == JobReport("a", JobState.FAILED, "4711", 990.25, 995.5, 3)


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING, JobState.COMPLETED])
def test_times_are_those_of_the_stamps(state: JobState) -> None:
    report = _judge(_record(state), _ENDED_WELL)
    assert report == JobReport("a", JobState.COMPLETED, "4711", 990.25, 995.5, 0)


def test_an_end_never_precedes_its_start() -> None:
    report = _judge(JobRecord("a", 1, "4711", JobState.REMOVED, 990.0, 990.0), _BEGAN)
    assert report is not None
    assert report.started == report.finished == 990.25


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING])
def test_a_bad_end_waits_for_slurms_word(state: JobState) -> None:
    """It may be the trace of a cancel."""
    assert _state(_record(state), _ENDED_BADLY) is JobState.RUNNING
    assert _state(_record(JobState.REMOVED), _ENDED_BADLY) is JobState.REMOVED
    report = _judge(_record(JobState.FAILED, 2, 5), _ENDED_BADLY)
    assert report is not None
    assert (report.state, report.exit_code) == (JobState.FAILED, 3)


def test_a_job_runs_when_its_processes_have_begun_or_have_had_the_time_to() -> None:
    young = JobRecord("a", 1, "4711", JobState.RUNNING, _NOW - 1)
    assert _state(young, ProcessStamps()) is JobState.QUEUED
    assert _state(young, _BEGAN) is JobState.RUNNING
    assert _state(_record(JobState.QUEUED), _BEGAN) is JobState.RUNNING
    assert _state(_record(JobState.RUNNING), ProcessStamps()) is JobState.RUNNING


def test_a_lost_host_evicts_until_the_attempt_is_given_up() -> None:
    assert _state(_record(JobState.EVICTED), _BEGAN) is JobState.EVICTED
    assert _state(_record(JobState.EVICTED), _BEGAN, fenced=True) is JobState.REMOVED


def test_processes_that_vanish_are_a_lost_host() -> None:
    assert _state(_record(JobState.FAILED, 2, 1), _BEGAN) is JobState.EVICTED
    assert _state(_record(JobState.FAILED, 2, 1), _BEGAN, fenced=True) is JobState.REMOVED
    assert _state(_record(JobState.FAILED, 1, 137), _BEGAN) is JobState.FAILED


def test_what_ended_at_the_fence_was_removed() -> None:
    assert _state(_record(JobState.FAILED, 1, FENCED), ProcessStamps(), fenced=True) is JobState.REMOVED
    assert _state(_record(JobState.FAILED, 1, 7), _ENDED_BADLY, fenced=True) is JobState.FAILED


def test_the_unknown_stays_unknown() -> None:
    assert _state(_record(JobState.UNKNOWN), _BEGAN) is JobState.UNKNOWN
