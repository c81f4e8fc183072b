"""A real daemon is killed at random moments beside real jobs and started again: nothing is lost, nothing runs twice."""

from __future__ import annotations

import random
import threading
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import HostView, TaskRequest
from cosched.cli.main import run
from cosched.client import Client
from cosched.errors import SystemFault
from cosched.simulation.kernels import KERNELS
from tests.history import faults, read
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.gates import behind
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo.site import Site

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [
    pytest.mark.daemon,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning"),
]
CONNECTORS = [
    "local",
    pytest.param("condor", marks=[pytest.mark.pool, pytest.mark.xdist_group("condor-sites")]),
    pytest.param("slurm", marks=[pytest.mark.pool]),
]
SCALE = 0.1  # seconds that one published second takes
SETTINGS = {"dispatch": {"grace": "1s", "retry": "200ms"}}
MARK = "COSCHED_TEST_MARK"
TASKS = 24


@contextmanager
def a_site(connector: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Run a site; fail where one of its processes outlives it."""
    mark = str(uuid.uuid4())
    QuickSite.prepare_forks()  # what daemons are forked from outlives the site, so it bears no mark
    monkeypatch.setenv(MARK, mark)
    if connector == "condor":
        pytest.importorskip("htcondor2", reason="the package htcondor is not installed")
    with QuickSite(connector, scale=SCALE, settings=SETTINGS) as site:
        folder = str(site.folder)
        yield site
    until = time.monotonic() + 60
    while (left := _processes(f"{MARK}={mark}", folder)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left


def _processes(mark: str, folder: str) -> list[str]:
    """Return the command lines of the processes that bear the mark or work in the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            marked = mark.encode() in (entry / "environ").read_bytes().split(b"\0")
            if command and "pytest" not in command and (marked or folder in command):
                found.append(f"{entry.name} {command}")
    return found


class Submitter(threading.Thread):
    """Submits tasks one by one to a daemon that keeps dying; each second one under a key, until it is answered.

    Attributes:
        accepted: identifiers of the tasks that the daemon said it had accepted.
        keyed: the identifier that each key was answered with.
    """

    def __init__(self, server: str, seed: int) -> None:
        super().__init__(name="submitter")
        self.accepted: list[str] = []
        self.keyed: dict[str, str] = {}
        self._server = server
        self._random = random.Random(seed)

    def run(self) -> None:
        for number in range(TASKS):
            request = TaskRequest(application=self._random.choice(KERNELS), name=f"task-{number}")
            if number % 2:
                key = f"key-{number}"
                self.keyed[key] = self._insist(request, key)
            else:
                with suppress(SystemFault), Client(self._server) as client:  # it may or may not have been accepted
                    self.accepted.append(client.submit(request).id)
            time.sleep(self._random.uniform(0.0, 0.5))

    def _insist(self, request: TaskRequest, key: str) -> str:
        while True:
            with suppress(SystemFault), Client(self._server) as client:
                return client.submit(request, key).id
            time.sleep(0.05)


def _crash(site: Site, chance: random.Random, times: int) -> None:
    """Kill the daemon again and again; now and then as it starts."""
    for turn in range(times):
        time.sleep(chance.uniform(0.1, 1.5))
        site.kill()
        if turn % 3 == 1:
            killer = threading.Timer(chance.uniform(0.3, 2.0), site.kill)
            killer.start()
            with suppress(SystemFault):  # killed before it served
                site.start()
            killer.join()
            site.kill()  # where the timer was quicker than the start
        site.start()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("connector", CONNECTORS)
def test_kills_at_random_moments_lose_no_task_and_run_none_twice(
    connector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with a_site(connector, monkeypatch) as site:
        submitter = Submitter(site.server, seed)
        submitter.start()
        _crash(site, chance, times=5)
        submitter.join()
        with site.client() as client:
            tasks = {task.id: task for task in client.tasks(limit=1000).tasks}
            done = client.wait(list(tasks), timeout=300)
        assert {task.id: task.state for task in done} == dict.fromkeys(tasks, "completed")
        assert set(submitter.accepted) <= set(tasks)
        assert {key: tasks[task].name for key, task in submitter.keyed.items()} == {
            f"key-{number}": f"task-{number}" for number in range(1, TASKS, 2)
        }
        names = [task.name for task in tasks.values()]
        assert len(names) == len(set(names)), "a submission was taken in twice"
        assert not faults(read(site.journal), tasks)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("connector", CONNECTORS)
def test_a_restored_backup_runs_nothing_twice_and_gives_nobody_the_jobs_of_others(
    connector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers come again; the next task with one passed for completed, and showed another user's output."""
    with a_site(connector, monkeypatch) as site:
        backup = str(site.folder / "backup.db")
        with site.client() as client:
            requests = [TaskRequest(application=KERNELS[number % len(KERNELS)], hosts="8-16") for number in range(4)]
            known = [task.id for task in client.submit_all(requests)]
        assert run(["database", "backup", backup, "--config", str(site.config)]) == 0  # some run, some wait
        lost = _echo(site, "hers")
        with site.client() as client:
            client.wait(known, timeout=240)
        assert run(["database", "restore", backup, "--config", str(site.config)]) == 1  # the daemon runs
        site.kill()
        assert run(["database", "restore", backup, "--config", str(site.config)]) == 0
        site.start()
        assert _echo(site, "his") == lost
        with site.client() as client:
            assert {task.state for task in client.wait(known, timeout=240)} == {"completed"}
        assert not faults(read(site.journal), known)


def test_a_scrambled_wal_is_noticed_and_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite takes it for empty: tasks that had completed vanished, and nobody was told."""
    with a_site("local", monkeypatch) as site:
        kept = _echo(site, "hers")
        site.kill()
        wal = site.folder / "state" / "cosched.db-wal"
        with wal.open("r+b") as file:
            file.write(b"\xff" * 32)
        scrambled = wal.read_bytes()
        with pytest.raises(SystemFault, match=r"(?s)the database .*/cosched.db .*cosched database accept-loss"):
            site.start()
        assert wal.read_bytes() == scrambled
        assert run(["database", "check", "--config", str(site.config)]) == 2
        assert run(["database", "accept-loss", "--config", str(site.config)]) == 0
        (copy,) = wal.parent.glob("cosched.db.replaced-*-wal")
        assert copy.read_bytes() == scrambled
        site.start()
        assert _echo(site, "his") == kept  # its number comes again, its output does not


def _echo(site: Site, word: str) -> str:
    """Run a task that writes a word, check that this is its output, and return its identifier."""
    with site.client() as client:
        task = client.submit(TaskRequest(command=("/bin/echo", word), profile=(1.0,)))
        (ended,) = client.wait([task.id], timeout=240)
        assert ended.state == "completed"
        until(lambda: (found := client.output(task.id)) is not None and found.data == f"{word}\n".encode())
        return task.id


@pytest.mark.parametrize("connector", CONNECTORS)
def test_a_host_taken_off_in_mid_run_loses_no_task_and_is_used_again(
    connector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_site(connector, monkeypatch) as site, site.client() as client:
        requests = [TaskRequest(application=KERNELS[number % len(KERNELS)], hosts="1-8") for number in range(20)]
        # The victim waits for a file: it is still at work when its host goes, however long that takes.
        gate = site.folder / "gate"
        command = behind(gate, site.command("memsort", str(SCALE)))
        long = TaskRequest(command=command, hosts="1-2", profile=(8.0, 4.0))
        ids = [task.id for task in client.submit_all([long, *requests])]
        victim = ids[0]
        host = _host_of(client, victim)
        site.take_host(host)
        until(lambda: not _host(client, host).up)
        assert all(host not in place.hosts for place in client.plan().placements if not place.running)
        until(lambda: client.task(victim).tries[0].state == "cancelled")
        gate.touch()
        (again,) = client.wait([victim], timeout=240)
        assert (again.state, again.tries[0].state, again.tries[-1].state) == ("completed", "cancelled", "completed")
        assert host in again.tries[0].hosts
        assert host not in again.hosts
        site.give_host(host)
        until(lambda: _host(client, host).up)
        wide = client.submit(TaskRequest(application="closure", hosts=16))
        done = client.wait([*ids, wide.id], timeout=240)
        assert {task.state for task in done} == {"completed"}
        assert host in done[-1].hosts
        assert not faults(read(site.journal), [*ids, wide.id])


def _host_of(client: Client, task: str) -> str:
    """Wait until several tasks run, this one among them; return one of its hosts."""

    def found() -> bool:
        planned = [place.task for place in client.plan().placements if place.running]
        running = [name for name in planned if client.task(name).state == "running"]
        return len(running) > 2 and task in running

    until(found)
    return client.task(task).hosts[0]


def _host(client: Client, name: str) -> HostView:
    """Return a host; one that the manager does not show any more is down."""
    shown = {host.name: host for host in client.hosts()}
    return shown.get(name) or HostView(name=name, host_class="", up=False, reason="", task="", free_at=None)
