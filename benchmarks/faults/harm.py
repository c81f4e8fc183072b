"""The faults that a single domain is given: each does harm and comes back when it is over."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.errors import CoschedError, SystemFault

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from demo.site import Site

__all__ = ["Harm"]

_LONGEST_LIFE = 1.5  # seconds until a daemon that starts is killed
_LOCKED = (0.1, 7.0)  # seconds; a daemon waits five for another program's lock
_FULL = (0.1, 3.0)
_OFF = (0.1, 4.0)
_WAITED = 1.0  # seconds for which a process that is to be killed may not be there yet


class Harm:
    """Does harm to a site, as a random generator has it."""

    def __init__(self, site: Site, chance: random.Random, tasks: Callable[[], Sequence[str]]) -> None:
        """Set up.

        Args:
            site: runs a daemon.
            chance: draws moments and victims.
            tasks: returns the identifiers of the tasks accepted so far.
        """
        self._site = site
        self._chance = chance
        self._tasks = tasks
        self._cancelled: set[str] = set()
        self.kinds: dict[str, Callable[[], bool]] = {
            "daemon killed": self._kill_daemon,
            "daemon killed at its start": self._kill_starting_daemon,
            "search killed": lambda: self._kill_helper("cosched.daemon.processes.planner"),
            "models killed": lambda: self._kill_helper("cosched.daemon.processes.predictors"),
            "task cancelled": self._cancel,
            "database locked": self._lock_database,
            "disk full": self._fill_disk,
        }
        if site.connector != "simulated":
            self.kinds["host taken off"] = self._take_host
        if site.connector == "condor":
            self.kinds["connector killed"] = lambda: self._kill_helper("cosched_condor.htcondor_worker")

    @property
    def cancelled(self) -> frozenset[str]:
        """Tasks that a user has asked to cancel; each may have ended before, or even not have heard of it."""
        return frozenset(self._cancelled)

    def _kill_daemon(self) -> bool:
        self._site.kill()
        self._site.start()
        return True

    def _kill_starting_daemon(self) -> bool:
        self._site.kill()
        killer = threading.Timer(self._chance.uniform(0.0, _LONGEST_LIFE), self._site.kill)
        killer.start()
        with suppress(SystemFault):  # killed before it served
            self._site.start()
        killer.join()
        self._site.kill()  # where the timer was quicker than the start
        self._site.start()
        return True

    def _kill_helper(self, module: str) -> bool:
        """Kill one of the daemon's own processes; return whether there was one."""
        until = time.monotonic() + _WAITED
        while time.monotonic() < until:
            for pid in _children(self._site.pid):
                with suppress(OSError):
                    if module.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                        os.kill(pid, signal.SIGKILL)
                        return True
            time.sleep(0.02)
        return False

    def _cancel(self) -> bool:
        """Have a user cancel one of the last tasks, in whatever state it is; now and then while the daemon dies."""
        tasks = [task for task in self._tasks()[-12:] if task not in self._cancelled]
        if not tasks:
            return False
        task = self._chance.choice(tasks)
        self._cancelled.add(task)
        with suppress(CoschedError), self._site.client() as client:
            client.cancel(task)
        return True

    def _lock_database(self) -> bool:
        with closing(sqlite3.connect(self._database, timeout=10.0, isolation_level=None)) as other:
            with suppress(sqlite3.OperationalError):
                other.execute("BEGIN IMMEDIATE")
            time.sleep(self._chance.uniform(*_LOCKED))
            if other.in_transaction:
                other.execute("ROLLBACK")
        return True

    def _fill_disk(self) -> bool:
        """Let no file of the daemon's grow beyond the largest of its database, as on a full disk."""
        files = [self._database, self._database.with_name(f"{self._database.name}-wal")]
        size = max(file.stat().st_size for file in files if file.exists())
        _, hard = resource.prlimit(self._site.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self._site.pid, resource.RLIMIT_FSIZE, (size, hard))
        time.sleep(self._chance.uniform(*_FULL))
        resource.prlimit(self._site.pid, resource.RLIMIT_FSIZE, (hard, hard))
        return True

    def _take_host(self) -> bool:
        """Take a host off with what runs on it, and give it back."""
        try:
            with self._site.client() as client:
                name = self._chance.choice([host.name for host in client.hosts()])
        except SystemFault:
            return False
        self._site.take_host(name)
        time.sleep(self._chance.uniform(*_OFF))
        self._site.give_host(name)
        return True

    @property
    def _database(self) -> Path:
        return self._site.folder / "state" / "cosched.db"


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            words = entry.read_text().rpartition(")")[2].split()
            if int(words[1]) == pid:
                found.append(int(entry.parent.name))
    return found
