"""The process that looks after one attempt, and what is left when it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched.connector import JobState
from cosched_local import runner
from cosched_local.runner import kill
from tests.connectors.cosched_local.traces import bearing, runner_of
from tests.waiting import PATIENCE, until

if TYPE_CHECKING:
    from cosched.connector.contract import Bench

pytestmark = pytest.mark.daemon


def test_a_killed_runner_is_an_eviction_and_nothing_of_it_survives(bench: Bench, spool: Path) -> None:
    ready = bench.workplace / "ready"
    script = 'setsid sh -c ": > \\"$0\\"; sleep 60" "$0" & sleep 60'
    launch = bench.shell(script, str(ready), hosts=bench.up(1))
    bench.submit(launch)
    bench.await_file(ready)
    bench.until(launch, JobState.RUNNING)
    os.kill(runner_of(spool, launch.attempt), signal.SIGKILL)
    report = bench.listen(launch, JobState.EVICTED)[-1]
    assert "runner was lost" in report.reason
    assert bearing(launch.attempt) == []


def test_a_runner_killed_while_no_daemon_runs_is_found_by_the_next(bench: Bench, spool: Path) -> None:
    launch, _ = bench.waiter(hosts=bench.up(1))
    bench.submit(launch)
    bench.until(launch, JobState.RUNNING)
    bench.restart(lambda: os.kill(runner_of(spool, launch.attempt), signal.SIGKILL))
    assert bench.listen(launch, JobState.EVICTED)[-1].finished is not None
    assert bearing(launch.attempt) == []


def test_a_runner_killed_while_no_daemon_runs_leaves_no_process(bench: Bench, spool: Path) -> None:
    ready = bench.workplace / "ready"
    script = 'setsid sh -c "sleep 60 & : > \\"$0\\"; wait" "$0" & trap "" TERM; sleep 60'
    launch = bench.shell(script, str(ready), hosts=bench.up(2))
    bench.submit(launch)
    bench.await_file(ready)
    bench.until(launch, JobState.RUNNING)

    def meanwhile() -> None:
        os.kill(runner_of(spool, launch.attempt), signal.SIGKILL)
        until(lambda: not bearing(launch.attempt), lambda: bearing(launch.attempt))

    bench.restart(meanwhile)
    assert bench.until(launch, JobState.EVICTED).exit_code is None


def test_what_outlives_a_job_by_leaving_its_group_is_not_the_guards(bench: Bench) -> None:
    ready = bench.workplace / "ready"
    script = 'setsid sh -c ": > \\"$0\\"; exec sleep 60" "$0" & while [ ! -e "$0" ]; do sleep 0.01; done'
    launch = bench.shell(script, str(ready), hosts=bench.up(1))
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    (left,) = bearing(launch.attempt)
    os.kill(left, signal.SIGKILL)


def test_a_job_whose_guard_is_killed_goes_on(bench: Bench, spool: Path) -> None:
    launch, gate = bench.waiter(hosts=bench.up(1))
    bench.submit(launch)
    bench.until(launch, JobState.RUNNING)
    runner = runner_of(spool, launch.attempt)
    (guard,) = (pid for pid in bearing(launch.attempt) if pid != runner and "runner.py" in _command(pid))
    os.kill(guard, signal.SIGKILL)
    gate.touch()
    bench.until(launch, JobState.COMPLETED)


def _command(pid: int) -> str:
    """Return a process's command; empty where it has ended since it was listed."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_cancel_reaches_what_ignores_it_and_what_has_fled(bench: Bench) -> None:
    ready = bench.workplace / "ready"
    script = 'trap "" TERM; setsid sh -c ": > \\"$0\\"; sleep 60" "$0" & while :; do sleep 60; done'
    launch = bench.shell(script, str(ready), hosts=bench.up(1))
    bench.submit(launch)
    bench.await_file(ready)
    bench.connector.cancel(launch.attempt)
    bench.until(launch, JobState.REMOVED)
    assert bearing(launch.attempt) == []


def test_a_job_that_ends_leaves_no_background_process_in_its_group(bench: Bench) -> None:
    launch = bench.shell("sleep 60 &", hosts=bench.up(1))
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    assert bearing(launch.attempt) == []


def test_a_time_limit_removes_the_job_with_a_reason(bench: Bench) -> None:
    launch, _ = bench.waiter(hosts=bench.up(1))
    bench.submit(replace(launch, time_limit=0.1))
    assert "time limit of 0.1 s" in bench.until(launch, JobState.REMOVED).reason


def test_a_runner_that_cannot_begin_is_an_eviction_with_its_last_words(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosched_local.runner.__file__", "/no/such/runner.py")
    launch, _ = bench.diary(hosts=bench.up(1))
    bench.submit(launch)
    report = bench.listen(launch, JobState.EVICTED)[-1]
    assert "ended before it began" in report.reason
    assert "/no/such/runner.py" in report.reason


def test_an_end_that_cannot_be_written_down_is_kept_until_it_can(tmp_path: Path) -> None:
    """A full disk ended the runner in the midst, and the task that had completed was run a second time."""
    obstacle = tmp_path / "end"
    obstacle.mkdir()  # as a full disk: what was written beside it cannot get its name
    with _run(tmp_path, "/bin/sh", "-c", "exit 3") as process:
        until(lambda: (tmp_path / "end.new").exists() and (tmp_path / "end.new").read_text().startswith("failed"))
        assert process.poll() is None
        obstacle.rmdir()
        assert process.wait(PATIENCE) == 0
    assert (tmp_path / "end").read_text().split()[::3] == ["failed", "3"]


def test_an_end_is_written_into_room_that_was_taken_before_the_start(tmp_path: Path) -> None:
    """A program that had ended while the disk was full kept its slot until there was room."""
    with _run(tmp_path, "/bin/sh", "-c", f"stat -c '%i %b %s' {tmp_path}/end.new; exit 3") as process:
        assert process.wait(PATIENCE) == 0
    end = (tmp_path / "end").stat()
    assert (tmp_path / "out.0").read_text().split() == [str(end.st_ino), str(end.st_blocks), str(end.st_size)]
    assert (tmp_path / "end").read_text().split()[::3] == ["failed", "3"]
    assert not (tmp_path / "end.new").exists()


def test_a_start_that_cannot_be_written_down_ends_no_job(tmp_path: Path) -> None:
    (tmp_path / "started").mkdir()
    with _run(tmp_path, "/bin/sh", "-c", f"sleep 0.1; : > {tmp_path}/done") as process:
        assert process.wait(PATIENCE) == 0
    assert (tmp_path / "done").exists()
    assert (tmp_path / "end").read_text().startswith("completed ")


def test_a_job_begins_only_where_there_is_room_to_say_so(tmp_path: Path) -> None:
    (tmp_path / "started.new").mkdir()
    with _run(tmp_path, "/bin/sh", "-c", f": > {tmp_path}/done") as process:
        assert process.wait(PATIENCE) == 0
    assert not (tmp_path / "done").exists()
    assert (tmp_path / "end").read_text().startswith("evicted None ")


def _run(folder: Path, *command: str) -> subprocess.Popen[bytes]:
    """Start the runner of an attempt as the connector does."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", runner.__file__, str(folder), "/", "1", "600", "5", *command],
        env={"COSCHED_ATTEMPT": "a"},
        start_new_session=True,
    )


def test_a_missing_directory_fails_with_its_name(bench: Bench) -> None:
    launch = replace(bench.launch("/bin/true", hosts=bench.up(1)), directory="/no/such/folder")
    bench.submit(launch)
    assert "/no/such/folder" in bench.until(launch, JobState.FAILED).reason


def test_the_daemons_own_environment_stays_with_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSCHED_SECRET", "s3cret")
    seen = bench.workplace / "environment"
    launch = bench.shell('env > "$0"', str(seen), hosts=bench.up(1))
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    assert "PATH=" in seen.read_text()
    assert "s3cret" not in seen.read_text()


def test_a_job_starts_with_no_signal_ignored(bench: Bench) -> None:
    seen = bench.workplace / "status"
    launch = bench.launch(
        "/bin/sh", "-c", 'grep -E "^Sig(Blk|Ign)" /proc/self/status > "$0"', str(seen), hosts=bench.up(1)
    )
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    masks = [int(line.split()[1], 16) for line in seen.read_text().splitlines()]
    assert len(masks) == 2
    assert not any(mask & 0x7FFFFFFF for mask in masks)  # 32 and above belong to the C library


def test_a_process_whose_name_is_no_text_is_killed_like_others(tmp_path: Path) -> None:
    """The guard ended at such a name, whosever process it was, and left the attempt's own."""
    program = os.fsencode(tmp_path) + b"/\xff\xfe"
    shutil.copy(b"/bin/sleep", program)
    with subprocess.Popen([program, b"60"], env={"COSCHED_ATTEMPT": "a"}) as process:
        while not Path(f"/proc/{process.pid}/environ").read_bytes():  # it comes a moment after the program has
            time.sleep(0.01)
        assert not kill(process.pid, -1, b"COSCHED_ATTEMPT=b")
        assert kill(process.pid, -1, b"COSCHED_ATTEMPT=a")
        assert process.wait(60) == -signal.SIGKILL


def test_memory_left_by_processes_that_end_meanwhile_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import os, signal\nblock = b'x' * (100 << 20)\nchildren = [os.fork()]\n"
        "children[0] and children.append(os.fork())\nos.write(1, b'ready\\n')\nsignal.pause()"
    )
    own_part = runner.own_part
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True) as first:
        assert first.stdout is not None
        for _ in range(3):
            assert first.stdout.readline() == b"ready\n"

        def own_part_before_the_end(pid: int, had: int) -> int:
            part = own_part(pid, had)
            if first.poll() is None:  # the first that is looked at ends, and leaves the block to the others
                first.kill()
                first.wait()
            return part

        monkeypatch.setattr(runner, "own_part", own_part_before_the_end)
        try:
            assert 100 << 20 < runner.memory(first.pid, (), 120 << 20) < 120 << 20
        finally:
            os.killpg(first.pid, signal.SIGKILL)
