"""One attempt as the connector watches it, from what an earlier daemon may have left of it."""

from __future__ import annotations

import os
import signal
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched.connector import JobState, Launch
from cosched_local.job import LocalJob, reap, start_runner
from cosched_local.spool import LocalSpool

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def files(spool: Path) -> LocalSpool:
    files = LocalSpool(spool)
    files.create()
    return files


@pytest.fixture
def launch(files: LocalSpool) -> Iterator[Launch]:
    """An attempt that runs until it is ended."""
    launch = Launch(str(uuid.uuid4()), "17", "jacobi", ("/bin/sleep", "60"), hosts=("a",))
    files.write_launch(launch)
    yield launch
    claim = files.claim(launch.attempt)
    if claim is not None:
        claim.send(signal.SIGTERM)
    reap()


def until(job: LocalJob, state: JobState) -> None:
    give_up = time.monotonic() + 60
    while job.report.state is not state:
        assert time.monotonic() < give_up, f"waited for {state}, but it says {job.report}"
        job.look()
        reap()
        time.sleep(0.01)


def test_a_life(files: LocalSpool, launch: Launch) -> None:
    job = LocalJob(files, launch, 0.2)
    job.set_waiting_reason("waits for host a, which is busy")
    assert (job.report.state, job.report.reason) == (JobState.QUEUED, "waits for host a, which is busy")
    job.start()
    assert not job.waiting
    until(job, JobState.RUNNING)
    job.stop(JobState.REMOVED, "cancelled")
    until(job, JobState.REMOVED)
    assert job.handle is None


def test_it_is_restless_while_something_will_happen_soon(files: LocalSpool, launch: Launch) -> None:
    job = LocalJob(files, launch, 0.2)
    seen = [job.changes_soon]
    job.start()
    seen.append(job.changes_soon)
    until(job, JobState.RUNNING)
    seen.append(job.changes_soon)
    job.stop(JobState.REMOVED, "cancelled")
    seen.append(job.changes_soon)
    until(job, JobState.REMOVED)
    assert seen == [False, True, False, True]


def test_another_object_follows_a_runner_that_it_did_not_start(files: LocalSpool, launch: Launch) -> None:
    first = LocalJob(files, launch, 0.2)
    first.start()
    until(first, JobState.RUNNING)
    first.release()
    second = LocalJob(files, launch, 0.2)
    assert not second.waiting
    until(second, JobState.RUNNING)
    second.stop(JobState.REMOVED, "cancelled")
    until(second, JobState.REMOVED)


def test_an_order_comes_before_the_start(files: LocalSpool, launch: Launch) -> None:
    job = LocalJob(files, launch, 0.2)
    job.stop(JobState.REMOVED, "cancelled")
    assert not job.waiting  # nothing may start it any more
    assert job.look()
    assert (job.report.state, job.report.started) == (JobState.REMOVED, None)


def test_an_order_that_was_written_and_not_carried_out_is(files: LocalSpool, launch: Launch) -> None:
    files.write_stop(launch.attempt, JobState.EVICTED, "host a was lost")
    job = LocalJob(files, launch, 0.2)
    assert job.stopping
    assert job.look()
    assert (job.report.state, job.report.reason) == (JobState.EVICTED, "host a was lost")


def test_a_runner_that_ignores_its_order_is_killed_with_all_it_started(files: LocalSpool, launch: Launch) -> None:
    job = LocalJob(files, launch, -5.0)  # its patience is over when it begins
    job.start()
    until(job, JobState.RUNNING)
    claim = files.claim(launch.attempt)
    assert claim is not None
    claim.send(signal.SIGSTOP)
    job.stop(JobState.REMOVED, "cancelled")
    until(job, JobState.REMOVED)
    assert not claim.alive


def test_a_runner_that_lost_the_claim_to_a_cancel_runs_nothing(files: LocalSpool, launch: Launch) -> None:
    files.write_stop(launch.attempt, JobState.REMOVED, "cancelled")
    assert files.fence(launch.attempt)
    job = LocalJob(files, launch, 0.2)
    job.start()
    until(job, JobState.REMOVED)
    assert not (files.folder(launch.attempt) / "out.0").exists()


def a_launch(*command: str) -> Launch:
    return Launch(str(uuid.uuid4()), "17", "jacobi", command, hosts=("a", "b"), count=2)


def until_gone(pid: int) -> None:
    give_up = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < give_up, "the runner stayed"
        reap()
        time.sleep(0.01)


def test_a_runner_leads_a_session_and_leaves_no_zombie(files: LocalSpool) -> None:
    attempt = a_launch("/bin/sh", "-c", "exit 3")
    files.write_launch(attempt)
    pid = start_runner(attempt, files.folder(attempt.attempt), 1.0)
    assert os.getsid(pid) == pid
    until_gone(pid)
    end = files.end(attempt.attempt)
    assert end is not None
    assert (end.state, end.exit_code) == (JobState.FAILED, 3)


def test_processes_see_their_place_and_little_of_the_daemons_environment(
    files: LocalSpool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSCHED_DATABASE__URL", "postgresql://secret")
    monkeypatch.setenv("TZ", "UTC")
    attempt = a_launch("/usr/bin/env")
    files.write_launch(attempt)
    until_gone(start_runner(attempt, files.folder(attempt.attempt), 1.0))
    for rank in (0, 1):
        text = (files.folder(attempt.attempt) / f"out.{rank}").read_text()
        seen = dict(line.split("=", 1) for line in text.splitlines())
        assert (seen["COSCHED_RANK"], seen["COSCHED_HOSTS"], seen["TZ"]) == (str(rank), "a,b", "UTC")
        assert not any("secret" in value for value in seen.values())


def test_a_command_that_is_too_long_starts_nothing(files: LocalSpool) -> None:
    attempt = a_launch("/bin/true", *["x" * 100_000] * 60)
    files.write_launch(attempt)
    with pytest.raises(OSError, match="Argument list too long"):
        start_runner(attempt, files.folder(attempt.attempt), 1.0)
    assert files.claim(attempt.attempt) is None


def test_a_runner_that_somebody_else_waited_for_is_forgotten(files: LocalSpool) -> None:
    attempt = a_launch("/bin/true")
    files.write_launch(attempt)
    pid = start_runner(attempt, files.folder(attempt.attempt), 1.0)
    os.waitpid(pid, 0)
    reap()
    reap()


def test_a_cancel_that_cannot_be_written_ends_what_runs(files: LocalSpool, launch: Launch) -> None:
    """A program that filled the disk with its output could not be cancelled, for want of room."""
    job = LocalJob(files, launch, 0.2)
    job.start()
    until(job, JobState.RUNNING)
    obstacle = files.folder(launch.attempt) / "stop.new"
    obstacle.mkdir()  # as a full disk: nothing can be written there
    for state in (JobState.EVICTED, JobState.REMOVED):
        assert not job.look()
        with pytest.raises(OSError, match=r"stop\.new"):
            job.stop(state, "cancelled")
    until(job, JobState.REMOVED)
    assert job.report.reason == "its runner was told to end"
