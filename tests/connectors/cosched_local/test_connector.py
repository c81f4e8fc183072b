"""What the local connector promises beyond the contract of all connectors."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched.connector import ConnectorError, JobState
from cosched.errors import UserError
from cosched_local import LocalConnector
from cosched_local.job import start_runner
from cosched_local.spool import LocalSpool
from tests.connectors.cosched_local.traces import bearing, runner_of
from tests.history import faults, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.connector.contract import Bench

pytestmark = pytest.mark.daemon


KERNEL = Path(__file__).parents[3] / "examples" / "kernels" / "kernel"


# Hosts and what waits for them


def test_cancel_after_an_eviction_makes_it_removed_for_good(bench: Bench, spool: Path) -> None:
    launch, _ = bench.waiter(hosts=bench.up(1))
    bench.submit(launch)
    bench.until(launch, JobState.RUNNING)
    os.kill(runner_of(spool, launch.attempt), signal.SIGKILL)
    bench.listen(launch, JobState.EVICTED)
    bench.connector.cancel(launch.attempt)
    bench.listen(launch, JobState.REMOVED)
    bench.restart()
    assert bench.report(launch).state is JobState.REMOVED


def test_a_stopped_host_ends_all_of_a_job(bench: Bench, spool: Path) -> None:
    hosts = bench.up(2)
    launch, _ = bench.waiter(hosts=hosts)
    bench.submit(launch)
    bench.until(launch, JobState.RUNNING)
    (spool / "offline" / hosts[1]).write_text("new memory\n")
    report = bench.listen(launch, JobState.EVICTED)[-1]
    assert report.reason == f"host {hosts[1]} was lost: new memory"
    assert bearing(launch.attempt) == []
    assert [host.reason for host in bench.connector.hosts() if not host.up] == ["new memory"]


def test_a_launch_waits_for_a_host_that_is_off(bench: Bench, spool: Path) -> None:
    (host,) = bench.up(1)
    (spool / "offline" / host).touch()
    launch, diary = bench.diary(hosts=(host,))
    bench.submit(launch)
    assert "remove" in bench.until(launch, JobState.QUEUED).reason
    (spool / "offline" / host).unlink()
    bench.listen(launch, JobState.COMPLETED)
    assert diary.read_text() == "0\n"


def test_a_command_too_long_for_the_machine_fails(bench: Bench) -> None:
    launch = bench.launch("/bin/true", *["x" * 100_000] * 60, hosts=bench.up(1))
    bench.submit(launch)
    assert "longer than this machine takes" in bench.until(launch, JobState.FAILED).reason


def test_only_so_many_run_beside_the_hosts(bench: Bench) -> None:
    first, gate = bench.waiter()
    second, _ = bench.waiter()
    third, diary = bench.diary()
    for launch in (first, second, third):
        bench.submit(launch)
    bench.until(first, JobState.RUNNING)
    bench.until(second, JobState.RUNNING)
    assert "beside" in bench.until(third, JobState.QUEUED).reason
    gate.touch()
    bench.until(third, JobState.COMPLETED)
    assert diary.read_text() == "0\n"


def test_more_than_ever_fits_beside_the_hosts_is_refused(bench: Bench) -> None:
    with pytest.raises(UserError, match="at most 2 run beside"):
        bench.submit(bench.launch("/bin/true", count=3))


def test_unpinned_work_does_not_hold_up_a_pinned_job(bench: Bench) -> None:
    free, _ = bench.waiter()
    bench.submit(free)
    bench.until(free, JobState.RUNNING)
    pinned, diary = bench.diary(hosts=bench.up(4))
    bench.submit(pinned)
    bench.until(pinned, JobState.COMPLETED)
    assert sorted(diary.read_text().split()) == ["0", "1", "2", "3"]


def test_a_wide_job_that_waits_is_not_overtaken_on_its_hosts(bench: Bench) -> None:
    hosts = bench.up(2)
    first, gate = bench.waiter(hosts=hosts[:1])
    wide, _ = bench.diary(hosts=hosts)
    late, _ = bench.diary(hosts=hosts[1:])
    for launch in (first, wide, late):
        bench.submit(launch)
    bench.until(first, JobState.RUNNING)
    assert bench.report(late).reason == f"waits for host {hosts[1]}, which is busy"
    gate.touch()
    bench.until(late, JobState.COMPLETED)
    done, began = bench.report(wide).finished, bench.report(late).started
    assert done is not None
    assert began is not None
    assert done <= began


# Crashes


def test_a_launch_written_but_not_started_runs_once_after_a_restart(bench: Bench, spool: Path) -> None:
    launch, diary = bench.diary(hosts=bench.up(1))
    bench.restart(lambda: LocalSpool(spool).write_launch(launch))
    found = bench.connector.find(launch.attempt)
    assert found is not None
    bench.until(launch, JobState.COMPLETED)
    assert diary.read_text() == "0\n"


def test_a_runner_that_had_not_claimed_at_the_crash_does_not_make_it_run_twice(bench: Bench, spool: Path) -> None:
    launch, diary = bench.diary(hosts=bench.up(1))

    def crash() -> None:
        LocalSpool(spool).write_launch(launch)
        for _ in range(3):
            start_runner(launch, LocalSpool(spool).folder(launch.attempt), 0.2)

    bench.restart(crash)
    bench.until(launch, JobState.COMPLETED)
    bench.restart()
    assert bench.report(launch).state is JobState.COMPLETED
    assert diary.read_text() == "0\n"


def test_a_cancel_cut_short_is_finished_by_the_next_daemon(bench: Bench, spool: Path) -> None:
    launch, _ = bench.waiter(hosts=bench.up(1))
    bench.submit(launch)
    bench.until(launch, JobState.RUNNING)
    bench.restart(lambda: LocalSpool(spool).write_stop(launch.attempt, JobState.REMOVED, "cancelled"))
    bench.listen(launch, JobState.REMOVED)


def test_an_end_torn_by_a_power_cut_is_an_eviction(bench: Bench, spool: Path) -> None:
    launch, _ = bench.diary(hosts=bench.up(1))
    bench.submit(launch)
    bench.until(launch, JobState.COMPLETED)
    bench.restart(lambda: os.truncate(spool / "attempts" / launch.attempt / "end", 0))
    assert bench.listen(launch, JobState.EVICTED)[-1].exit_code is None


def test_a_claim_of_an_earlier_boot_is_not_taken_for_a_process_of_this_one(bench: Bench, spool: Path) -> None:
    launch, _ = bench.diary(hosts=bench.up(1))
    claim = f"{os.getpid()} 1 00000000-0000-0000-0000-000000000000\n"

    def reboot() -> None:
        LocalSpool(spool).write_launch(launch)
        (spool / "attempts" / launch.attempt / "claim").write_text(claim)

    bench.restart(reboot)
    bench.listen(launch, JobState.EVICTED)


_DAEMON = """
import sys, threading
from cosched_local import LocalConnector
from cosched.connector import Launch
spool, kernel, journal, *attempts = sys.argv[1:]
connector = LocalConnector({"hosts": 4, "spool": spool})
hosts = [host.name for host in connector.hosts()]
for number, attempt in enumerate(attempts):
    if connector.find(attempt) is None:
        connector.submit(Launch(attempt, str(number), "kernel", (kernel, "cpi", "--scale", "0.005",
                                "--journal", journal), hosts=(hosts[number % 4], hosts[(number + 1) % 4]), count=2))
    connector.events(0.01)
while True:
    connector.events(1.0)
"""


def test_daemons_killed_at_random_moments_lose_nothing_and_run_nothing_twice(bench: Bench, spool: Path) -> None:
    journal = bench.workplace / "journal"
    attempts = [bench.launch("x").attempt for _ in range(12)]
    chance = random.Random(7)

    def daemons() -> None:
        for _ in range(5):
            daemon = subprocess.Popen([sys.executable, "-c", _DAEMON, spool, KERNEL, journal, *attempts])
            with pytest.raises(subprocess.TimeoutExpired):
                daemon.wait(chance.uniform(0.15, 0.5))
            daemon.kill()
            daemon.wait()

    bench.restart(daemons)
    hosts = bench.up(4)
    for number, attempt in enumerate(attempts):
        launch = replace(
            bench.launch(str(KERNEL), "cpi", "--scale", "0.005", "--journal", str(journal)),
            attempt=attempt,
            task=str(number),
            hosts=(hosts[number % 4], hosts[(number + 1) % 4]),
            count=2,
        )
        if bench.connector.find(attempt) is None:
            bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
    assert faults(read(journal), map(str, range(12))) == []


# The spool


def test_a_second_daemon_on_the_same_spool_is_refused(bench: Bench, spool: Path) -> None:
    bench.up(1)
    script = "import sys; from cosched_local import LocalConnector; LocalConnector({'spool': sys.argv[1]}).hosts()"
    second = subprocess.run([sys.executable, "-c", script, spool], capture_output=True, text=True, check=False)
    assert "is in use by another cosched" in second.stderr


def test_a_spool_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    connector = LocalConnector({"spool": str(tmp_path / "file" / "spool")})
    with pytest.raises(ConnectorError, match="cannot work in its spool") as caught:
        connector.hosts()
    assert caught.value.transient
    assert str(tmp_path / "file") in str(caught.value)


def test_the_spool_is_for_its_owner_alone(bench: Bench, spool: Path) -> None:
    bench.up(1)
    assert spool.stat().st_mode & 0o077 == 0


def test_attempts_in_a_spool_that_others_made_are_for_their_owner_alone(bench: Bench, spool: Path) -> None:
    """Users' environments and output were for all to read."""
    spool.mkdir(mode=0o755)
    spool.chmod(0o755)
    bench.up(1)
    assert (spool / "attempts").stat().st_mode & 0o077 == 0


def test_an_end_is_told_however_long_no_daemon_was_there(bench: Bench, spool: Path) -> None:
    """Its folder was deleted before anybody had looked: its task, which had completed, ran once more."""
    launch, diary = bench.diary(hosts=bench.up(1))
    bench.submit(launch)
    bench.await_file(spool / "attempts" / launch.attempt / "end")
    bench.restart(lambda: os.utime(spool / "attempts" / launch.attempt, (0, time.time() - 8 * 86400)))
    bench.connector.hosts()
    assert bench.report(launch).state is JobState.COMPLETED
    bench.listen(launch, JobState.COMPLETED)
    assert diary.read_text() == "0\n"


def test_old_attempts_are_deleted_and_others_kept(bench: Bench, spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, _ = bench.diary(hosts=bench.up(1))
    young, _ = bench.diary(hosts=bench.up(1))
    for launch in (old, young):
        bench.submit(launch)
        bench.until(launch, JobState.COMPLETED)
    os.utime(spool / "attempts" / old.attempt, (0, time.time() - 8 * 86400))
    bench.restart()
    assert bench.connector.find(old.attempt) is not None
    monkeypatch.setattr("cosched_local.connector._PRUNE_AGAIN", 0.0)
    bench.connector.hosts()
    assert bench.connector.find(old.attempt) is None
    assert bench.connector.find(young.attempt) is not None


def test_a_daemon_that_runs_for_months_deletes_old_attempts_too(
    bench: Bench, spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were deleted at a start alone: the spool of a daemon that stayed up grew without end."""
    old, _ = bench.diary(hosts=bench.up(1))
    bench.submit(old)
    bench.until(old, JobState.COMPLETED)
    os.utime(spool / "attempts" / old.attempt, (0, time.time() - 8 * 86400))
    bench.connector.hosts()
    assert bench.connector.find(old.attempt) is not None  # it does not look all the time
    monkeypatch.setattr("cosched_local.connector._PRUNE_AGAIN", 0.0)
    bench.connector.hosts()
    assert bench.connector.find(old.attempt) is None


def test_a_submit_from_another_thread_is_followed_while_events_waits(bench: Bench) -> None:
    launch, _ = bench.diary(hosts=bench.up(1))
    submitter = threading.Timer(0.05, bench.connector.submit, (launch,))
    submitter.start()
    assert bench.listen(launch, JobState.COMPLETED)[-1].exit_code == 0
    submitter.join()


@pytest.mark.parametrize("attempt", ["", "..", "../../etc", "a" * 36, "12345678-1234-1234-1234-123456789ABC"])
def test_what_is_not_a_uuid_never_becomes_a_path(bench: Bench, attempt: str) -> None:
    for ask in (bench.connector.cancel, bench.connector.find, lambda attempt: bench.connector.status([attempt])):
        with pytest.raises(UserError, match="not a UUID"):
            ask(attempt)


def test_closing_ends_a_wait_for_events_and_leaves_the_spool_to_the_next(
    bench: Bench, connect: Callable[[], LocalConnector]
) -> None:
    launch, _ = bench.waiter(hosts=bench.up(1))
    bench.submit(launch)
    bench.until(launch, JobState.RUNNING)
    closed = connect()
    closed.hosts()
    closed.events(0.0)
    closer = threading.Timer(0.05, closed.close)
    closer.start()
    closed.events(600.0)
    closer.join()
    closed.close()
    with pytest.raises(ConnectorError, match="was closed"):
        closed.hosts()
    assert bench.report(launch).state is JobState.RUNNING
