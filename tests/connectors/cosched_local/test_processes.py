"""Processes by more than their number."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched_local.processes import RunnerClaim, has_ended, kill_all
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def claim_of(pid: int) -> RunnerClaim:
    begun = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return RunnerClaim.read(f"{pid} {begun} {BOOT}\n")


@contextmanager
def sleeper(**variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process in a session of its own."""
    with subprocess.Popen(["/bin/sleep", "60"], start_new_session=True, env=variables) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_claim_is_alive_while_its_process_is() -> None:
    with sleeper() as process:
        claim = claim_of(process.pid)
        handle = claim.open()
        assert handle is not None
        os.close(handle)
        claim.send(signal.SIGKILL)
        until(lambda: not claim.alive)  # a zombie: nobody has waited for it yet
        assert process.returncode is None
        process.wait()
        assert not claim.alive
        assert claim.open() is None
        claim.send(signal.SIGKILL)  # nobody is there to be hit


@pytest.mark.parametrize(("begun", "boot"), [(0, 0), (1, 1)])
def test_another_process_of_that_number_is_not_taken_for_it(begun: int, boot: int) -> None:
    with sleeper() as process:
        real = claim_of(process.pid)
        other = RunnerClaim(real.pid, real.begun + 1 - begun, (str(uuid.uuid4()), BOOT)[1 - boot])
        assert not other.alive
        assert other.open() is None
        other.send(signal.SIGKILL)
        assert process.poll() is None
        assert real.alive


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1])
def test_a_number_that_no_process_has_is_nobody(pid: int) -> None:
    claim = RunnerClaim(pid, 0, BOOT)
    assert not claim.alive
    assert claim.open() is None


def test_a_handle_tells_the_end() -> None:
    with sleeper() as process:
        handle = claim_of(process.pid).open()
        assert handle is not None
        try:
            assert not has_ended(handle)
            process.kill()
            until(lambda: has_ended(handle))
        finally:
            os.close(handle)


def test_all_of_a_session_is_killed_and_what_fled_from_it_by_its_mark() -> None:
    attempt = str(uuid.uuid4())
    leader = "import subprocess, sys; subprocess.Popen(['/bin/sleep', '60']); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", leader]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as runner,
        sleeper(COSCHED_ATTEMPT=attempt) as fled,
        sleeper(COSCHED_ATTEMPT=str(uuid.uuid4())) as other,
    ):
        assert runner.stdout is not None
        runner.stdout.readline()
        claim = claim_of(runner.pid)
        runner.kill()
        runner.wait()
        assert not kill_all(attempt, claim)  # some were there
        assert fled.wait(60) == -signal.SIGKILL
        until(lambda: kill_all(attempt, claim))
        assert other.poll() is None


def test_nothing_is_killed_for_a_claim_that_no_process_of_this_boot_held() -> None:
    attempt = str(uuid.uuid4())
    with sleeper(COSCHED_ATTEMPT=attempt) as process:
        assert kill_all(attempt, RunnerClaim(0, 0, "fence"))
        assert kill_all(attempt, RunnerClaim(process.pid, 1, str(uuid.uuid4())))
        assert process.poll() is None
