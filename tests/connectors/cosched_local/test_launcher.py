"""Starting runners: with what they see, and without leaving any behind as a zombie."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path

import pytest

from cosched.connector import JobState, Launch
from cosched_local.job import reap, start_runner
from cosched_local.spool import LocalSpool


def launch(*command: str) -> Launch:
    return Launch(str(uuid.uuid4()), "17", "jacobi", command, hosts=("a", "b"), count=2)


def until_gone(pid: int) -> None:
    give_up = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < give_up, "the runner stayed"
        reap()
        time.sleep(0.01)


@pytest.fixture
def files(spool: Path) -> LocalSpool:
    files = LocalSpool(spool)
    files.create()
    return files


def test_a_runner_leads_a_session_and_leaves_no_zombie(files: LocalSpool) -> None:
    attempt = launch("/bin/sh", "-c", "exit 3")
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
    attempt = launch("/usr/bin/env")
    files.write_launch(attempt)
    until_gone(start_runner(attempt, files.folder(attempt.attempt), 1.0))
    for rank in (0, 1):
        text = (files.folder(attempt.attempt) / f"out.{rank}").read_text()
        seen = dict(line.split("=", 1) for line in text.splitlines())
        assert (seen["COSCHED_RANK"], seen["COSCHED_HOSTS"], seen["TZ"]) == (str(rank), "a,b", "UTC")
        assert not any("secret" in value for value in seen.values())


def test_a_command_that_is_too_long_starts_nothing(files: LocalSpool) -> None:
    attempt = launch("/bin/true", *["x" * 100_000] * 60)
    files.write_launch(attempt)
    with pytest.raises(OSError, match="Argument list too long"):
        start_runner(attempt, files.folder(attempt.attempt), 1.0)
    assert files.claim(attempt.attempt) is None


def test_a_runner_that_somebody_else_waited_for_is_forgotten(files: LocalSpool) -> None:
    attempt = launch("/bin/true")
    files.write_launch(attempt)
    pid = start_runner(attempt, files.folder(attempt.attempt), 1.0)
    os.waitpid(pid, 0)
    reap()
    reap()
