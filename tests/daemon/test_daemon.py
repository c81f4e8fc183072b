from __future__ import annotations

import ctypes
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import TaskRequest
from cosched.client import Client
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import HostsObserved, Restored, ScheduleImproved, TaskSubmitted
from cosched.coscheduler.recording.lines import RecordedEvent, read_recording
from cosched.coscheduler.recording.replay import ReplayedEvent, replay
from cosched.daemon.config.loading import load_configuration
from cosched.daemon.main import Daemon, core_settings
from cosched.errors import SystemFault
from cosched_simulated import SimulatedConnector
from demo.site import Site
from tests.connectors.cosched_simulated.makers import a_launch
from tests.history import faults, read, read_pool
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.gates import behind
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.api.documents import TaskView
    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.events import Event

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [
    pytest.mark.daemon,
    pytest.mark.xdist_group("daemon"),  # its tests share one site
    pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


def search_of(daemon: int) -> int | None:
    """Return the process of a daemon's search."""
    return next(iter(children_of(daemon, "cosched.daemon.processes.planner")), None)


def children_of(daemon: int, module: str) -> list[int]:
    """Return the processes that a daemon has started for one of its modules."""
    found = []
    for task in Path(f"/proc/{daemon}/task").iterdir():
        with suppress(OSError):
            for child in (task / "children").read_text().split():
                with suppress(OSError):
                    if module.encode() in Path(f"/proc/{child}/cmdline").read_bytes():
                        found.append(int(child))
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1] not in b"ZX"
    except (FileNotFoundError, ProcessLookupError):  # the latter where it goes between being opened and read
        return False


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with QuickSite("local", scale=0.05, settings={"planning": {"search_start": "2s"}}) as site:
        yield site


def test_tasks_leave_while_the_search_keeps_dying_and_it_comes_back(site: Site) -> None:
    until(lambda: search_of(site.pid) is not None)  # on a busy machine it begins after the first tasks have left
    with site.client() as client:
        ids = [task.id for task in client.submit_all([TaskRequest(application="jacobi", hosts="1-4")] * 24)]
        killed, waiting = set(), True
        while waiting:
            search = search_of(site.pid)
            if search is not None and search not in killed:
                os.kill(search, signal.SIGKILL)
                killed.add(search)
            waiting = bool(client.status().tasks["queued"])
            time.sleep(0.01)
        assert {task.state for task in client.wait(ids, timeout=240)} == {"completed"}
        assert killed
        until(lambda: search_of(site.pid) not in (None, *killed))
        assert not faults(read(site.journal), [task.id for task in client.tasks(limit=1000).tasks])


def test_a_queue_that_waited_over_a_restart_leaves_by_no_plan_of_before_the_searchs_first_answer() -> None:
    """Regression: it left at once, by a heuristic's plan, while the search was still starting."""
    with QuickSite("local", scale=0.02, hosts=2, settings={"planning": {"search_start": "1h"}}) as site:
        with site.client() as client:
            names = [host.name for host in client.hosts()]
            for name in names:
                site.take_host(name)
            until(lambda: client.status().hosts_up == 0)
            request = TaskRequest(command=("/bin/true",), profile=(2.0, 1.5))
            ids = [task.id for task in client.submit_all([request] * 4)]
        site.kill()
        for name in names:
            site.give_host(name)
        site.start()
        with site.client() as client:
            assert {task.state for task in client.wait(ids, timeout=240)} == {"completed"}
        site.stop()
        events = recorded(site)
        answered = next(number for number, each in enumerate(events) if is_settled(each.event))
        left = [number for number, each in enumerate(events) if any("dispatch" in word for word in each.decided)]
        assert left[0] >= answered
        assert any(isinstance(each.event, HostsObserved) for each in events[:answered]), "nothing could leave before"


def recorded(site: Site) -> list[RecordedEvent]:
    """Return what the core of a site's last daemon handled."""
    last = max((site.folder / "state" / "recording").glob("recording-*.jsonl"))
    entries = read_recording(last.read_bytes().splitlines(keepends=True), last.name)
    return [each for each in entries if isinstance(each, RecordedEvent)]


def is_settled(event: Event) -> bool:
    return isinstance(event, ScheduleImproved) and event.settled


def test_a_daemon_that_is_killed_leaves_no_search_behind(site: Site) -> None:
    until(lambda: search_of(site.pid) is not None)
    search = search_of(site.pid)
    assert search is not None
    site.kill()
    until(lambda: not alive(search))
    site.start()


def test_two_daemons_never_work_on_one_state(site: Site) -> None:
    command = [sys.executable, "-m", "cosched.cli.main", "serve", "--config", str(site.config)]
    second = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert second.returncode == 2
    assert "another cosched runs with" in second.stderr
    with site.client() as client:
        assert client.status().faults == ()


def test_a_signal_that_woke_nobody_ends_it_all_the_same(site: Site) -> None:
    # Taken by another thread than the main one, a SIGTERM interrupts no wait: so does one that comes a moment early.
    other = next(int(task.name) for task in Path(f"/proc/{site.pid}/task").iterdir() if int(task.name) != site.pid)
    assert ctypes.CDLL(None).tgkill(site.pid, other, int(signal.SIGTERM)) == 0
    until(lambda: not alive(site.pid))
    site.stop()
    site.start()


def test_jobs_outlive_the_daemon_and_are_taken_up_again(site: Site) -> None:
    with site.client() as client:
        gate = site.folder / "gate"
        task = client.submit(TaskRequest(command=behind(gate), profile=(2.0,)))
        until(lambda: client.task(task.id).state == "running")
        attempt = client.task(task.id).tries[0].uuid
        site.stop()
        site.start()
        gate.touch()
        (done,) = client.wait([task.id], timeout=240)
        assert (done.state, [attempt.uuid for attempt in done.tries]) == ("completed", [attempt])


def test_the_daemon_ends_where_it_cannot_begin_anew_after_a_mistake_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "cosched.toml"
    config.write_text(
        f'[domain]\nstate = "{tmp_path}/state"\n[planning]\npolicy = "fcfs-maximum"\n'
        f'[connector.local]\nspool = "{tmp_path}/spool"\n'
    )
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # this process keeps its own
    daemon, handle = Daemon(load_configuration(config, {})), Coscheduler.handle

    begun = threading.Event()

    def mistake(core: Coscheduler, event: Event) -> Outcome:
        if not begun.is_set() and isinstance(event, Restored):  # before the engine's thread begins
            begun.set()
            return handle(core, event)
        raise IndexError("nobody thought of that")

    monkeypatch.setattr(Coscheduler, "handle", mistake)
    with pytest.raises(SystemFault, match=r"made a mistake \(IndexError\('nobody thought of that'\).*nothing .* lost"):
        daemon.run()
    for thread in threading.enumerate():  # on a busy machine longer than the manager waits for its own
        if thread.name.startswith("manager"):
            thread.join(60)
    left = [thread.name for thread in threading.enumerate()]
    assert not {"engine", "web", "manager-actions", "manager-events", "manager-hosts"}.intersection(left)


def test_a_clock_that_jumped_forward_and_back_is_a_fault_while_it_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "cosched.toml"
    config.write_text(
        f'[domain]\nstate = "{tmp_path}/state"\n[planning]\npolicy = "fcfs-maximum"\n'
        f'[server]\nlisten = "unix:{tmp_path}/cosched.sock"\n[connector.local]\nspool = "{tmp_path}/spool"\n'
    )
    step = 0.0
    fake = SimpleNamespace(time=lambda: time.time() + step, monotonic=time.monotonic)
    monkeypatch.setattr("cosched.daemon.clock.time", fake)
    daemon = Daemon(load_configuration(config, {}))
    daemon.start()
    try:
        with Client(f"unix:{tmp_path}/cosched.sock") as client:
            step = 7200.0
            until(lambda: client.status().time > time.time() + 7000)
            step = 0.0
            (fault,) = client.status().faults
            assert fault.startswith("clock: cosched's time is 2 h ahead of this machine's clock")
            step = 7200.0
            assert not client.status().faults
    finally:
        daemon.stop()


def test_planning_settings_reach_the_core(tmp_path: Path) -> None:
    config = tmp_path / "cosched.toml"
    config.write_text("[planning]\nquantile = 0.8\nmargin = 0.1\nstaging = '2s'\nseed = 7\n[objective]\nidle = 0.5\n")
    found = core_settings(load_configuration(config, {}), "instance")
    assert (found.quantile, found.margin, found.staging, found.seed, found.weights.idle) == (0.8, 0.1, 2.0, 7, 0.5)


def test_the_status_names_a_database_that_cannot_be_written_while_submissions_wait(site: Site) -> None:
    with closing(sqlite3.connect(site.folder / "state" / "cosched.db")) as other, site.client() as client:
        before = client.status()
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as pool:
            submitted = pool.submit(client.submit, TaskRequest(application="jacobi"))
            with site.client() as watcher:
                while not (found := watcher.status()).faults:
                    assert not submitted.done(), "the status waited for the database"
            other.rollback()
            assert submitted.result().id
        assert found.faults[0].startswith("database: ")
        assert found.hosts_up == before.hosts_up
        until(lambda: not client.status().faults)


# `cosched serve` whose core fails on tasks of a name, once it has changed all that they change.
POISONED = """
import sys
from cosched.cli.main import run
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import TaskSubmitted

handle = Coscheduler.handle

def poisoned(core, event):
    outcome = handle(core, event)
    if isinstance(event, TaskSubmitted) and event.task.spec.name == "poison":
        raise ZeroDivisionError("of a kind that nobody thought of")
    return outcome

Coscheduler.handle = poisoned
sys.exit(run(sys.argv[1:]))
"""


class PoisonedSite(Site):
    """A site whose daemon makes mistakes."""

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            command = [sys.executable, "-c", POISONED, "serve", "--config", str(self.config)]
            return subprocess.Popen(command, stderr=log, stdout=log, stdin=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def poisoned() -> Iterator[Site]:
    settings = {"planning": {"converged": "0.5s", "exact": "0s"}}
    with PoisonedSite("local", scale=0.05, settings=settings) as site:
        yield site


def test_a_daemon_goes_on_after_a_mistake_and_keeps_a_recording_that_replays_it(poisoned: Site) -> None:
    site = poisoned
    with site.client() as client:
        daemon = site.pid
        first = client.submit_all([TaskRequest(application="jacobi", hosts="1-4")] * 8)
        for _ in range(2):
            with pytest.raises(SystemFault, match="cosched made a mistake"):
                client.submit_all([TaskRequest(application="jacobi", hosts="1", name="poison")])
        (fault,) = client.status().faults
        assert fault.startswith("mistake: cosched could not handle")
        assert "ZeroDivisionError" in fault
        until(lambda: _accepts(client, first))
        ids = [task.id for task in first]
        assert {task.state for task in client.wait(ids, timeout=240)} == {"completed"}
        assert site.pid == daemon
        assert not faults(read(site.journal), [task.id for task in client.tasks(limit=1000).tasks])
        (kept,) = (site.folder / "state").rglob("mistake-*.jsonl")
        recording = read_recording(kept.read_bytes().splitlines(keepends=True), kept.name)
        replayed = [each for each in replay(recording) if isinstance(each, ReplayedEvent)]
        failed = [each for each in replayed if not each.recorded.digest]
        assert {type(each.recorded.event) for each in failed} == {TaskSubmitted}
        assert all(each.same for each in replayed if each not in failed)


def _accepts(client: Client, tasks: list[TaskView]) -> bool:
    """Submit once more; what a mistake was made with is held back for a moment."""
    try:
        tasks += client.submit_all([TaskRequest(application="jacobi", hosts="1-4")])
    except SystemFault:
        return False
    return True


def test_whoever_waits_for_a_model_is_told_that_the_daemon_ends(poisoned: Site) -> None:
    site = poisoned  # its processes are no forks: the one that evaluates can be stopped
    text = "application endless { var numeric: Nproc; proc exec init { while (1) { } } }"
    request = TaskRequest(command=("/bin/true",), model=text, hosts="1-16")

    def ask() -> None:
        with site.client() as client:
            client.submit(request)

    with ThreadPoolExecutor(5) as pool:
        asked = [pool.submit(ask) for _ in range(5)]

        def sent_away() -> bool:
            # Stopped, the one for the library's models too: an evaluation ends by itself after so many steps, on a
            # quick machine before those who wait are told.
            for process in children_of(site.pid, "cosched.daemon.processes.predictors"):
                os.kill(process, signal.SIGSTOP)
            return any(each.done() for each in asked)

        # One more than may wait: when that is sent away, the others have come, and not only their connections.
        until(sent_away)
        (refused,) = (each for each in asked if each.done())
        assert "models of users are being evaluated" in str(refused.exception(0))
        site.stop()
        assert all("cosched is ending" in str(each.exception(60)) for each in asked if each is not refused)


def test_a_job_that_does_not_begin_is_called_back_and_runs_once_also_over_a_crash() -> None:
    settings = {"dispatch": {"start_grace": "300ms"}}
    with QuickSite("simulated", scale=0.02, hosts=2, settings=settings) as site, site.client() as client:
        other = SimulatedConnector({"spool": str(site.history.parent), "hosts": 2})
        taken = [a_launch(host, predicted=1000.0) for host in ("host01", "host02")]
        try:
            number = other.submit(taken[0])  # of somebody beside cosched, whom this pool does not show
            other.submit(taken[1])
            (task,) = client.submit_all([TaskRequest(command=("/bin/true",), profile=(0.1,), deadline="now+1h")])
            until(lambda: f"job {number} has host01" in client.task(task.id).reason)
            until(lambda: any(fault.startswith("not started: 1 task") for fault in client.status().faults))
            site.kill()
            site.start()
            for launch in taken:
                other.cancel(launch.attempt)
            (done,) = client.wait([task.id], 180.0)
        finally:
            other.close()
        assert (done.state, done.on_time) == ("completed", True)
        assert not faults([line for line in read_pool(site.history) if line.task == task.id], [task.id])
