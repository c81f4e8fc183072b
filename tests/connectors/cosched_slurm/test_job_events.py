"""What is told of jobs, and how seldom Slurm is asked for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector import ConnectorError, JobReport, JobState
from cosched_slurm.job_events import JobWatch, merged_report
from cosched_slurm.jobs import JobRecord
from cosched_slurm.spool import FENCED, UNSTAMPED, ProcessStamps, SlurmAttemptFolders

if TYPE_CHECKING:
    from pathlib import Path

_NEVER = 3600.0


class Cluster:
    """Slurm as the watch sees it."""

    def __init__(self, attempts: SlurmAttemptFolders) -> None:
        self.attempts = attempts
        self.jobs: dict[str, JobRecord] = {}
        self.asked = 0
        self.away = False

    def ask(self) -> dict[str, JobRecord]:
        self.asked += 1
        if self.away:
            raise ConnectorError("down", transient=True)
        return dict(self.jobs)

    def report(self, attempt: str, record: JobRecord | None) -> JobReport | None:
        stamps = self.attempts.stamps(attempt)
        return merged_report(attempt, record, stamps, fenced=self.attempts.fenced(attempt), now=1000.0)

    def stamp(self, attempt: str, name: str, text: str) -> None:
        (self.attempts.folder(attempt) / name).write_text(text)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    attempts = SlurmAttemptFolders(tmp_path / "spool")
    attempts.create("a")
    return Cluster(attempts)


def _watch(cluster: Cluster, poll: float = _NEVER) -> JobWatch:
    return JobWatch(cluster.attempts, cluster.ask, cluster.report, poll)


def _record(state: JobState, attempt: str = "a", exit_code: int | None = None) -> JobRecord:
    return JobRecord(attempt, 1, "4711", state, 900.0, 950.0 if state.final else None, exit_code)


def _states(reports: list[JobReport]) -> list[JobState]:
    return [report.state for report in reports]


def test_a_good_run_is_told_by_its_stamps_without_asking(cluster: Cluster) -> None:
    watch = _watch(cluster)
    assert watch.wait(0) == []
    asked = cluster.asked
    watch.follow(replace(_record(JobState.QUEUED), hosts=("n1",)))
    assert _states(watch.wait(0)) == [JobState.QUEUED]
    cluster.stamp("a", "began.0", "901.5 4711 1\n")
    assert _states(watch.wait(0)) == [JobState.RUNNING]
    cluster.stamp("a", "ended.0", "902.5 0\n")
    assert [(report.started, report.finished) for report in watch.wait(0)] == [(901.5, 902.5)]
    assert watch.wait(0.1) == []
    assert cluster.asked == asked


def test_a_begin_is_told_with_the_hosts_that_slurm_chose(cluster: Cluster) -> None:
    """One process stamped for all nodes of its job: only its own was taken, and the others were planned as free."""
    watch = _watch(cluster)
    watch.wait(0)
    watch.follow(_record(JobState.QUEUED))
    assert _states(watch.wait(0)) == [JobState.QUEUED]
    cluster.jobs["a"] = replace(_record(JobState.RUNNING), hosts=("n2", "n3", "n4"))
    cluster.stamp("a", "began.0", "901.5 4711 1 n2\n")
    assert [(report.state, report.hosts) for report in watch.wait(60)] == [(JobState.RUNNING, ("n2", "n3", "n4"))]


def test_nodes_of_a_suspended_job_are_looked_at_until_it_goes_on(cluster: Cluster) -> None:
    """Its nodes were planned as free, and each task that was sent there stood for five minutes."""
    watch = _watch(cluster, poll=0.01)
    held = replace(_record(JobState.HELD), hosts=("n1",), processors={"n1": 8}, reason="suspended")
    cluster.jobs["a"] = held
    cluster.stamp("a", "began.0", "901.5 4711 1\n")
    assert _states(watch.wait(0)) == [JobState.HELD]
    assert (watch.halted(), watch.unexplained({"n1": None})) == ({held.job}, {"n1"})
    cluster.jobs["a"] = replace(held, state=JobState.RUNNING)
    assert _states(watch.wait(60)) == [JobState.RUNNING]
    assert (watch.halted(), watch.unexplained({"n1": 8})) == (set(), set())


def test_a_job_that_is_held_before_its_begin_halts_no_node(cluster: Cluster) -> None:
    watch = _watch(cluster)
    cluster.jobs["a"] = _record(JobState.HELD)
    assert _states(watch.wait(0)) == [JobState.HELD]
    assert watch.halted() == set()


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.HELD, JobState.RUNNING])
def test_a_job_that_slurm_has_queued_anew_is_lost(state: JobState) -> None:
    """It counted as running while it waited, and then failed with exit code 143, as no process runs twice."""
    again = replace(_record(state), restarts=1)
    assert _state(again, _BEGAN) is JobState.EVICTED
    assert _state(again, _BEGAN, fenced=True) is JobState.REMOVED
    assert _state(again, _ENDED_WELL) is JobState.COMPLETED
    failed = _judge(again, _ENDED_BADLY)
    assert failed is not None
    assert (failed.state, failed.exit_code) == (JobState.FAILED, 3)
    if state is not JobState.RUNNING:  # nothing of it has begun: it may
        assert _state(again, _UNSEEN) is state


def test_busy_nodes_are_explained_by_what_our_own_jobs_hold_of_them(cluster: Cluster) -> None:
    watch = _watch(cluster)
    watch.wait(0)
    busy: dict[str, int | None] = {"n1": 8, "n2": 64}
    assert watch.unexplained(busy) == {"n1", "n2"}
    watch.follow(replace(_record(JobState.QUEUED), hosts=("n1",), processors={"n1": 8}))
    assert watch.unexplained(busy) == {"n1", "n2"}  # it has not begun: what runs there is another's
    cluster.stamp("a", "began.0", "901.5 4711 1\n")
    watch.wait(0)
    assert watch.unexplained(busy) == {"n2"}
    assert watch.unexplained({"n1": 9}) == watch.unexplained({"n1": None}) == {"n1"}
    watch.follow(replace(_record(JobState.QUEUED, "whole"), hosts=("n2",)))
    assert watch.unexplained(busy) == set()


def test_a_bad_end_is_asked_for(cluster: Cluster) -> None:
    watch = _watch(cluster)
    watch.wait(0)
    watch.follow(replace(_record(JobState.QUEUED), hosts=("n1",)))
    cluster.stamp("a", "began.0", "901.5 4711 1\n")
    cluster.stamp("a", "ended.0", "902.5 3\n")
    cluster.jobs["a"] = _record(JobState.FAILED, exit_code=3)
    assert _states(watch.wait(0)) == [JobState.RUNNING]
    assert [(report.state, report.exit_code) for report in watch.wait(60)] == [(JobState.FAILED, 3)]


def test_rubbish_for_an_end_keeps_no_other_job_from_being_told_of(cluster: Cluster) -> None:
    """As its owner's own a job can write any stamp; one was enough to hear of no job of the domain any more."""
    cluster.attempts.create("b")
    cluster.jobs = {name: _record(JobState.RUNNING, name) for name in "ab"}
    watch = _watch(cluster, poll=0.0)
    watch.wait(0)
    cluster.stamp("a", "began.0", "901.5 4711 1\n")
    cluster.stamp("a", "ended.0", "5\n")
    cluster.jobs["b"] = _record(JobState.COMPLETED, "b")
    told = {report.attempt: report.state for report in watch.wait(0)}
    assert told == {"b": JobState.COMPLETED}


def test_a_cancel_is_asked_for(cluster: Cluster) -> None:
    watch = _watch(cluster)
    watch.wait(0)
    watch.follow(_record(JobState.RUNNING))
    watch.wait(0)
    cluster.attempts.fence("a")
    cluster.jobs["a"] = _record(JobState.REMOVED)
    assert _states(watch.wait(60)) == [JobState.REMOVED]


def test_a_new_watch_tells_once_of_what_ended_meanwhile(cluster: Cluster) -> None:
    cluster.jobs["a"] = _record(JobState.FAILED, exit_code=1)
    watch = _watch(cluster, poll=0.0)
    assert _states(watch.wait(0)) == [JobState.FAILED]
    assert watch.wait(0.1) == []


def test_attempts_of_another_spool_are_not_told_of(cluster: Cluster) -> None:
    cluster.jobs["b"] = _record(JobState.RUNNING, "b")
    assert _watch(cluster).wait(0) == []


def test_nobody_asks_where_there_is_nothing_to_follow(cluster: Cluster) -> None:
    watch = _watch(cluster, poll=0.0)
    for _ in range(5):
        watch.wait(0)
    assert cluster.asked == 1


def test_what_was_told_is_not_told_again(cluster: Cluster) -> None:
    cluster.jobs["a"] = _record(JobState.RUNNING)
    watch = _watch(cluster, poll=0.0)
    assert _states(watch.wait(0)) == [JobState.RUNNING]
    cluster.jobs["a"] = replace(_record(JobState.RUNNING), reason="other words")
    assert watch.wait(0) == []
    cluster.jobs["a"] = _record(JobState.EVICTED)
    assert _states(watch.wait(0)) == [JobState.EVICTED]


def test_a_slurm_that_is_away_loses_no_news(cluster: Cluster) -> None:
    cluster.away = True
    watch = _watch(cluster)
    with pytest.raises(ConnectorError):
        watch.wait(0)
    cluster.away = False
    cluster.jobs["a"] = _record(JobState.COMPLETED, exit_code=0)
    assert _states(watch.wait(0)) == [JobState.COMPLETED]


def test_ends_are_told_while_slurm_does_not_answer(cluster: Cluster) -> None:
    """The stamps tell them; each was taken for told and forgotten, and hosts stayed occupied until a minute after."""
    watch = _watch(cluster, poll=0.0)
    watch.wait(0)
    watch.follow(replace(_record(JobState.QUEUED), hosts=("n1",)))
    watch.wait(0)
    cluster.away = True
    cluster.stamp("a", "began.0", "901.5 4711 1\n")
    assert _states(watch.wait(0)) == [JobState.RUNNING]
    with pytest.raises(ConnectorError):
        watch.wait(0)
    cluster.stamp("a", "ended.0", "902.5 0\n")
    assert _states(watch.wait(60)) == [JobState.COMPLETED]


def test_what_was_found_before_a_fault_of_the_spool_is_told(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.attempts.create("b")
    watch = _watch(cluster)
    watch.wait(0)
    for name in "ab":
        watch.follow(replace(_record(JobState.QUEUED, name), hosts=("n1",)))
    watch.wait(0)
    for name in "ab":
        cluster.stamp(name, "began.0", "901.5 4711 1\n")
    stamps = cluster.attempts.stamps

    def broken(attempt: str, most: int = 1) -> ProcessStamps:
        if attempt == "b":
            raise ConnectorError("the spool cannot be read", transient=True)
        return stamps(attempt, most)

    with monkeypatch.context() as patch:
        patch.setattr(cluster.attempts, "stamps", broken)
        assert [report.attempt for report in watch.wait(0)] == ["a"]
        with pytest.raises(ConnectorError):
            watch.wait(0)
    assert [report.attempt for report in watch.wait(60)] == ["b"]


def test_a_state_that_nobody_knows_and_a_job_that_is_gone_are_no_news(cluster: Cluster) -> None:
    cluster.jobs["a"] = _record(JobState.RUNNING)
    watch = _watch(cluster, poll=0.0)
    watch.wait(0)
    cluster.jobs["a"] = _record(JobState.UNKNOWN)
    assert watch.wait(0) == []
    cluster.jobs.clear()
    assert watch.wait(0) == []
    cluster.attempts.fence("a")
    watch.wait(0)
    asked = cluster.asked
    watch.wait(0.1)
    assert cluster.asked == asked


_NOW = 1000.0
_UNSEEN = ProcessStamps()
_BEGAN = ProcessStamps(990.25, job="4711")
_ENDED_WELL = ProcessStamps(990.25, 995.5, 0, "4711")
_ENDED_BADLY = ProcessStamps(990.25, 995.5, 3, "4711")


def _job_record(state: JobState, count: int = 1, exit_code: int | None = None) -> JobRecord:
    return JobRecord("a", count, "4711", state, 990.0, 995.0 if state.final else None, exit_code)


def _failed_long_ago(count: int, exit_code: int) -> JobRecord:
    return replace(_job_record(JobState.FAILED, count, exit_code), finished=_NOW - 60.0)


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
    report = _judge(_job_record(state), _ENDED_WELL)
    assert report == JobReport("a", JobState.COMPLETED, "4711", 990.25, 995.5, 0)


@pytest.mark.parametrize(
    ("claimed", "told"), [(("n3", "n4"), ("n1", "n2")), (("n2", "n1"), ("n2", "n1")), (("n2",), ("n1", "n2"))]
)
def test_a_job_has_no_other_hosts_than_slurm_says(claimed: tuple[str, ...], told: tuple[str, ...]) -> None:
    """Its stamps tell in which order it has them, and would keep others' hosts from being used."""
    record = replace(_job_record(JobState.RUNNING, 2), hosts=("n1", "n2"))
    report = _judge(record, replace(_BEGAN, hosts=claimed))
    assert report is not None
    assert report.hosts == told


def test_a_job_has_no_hosts_until_slurm_has_told_them() -> None:
    report = _judge(_job_record(JobState.QUEUED), replace(_BEGAN, hosts=("n3",)))
    assert report is not None
    assert (report.state, report.hosts) == (JobState.RUNNING, ())


def test_an_end_never_precedes_its_start() -> None:
    report = _judge(JobRecord("a", 1, "4711", JobState.REMOVED, 990.0, 990.0), _BEGAN)
    assert report is not None
    assert report.started == report.finished == 990.25


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING])
def test_a_bad_end_waits_for_slurms_word(state: JobState) -> None:
    """It may be the trace of a cancel."""
    assert _state(_job_record(state), _ENDED_BADLY) is JobState.RUNNING
    assert _state(_job_record(JobState.REMOVED), _ENDED_BADLY) is JobState.REMOVED
    report = _judge(_job_record(JobState.FAILED, 2, 5), _ENDED_BADLY)
    assert report is not None
    assert (report.state, report.exit_code) == (JobState.FAILED, 3)


def test_a_job_runs_when_its_processes_have_begun_or_have_had_the_time_to() -> None:
    young = JobRecord("a", 1, "4711", JobState.RUNNING, _NOW - 1)
    assert _state(young, ProcessStamps()) is JobState.QUEUED
    assert _state(young, _BEGAN) is JobState.RUNNING
    assert _state(_job_record(JobState.QUEUED), _BEGAN) is JobState.RUNNING
    assert _state(_job_record(JobState.RUNNING), ProcessStamps()) is JobState.RUNNING


def test_a_lost_host_evicts_until_the_attempt_is_given_up() -> None:
    assert _state(_job_record(JobState.EVICTED), _BEGAN) is JobState.EVICTED
    assert _state(_job_record(JobState.EVICTED), _BEGAN, fenced=True) is JobState.REMOVED


def test_processes_that_vanish_are_a_lost_host() -> None:
    assert _state(_failed_long_ago(2, 1), _BEGAN) is JobState.EVICTED
    assert _state(_job_record(JobState.FAILED, 2, 1), _BEGAN, fenced=True) is JobState.REMOVED
    assert _state(_job_record(JobState.FAILED, 1, 137), _BEGAN) is JobState.FAILED


@pytest.mark.parametrize(("count", "code", "unseen"), [(2, 3, _BEGAN), (2, 3, _UNSEEN), (1, UNSTAMPED, _UNSEEN)])
def test_stamps_that_are_seen_late_are_waited_for(count: int, code: int, unseen: ProcessStamps) -> None:
    """NFS shows others' new files after up to a minute: a program that had failed was run again meanwhile."""
    failed, seen = _job_record(JobState.FAILED, count, code), replace(_ENDED_BADLY, code=code)
    report = _judge(failed, unseen)
    assert report is not None
    assert (report.state, report.finished) == (JobState.RUNNING, None)
    report = _judge(failed, seen)
    assert report is not None
    assert (report.state, report.exit_code) == (JobState.FAILED, code)
    assert _state(replace(failed, finished=_NOW - 59), unseen) is JobState.RUNNING
    assert _state(replace(failed, finished=_NOW - 60), unseen) is JobState.EVICTED


def test_a_job_whose_script_its_node_lost_is_run_again() -> None:
    """slurmd purged the script as a leftover, and Slurm said no more than exit code 2."""
    failed = _job_record(JobState.FAILED, 1, 2)

    def state(stamps: ProcessStamps, *, fenced: bool) -> JobState | None:
        report = merged_report("a", failed, stamps, fenced=fenced, now=_NOW, script_lost=lambda: True)
        return None if report is None else report.state

    assert state(ProcessStamps(), fenced=False) is JobState.EVICTED
    assert state(ProcessStamps(), fenced=True) is JobState.REMOVED
    assert state(_BEGAN, fenced=False) is JobState.FAILED  # it began: what its own output says proves nothing
    assert _state(failed, ProcessStamps()) is JobState.FAILED


def test_a_job_that_could_not_stamp_its_begin_is_run_again() -> None:
    """Its program never ran, as the spool was full, and its task failed with exit code 143 and no word why."""
    unstamped = _failed_long_ago(1, UNSTAMPED)
    report = _judge(unstamped, ProcessStamps())
    assert report is not None
    assert report.state is JobState.EVICTED
    assert "full" in report.reason
    assert _state(unstamped, ProcessStamps(), fenced=True) is JobState.REMOVED
    assert _state(unstamped, replace(_ENDED_BADLY, code=UNSTAMPED)) is JobState.FAILED  # a program's own


def test_what_ended_at_the_fence_was_removed() -> None:
    assert _state(_job_record(JobState.FAILED, 1, FENCED), ProcessStamps(), fenced=True) is JobState.REMOVED
    assert _state(_job_record(JobState.FAILED, 1, 7), _ENDED_BADLY, fenced=True) is JobState.FAILED


def test_the_unknown_stays_unknown() -> None:
    assert _state(_job_record(JobState.UNKNOWN), _BEGAN) is JobState.UNKNOWN


@pytest.mark.parametrize(
    ("reason", "code", "told"),
    [
        ("failed: NonZeroExitCode", 3, ""),
        ("failed", 3, ""),
        ("failed: NonZeroExitCode", None, "failed: NonZeroExitCode"),
        ("node_fail: NodeDown", 3, "node_fail: NodeDown"),
    ],
)
def test_a_reason_that_says_no_more_than_the_code_is_left_out(reason: str, code: int | None, told: str) -> None:
    record = replace(_record(JobState.FAILED, exit_code=code), reason=reason)
    report = merged_report("a", record, ProcessStamps(), fenced=False, now=1000.0)
    assert report is not None
    assert (report.exit_code, report.reason) == (code, told)
