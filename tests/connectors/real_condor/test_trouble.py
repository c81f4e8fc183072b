"""The HTCondor connector on a real pool: what only HTCondor can do to us."""

from __future__ import annotations

import os
import shutil
import signal
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import ConnectorError, JobState
from cosched_condor import CondorConnector
from tests.connectors.condor_people import People
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cosched.connector import JobReport, Launch
    from cosched.connector.contract import Bench
    from tests.testbed.condor.pool import CondorPool

pytestmark = pytest.mark.pool


def test_a_job_held_by_hand_says_why_and_begins_no_second_time_when_released(pool: CondorPool, bench: Bench) -> None:
    launch, begun = bench.stayer(hosts=("node01",))
    bench.submit(launch)
    bench.await_file(begun)
    bench.listen(launch, JobState.RUNNING)
    job = bench.report(launch).job
    pool.tool("condor_hold", "-reason", "disk full", job)
    assert "disk full" in bench.listen(launch, JobState.HELD)[-1].reason
    assert "disk full" in bench.until(launch, JobState.HELD).reason
    pool.tool("condor_release", job)
    assert "begins only once" in bench.listen(launch, JobState.EVICTED)[-1].reason
    assert bench.until(launch, JobState.EVICTED).reason
    other, diary = bench.diary(hosts=("node01",))
    bench.submit(other)
    bench.until(other, JobState.COMPLETED)
    assert (begun.read_text(), diary.read_text()) == ("0\n", "0\n")


def test_a_job_removed_by_hand_is_removed(pool: CondorPool, bench: Bench) -> None:
    launch, _ = bench.running("node01", "node02")
    pool.tool("condor_rm", _cluster(bench, launch))
    assert "condor_rm" in bench.listen(launch, JobState.REMOVED)[-1].reason
    assert bench.until(launch, JobState.REMOVED).exit_code is None


def test_one_process_removed_by_hand_leaves_the_others(pool: CondorPool, bench: Bench) -> None:
    launch, gate = bench.running("node01", "node02")
    pool.tool("condor_rm", f"{_cluster(bench, launch)}.1")
    time.sleep(0.5)
    assert not bench.report(launch).state.final
    gate.touch()
    assert bench.listen(launch, JobState.REMOVED, JobState.COMPLETED)[-1].state is JobState.REMOVED


def test_a_lost_host_evicts_at_once_and_the_lease_ends_it(pool: CondorPool, bench: Bench) -> None:
    launch, _ = bench.running("node03")
    pool.take_host("node03")
    try:
        assert bench.listen(launch, JobState.EVICTED)[-1].reason
        assert bench.until(launch, JobState.EVICTED).reason
        bench.connector.cancel(launch.attempt)
        bench.listen(launch, JobState.REMOVED)
    finally:
        pool.give_host("node03")


def test_a_crashed_scheduler_comes_back_with_its_jobs(pool: CondorPool, bench: Bench) -> None:
    launch, gate = bench.running("node01", "node02")
    job = bench.report(launch).job
    pool.kill("schedd")
    with pytest.raises(ConnectorError) as refusal:
        _insistently(lambda: bench.connector.find(launch.attempt))
    assert refusal.value.transient
    report = _patient(lambda: bench.report(launch))
    assert (report.state, report.job) == (JobState.RUNNING, job)
    gate.touch()
    assert [report.state for report in bench.listen(launch, JobState.COMPLETED)] == [JobState.COMPLETED]


def test_a_scheduler_that_does_not_answer_freezes_nobody(pool: CondorPool, spool: Path, bench: Bench) -> None:
    """A submit whose answer is lost is an error that may pass; then the attempt is unknown or found, and runs once."""
    impatient = CondorConnector({"config": str(pool.config), "spool": str(spool)})
    launch, diary = bench.diary(hosts=("node01",))
    (scheduler,) = pool.processes_of("schedd")
    assert impatient.find(launch.attempt) is None
    impatient._client._timeout = 3.0  # from now on: its process has started, however long that took
    os.kill(scheduler, signal.SIGSTOP)
    try:
        with pytest.raises(ConnectorError, match="did not answer") as refusal:
            impatient.submit(launch)
        assert refusal.value.transient
        impatient._client._timeout = 30.0
        assert len(impatient.hosts()) == 4
    finally:
        os.kill(scheduler, signal.SIGCONT)
        impatient.close()
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    assert diary.read_text() == "0\n"


def _cluster(bench: Bench, launch: Launch) -> str:
    return bench.report(launch).job.partition(".")[0]


def test_a_submission_cut_off_before_its_release_is_finished_by_whoever_finds_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch, diary = bench.diary(hosts=("node01",))
    connector = bench.connector
    assert isinstance(connector, CondorConnector)

    call = connector._client.call

    def cut_off(verb: str, **arguments: Any) -> Any:
        # A fence that is there for the worker alone: it submits, and the daemon ends before anything is released.
        answer = call(verb, **{**arguments, "fences": dict.fromkeys(arguments["fences"], "/")})
        raise ConnectorError(f"killed here, with {answer}", transient=True)

    with monkeypatch.context() as patch:
        patch.setattr(connector._client, "call", cut_off)
        with pytest.raises(ConnectorError, match="killed here"):
            connector.submit(launch)
    assert not diary.exists()
    bench.restart()
    found = bench.connector.find(launch.attempt)
    assert found is not None
    bench.until(launch, JobState.COMPLETED)
    assert bench.submit(launch) == found.job
    assert diary.read_text() == "0\n"


def test_a_submission_that_was_under_way_at_its_cancel_is_removed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch, diary = bench.diary(hosts=("node01",))
    connector = bench.connector
    assert isinstance(connector, CondorConnector)
    write = connector._attempts.write_script

    def cancelled_meanwhile(launch: Launch, **options: bool) -> Path:
        connector.cancel(launch.attempt)
        return write(launch, **options)

    monkeypatch.setattr(connector._attempts, "write_script", cancelled_meanwhile)
    with pytest.raises(ConnectorError, match="cancelled") as refusal:
        connector.submit(launch)
    assert not refusal.value.transient
    bench.until(launch, JobState.REMOVED)
    assert not diary.exists()


def test_a_time_limit_ends_the_job(bench: Bench) -> None:
    launch, _ = bench.waiter(hosts=("node01",))
    bench.submit(replace(launch, time_limit=1.0))
    assert bench.listen(launch, JobState.REMOVED)[-1].reason


def test_the_history_is_searched_when_the_folder_is_gone(bench: Bench, spool: Path) -> None:
    launch, _ = bench.diary(hosts=("node01",))
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    shutil.rmtree(spool / launch.attempt)
    found = bench.connector.find(launch.attempt)
    assert found is not None
    assert found.state is JobState.COMPLETED


def test_nothing_to_talk_to_is_an_error_that_may_pass(tmp_path: Path) -> None:
    config = tmp_path / "condor_config"
    config.write_text("COLLECTOR_HOST = 127.0.0.1:1\nLOG = /nonexistent\n")
    connector = CondorConnector({"config": str(config), "spool": str(tmp_path), "timeout": 10})
    try:
        with pytest.raises(ConnectorError) as refusal:
            connector.hosts()
        assert refusal.value.transient
    finally:
        connector.close()


def test_a_spool_that_cannot_be_made_is_named(pool: CondorPool, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    connector = CondorConnector({"config": str(pool.config), "spool": str(tmp_path / "file" / "spool")})
    with pytest.raises(ConnectorError, match="spool"):
        connector.cancel(str(uuid.uuid4()))


def _patient(ask: Callable[[], JobReport]) -> JobReport:
    """Ask again while the manager is away."""
    end = time.monotonic() + 60
    while True:
        try:
            return ask()
        except ConnectorError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def _insistently(ask: Callable[[], object]) -> None:
    """Ask again and again: the manager is about to go."""
    for _ in range(100):
        ask()
        time.sleep(0.02)


def test_a_job_of_another_user_with_the_name_of_an_attempt_is_not_taken_for_it(pool: CondorPool, bench: Bench) -> None:
    ann, launch = People(pool), bench.shell("exit 3", hosts=("node01",))
    bench.submit(launch)
    bench.listen(launch, JobState.FAILED)
    forged = ann.submit(f'+CoschedAttempt = "{launch.attempt}"\n+CoschedAdopt = true\nhold = true\nqueue\n')
    bench.restart()
    assert bench.until(launch, JobState.FAILED).exit_code == 3
    bench.connector.cancel(launch.attempt)  # what is ann's is not cosched's to remove
    assert ann.shown(forged, "JobStatus") == "5"
    ann.by_ann("condor_rm", forged)


def test_a_group_of_which_one_process_is_held_has_its_hosts_while_others_run(pool: CondorPool, bench: Bench) -> None:
    launch, gate = bench.running("node01", "node02")
    pool.tool("condor_hold", "-reason", "disk full", f"{_cluster(bench, launch)}.1")
    until(lambda: "rank 1 is held: disk full" in bench.report(launch).reason)
    assert bench.report(launch).state is JobState.RUNNING
    gate.touch()
    seen = bench.listen(launch, JobState.HELD)
    assert JobState.EVICTED not in {report.state for report in seen}
    assert "disk full" in seen[-1].reason
    bench.connector.cancel(launch.attempt)
