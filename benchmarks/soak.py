"""A day's work in an hour: does anything grow that should not?

    python -m benchmarks.soak [--connector simulated,local] [--tasks 20000] [--outage 60] [--minutes 60] [--json FILE]

Tasks come as fast as they go, while people look at them; old ones, and what their runs taught, are deleted after a
minute instead of months. Twice nothing works for a while: the manager is away, then another program locks the
database. Memory, descriptors, threads, database and logs are read every few seconds; at the end they must be as they
were after the first part, and the history that the tasks themselves keep must have each of them once. A database is as
large as the most tasks it ever held, which differ with the speed of the machine: so its size is divided by them. Exit
code 1 where something grew or is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import closing, suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from cosched.api.documents import TaskRequest
from cosched.errors import CoschedError, SystemFault
from cosched.simulation.kernels import KERNELS, kernel_profile
from demo.site import Site
from tests.history import faults, read, read_pool
from tests.testbed.trouble import Trouble, TroubleFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.client import Client
    from demo.site import Process

_SCALE = 0.004  # seconds that one published second takes
_WAITING = 60  # tasks that wait at most
_AT_ONCE = 30  # tasks in one request
_KEPT = 60.0  # seconds for which ended tasks, and records of runs, are kept
_DAY = 86400.0
_LOOK = 0.25  # seconds between two looks of people
_SAMPLE = 3.0  # seconds between two readings
_SETTLED = 1 / 3  # share of the run after which nothing is to grow any more
_COMPARED = 1 / 6  # share of the run whose readings are compared: those from there on with the last ones
_GROWTH = 1.10  # ratio that is taken for noise, and beside it so much:
_SLACK = {
    "memory": 8 << 20,
    "descriptors": 8,
    "threads": 4,
    "database": 512,  # bytes for each task
    "recording": 1 << 20,
}
_LOG = 200  # bytes of the log for each task: plans that became better, and outages
_SERVE = """
import sys
from pathlib import Path
from tests.testbed.trouble import begin
from cosched.cli.main import run
begin(Path(sys.argv[1]))
sys.exit(run(["serve", "--config", sys.argv[2]]))
"""


class _SoakSite(Site):
    """A site whose manager can be away, with a daemon in processes of its own as in production."""

    @property
    def trouble(self) -> Path:
        return self.folder / "trouble.json"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def _spawn(self) -> Process:
        command = [sys.executable, "-c", _SERVE, str(self.trouble), str(self.config)]
        with self.log.open("ab") as log:
            return subprocess.Popen(command, stderr=log, stdout=log, stdin=subprocess.DEVNULL)


def main() -> None:
    """Run, print what was read first and last, and say what grew."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--connector", default="simulated,local", help="one after the other")
    parser.add_argument("--tasks", type=int, default=20_000, help="in all")
    parser.add_argument(
        "--outage", type=float, default=60.0, help="seconds for which the manager, then the database, fails"
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="no more tasks after this")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    connectors = options.connector.split(",")
    found = {}
    for connector in connectors:
        share = 1 / len(connectors)
        found[connector] = _soak(connector, round(options.tasks * share), options.outage, 60 * options.minutes * share)
        print(json.dumps({connector: found[connector]}, indent=2))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))
    raise SystemExit(1 if any(each["wrong"] for each in found.values()) else 0)


def _soak(connector: str, count: int, outage: float, seconds: float) -> dict[str, object]:
    """Run so many tasks and return figures, with what is wrong."""
    settings: dict[str, dict[str, object]] = {
        "database": {"keep_days": _KEPT / _DAY},
        "prediction": {"keep_runs": f"{_KEPT:g}s"},
        "recorder": {"size": 500_000},
        "dispatch": {"grace": f"{outage + 10}s", "retry": "200ms", "attempts": 1000},
    }
    with _SoakSite(connector, scale=_SCALE, settings=settings) as site:
        run = _Run(site, count, outage, seconds)
        run.go()
        lines = read_pool(site.history) if connector == "simulated" else read(site.journal)
        wrong = [*run.grown(), *faults(lines, run.accepted)]
        return {"tasks": len(run.accepted), "seconds": round(run.elapsed), "readings": run.readings(), "wrong": wrong}


class _Run:
    """Submits, looks and reads."""

    def __init__(self, site: _SoakSite, count: int, outage: float, seconds: float) -> None:
        self.accepted: list[str] = []
        self._site = site
        self._count = count
        self._outage = outage
        self._seconds = seconds
        self._began = time.monotonic()
        self._outages = [self._lock_database, self._send_manager_away]
        self._unanswered: list[TaskRequest] = []
        self._chance = random.Random(1)
        self._most = 1  # tasks that the database held at once
        self._read: dict[str, list[tuple[float, int]]] = defaultdict(list)

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    def go(self) -> None:
        """Do the work of all tasks, and have the outages at a half and at two thirds of it."""
        read_at = 0.0
        while not self._over():
            with suppress(SystemFault), self._site.client() as client:
                self._work(client)
            if self._outages and len(self.accepted) >= self._count * (0.75 - 0.25 * len(self._outages) / 2):
                self._outages.pop()()
            if time.monotonic() >= read_at + _SAMPLE:
                read_at = time.monotonic()
                self._take_readings()
            time.sleep(_LOOK)

    def grown(self) -> list[str]:
        """Return the readings that have grown, a sentence each."""
        readings = self.readings()
        _, log = readings.pop("log")
        wrong = [
            f"{name} grew from {before} to {after}"
            for name, (before, after) in readings.items()
            if after > before * _GROWTH + _SLACK[name.partition(" ")[0]]
        ]
        if log > _LOG * len(self.accepted):
            wrong.append(f"the log has {log} bytes, of {len(self.accepted)} tasks")
        return wrong

    def readings(self) -> dict[str, tuple[int, int]]:
        """Return each reading's median after the first part of the run and in the last part."""
        found = {}
        for name, values in self._read.items():
            ends = values[-1][0]
            early = [value for at, value in values if _SETTLED <= at / ends <= _SETTLED + _COMPARED]
            late = [value for at, value in values if at / ends >= 1 - _COMPARED]
            if early:
                found[name] = round(median(early)), round(median(late))
        return found

    def _over(self) -> bool:
        if len(self.accepted) < self._count and self.elapsed < self._seconds:
            return False
        with suppress(SystemFault), self._site.client() as client:
            return not _live(client)
        return False

    def _work(self, client: Client) -> None:
        """Keep tasks waiting, and look at some."""
        live = _live(client)
        if live < _WAITING and len(self.accepted) < self._count and self.elapsed < self._seconds:
            # Where the answer is lost, the same is asked for again under the same key.
            count = min(_AT_ONCE, self._count - len(self.accepted))
            self._unanswered = self._unanswered or [self._draw() for _ in range(count)]
            self.accepted += [task.id for task in client.submit_all(self._unanswered, f"key-{len(self.accepted)}")]
            self._unanswered = []
        page = client.tasks(limit=20)
        if page.tasks:
            with suppress(CoschedError):  # it may be deleted meanwhile
                task = self._chance.choice(page.tasks).id
                client.task(task)
                client.explain(task)
                client.output(task)

    def _draw(self) -> TaskRequest:
        kernel = self._chance.choice(KERNELS)
        if self._chance.random() < 0.3:
            return TaskRequest(application=kernel, hosts="1-4")
        figures = tuple(kernel_profile(kernel, _SCALE).on(count) for count in range(1, 3))
        return TaskRequest(command=tuple(self._site.command(kernel, str(_SCALE))), profile=figures)

    def _send_manager_away(self) -> None:
        until = time.monotonic() + self._outage
        TroubleFile(self._site.trouble).write(Trouble(manner="away", until=until))

    def _lock_database(self) -> None:
        with closing(sqlite3.connect(self._site.state / "cosched.db", timeout=30.0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            time.sleep(self._outage)
            other.execute("ROLLBACK")

    def _take_readings(self) -> None:
        process = Path(f"/proc/{self._site.pid}")
        database = self._site.state / "cosched.db"
        now = {
            "memory of the daemon": _memory(process),
            "descriptors": len(list((process / "fd").iterdir())),
            "threads": len(list((process / "task").iterdir())),
            "database for each task": self._bytes_each(database),
            "log": _size(self._site.log),
            "recording": sum(_size(file) for file in (self._site.state / "recording").glob("*")),
            **{f"memory of {name}": _memory(pid) for name, pid in _helpers(self._site.pid).items()},
        }
        for name, value in now.items():
            self._read[name].append((self.elapsed, value))

    def _bytes_each(self, database: Path) -> int:
        """Return the size of the database divided by the most tasks that it has held."""
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=30.0)) as reader:
            ((held,),) = reader.execute("SELECT count(*) FROM tasks")
        self._most = max(self._most, held)
        return (_size(database) + _size(database.with_name("cosched.db-wal"))) // self._most


def _live(client: Client) -> int:
    """Return how many tasks have not ended."""
    tasks: Mapping[str, int] = client.status().tasks
    return sum(number for state, number in tasks.items() if state not in ("completed", "failed", "cancelled"))


def _helpers(pid: int) -> dict[str, Path]:
    """Return the daemon's own processes by their modules."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if int(parent) == pid and b"-m" in words:
                found[words[words.index(b"-m") + 1].decode().rpartition(".")[2]] = entry
    return found


def _memory(process: Path) -> int:
    """Return the resident bytes of a process; 0 where it has just ended."""
    with suppress(OSError):
        return int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


if __name__ == "__main__":
    main()
