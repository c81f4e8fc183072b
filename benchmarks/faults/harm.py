"""The faults that a single domain is given: each does harm and comes back when it is over."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.faults import wishes
from benchmarks.faults.damage import damage
from cosched.errors import SystemFault
from tests.history import Outage
from tests.testbed.trouble import MANNERS, Trouble

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from benchmarks.faults.site_session import Submitter
    from benchmarks.faults.troubled_site import TroubledSite

__all__ = ["GRACE", "KINDS_OF", "Harm"]

GRACE = 4.0  # seconds for which a manager may deny a job before it counts as lost

_KINDS = (
    "daemon killed",
    "daemon killed at its start",
    "search killed",
    "models killed",
    *wishes.KINDS,
    "database locked",
    "database read-only",
    "database damaged",
    "disk full",
    "clock set",
    "manager away",
    "manager slow",
    "manager lying",
    "host taken off",
)
KINDS_OF = {
    "local": _KINDS,
    "simulated": _KINDS,
    "condor": (*_KINDS, "connector killed"),
    "slurm": _KINDS,
}

_LONGEST_LIFE = 1.5  # seconds until a daemon that starts is killed
_LOCKED = (0.1, 7.0)  # seconds; a daemon waits five for another program's lock
_FULL = (0.1, 3.0)
_OFF = (0.1, 4.0)
_STEPS = (2.0, 90.0, 7200.0)  # the clock is set by up to so many seconds, forward or back
_MANNER = (0.5, 2.5)  # seconds; well below the grace
_AFTER_BACKUP = (0.0, 2.0)  # seconds for which jobs go on until the database is damaged
_WAITED = 1.0  # seconds for which a process that is to be killed may not be there yet
_PATIENCE = 60.0


class Harm:
    """Does harm to a site, as a random generator has it.

    Attributes:
        kinds: name → does harm of this kind; False where there was nothing to harm.
        wishes: what users have asked for meanwhile.
        wrong: what was not as it should be.
        outages: of hosts.
    """

    def __init__(self, site: TroubledSite, chance: random.Random, submitter: Submitter, pace: float) -> None:
        """Set up.

        Args:
            site: runs a daemon.
            chance: draws moments and victims.
            submitter: can be paused.
            pace: all times for which harm lasts are multiplied by this.
        """
        self._site = site
        self._chance = chance
        self._submitter = submitter
        self._pace = pace
        self._honest_from = 0.0
        self._trouble = Trouble(seed=chance.randrange(2**32))
        self.wishes = wishes.Wishes(site.client, chance)
        self.wrong: list[str] = []
        self.outages: list[Outage] = []
        self.kinds: dict[str, Callable[[], bool]] = {
            "daemon killed": self._kill_daemon,
            "daemon killed at its start": self._kill_starting_daemon,
            "search killed": lambda: self._kill_helper("cosched.daemon.processes.planner"),
            "models killed": lambda: self._kill_helper("cosched.daemon.processes.predictors"),
            **self.wishes.kinds,
            "database locked": self._lock_database,
            "database read-only": self._write_protect_database,
            "database damaged": self._damage_database,
            "disk full": self._fill_disk,
            "clock set": self._set_clock,
            **{f"manager {manner}": partial(self._spoil_manager, manner) for manner in MANNERS},
            "host taken off": self._take_host,
            "connector killed": lambda: self._kill_helper("cosched_condor.htcondor_worker"),
        }

    def heal(self) -> None:
        """Give the daemon its machine's clock and an honest manager, and hold no task any more."""
        self._trouble = Trouble(seed=self._trouble.seed)
        self._site.trouble.write(self._trouble)
        self.wishes.release_all()

    def _sleep(self, seconds: tuple[float, float]) -> None:
        time.sleep(self._pace * self._chance.uniform(*seconds))

    def _kill_daemon(self) -> bool:
        self._site.kill()
        self._site.start()
        return True

    def _kill_starting_daemon(self) -> bool:
        self._site.kill()
        killer = threading.Timer(self._pace * self._chance.uniform(0.0, _LONGEST_LIFE), self._site.kill)
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

    def _lock_database(self) -> bool:
        with closing(sqlite3.connect(self._database, timeout=10.0, isolation_level=None)) as other:
            with suppress(sqlite3.OperationalError):
                other.execute("BEGIN IMMEDIATE")
            self._sleep(_LOCKED)
            if other.in_transaction:
                other.execute("ROLLBACK")
        return True

    def _write_protect_database(self) -> bool:
        """Let nobody write the database and its folder, root included; False where the file system does not do that."""
        state = self._database.parent
        files = [str(state), str(self._database), *map(str, state.glob(f"{self._database.name}-wal"))]
        protected = subprocess.run(["chattr", "+i", *files], capture_output=True, check=False).returncode == 0
        self._sleep(_FULL if protected else (0.0, 0.0))
        subprocess.run(["chattr", "-i", *files], capture_output=True, check=False)
        return protected

    def _damage_database(self) -> bool:
        """Damage the database of a daemon that was killed: it is not to start, but with a backup."""
        backup = self._site.folder / "backup.db"
        with self._submitter.paused():  # what is submitted after a backup is lost with the database
            self._await_sound()
            self._site.database("backup", str(backup), "--force")
            self._sleep(_AFTER_BACKUP)
            self._site.kill()
            done = damage(self._database, self._chance)
            try:
                self._site.start()
            except SystemFault as fault:
                if "cosched database restore" not in str(fault):
                    self.wrong.append(f"{done}, and the daemon says: {fault}")
                self._site.database("restore", str(backup))
                self._site.start()
            else:  # a newer page in the WAL, or a part that is not used
                self._check_database(done)
        return True

    def _await_sound(self) -> None:
        """Wait until the daemon complains of its clock at most: what was asked for is written down."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            with suppress(SystemFault), self._site.client() as client:
                if all(fault.startswith("clock:") for fault in client.status().faults):
                    return
            time.sleep(0.05)

    def _check_database(self, done: str) -> None:
        try:
            self._site.database("check")
        except SystemFault as fault:
            self.wrong.append(f"{done}, and the daemon started; its check says: {fault}")

    def _fill_disk(self) -> bool:
        """Let no file of the daemon's grow beyond the largest of its database, as on a full disk."""
        files = [self._database, self._database.with_name(f"{self._database.name}-wal")]
        size = max(file.stat().st_size for file in files if file.exists())
        _, hard = resource.prlimit(self._site.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self._site.pid, resource.RLIMIT_FSIZE, (size, hard))
        self._sleep(_FULL)
        resource.prlimit(self._site.pid, resource.RLIMIT_FSIZE, (hard, hard))
        return True

    def _set_clock(self) -> bool:
        """Set the daemon's clock, forward or back; it stays as it is when the daemon is started again."""
        most = self._chance.choice(_STEPS)
        self._trouble = replace(self._trouble, clock=self._chance.uniform(-most, most))
        self._site.trouble.write(self._trouble)
        return True

    def _spoil_manager(self, manner: str) -> bool:
        """Let the manager be away, slow or lying, then let every job be looked for again.

        A daemon that is only just starting has asked it nothing meanwhile: then once more.
        """
        time.sleep(max(self._honest_from - time.monotonic(), 0.0))
        seconds, before = self._pace * self._chance.uniform(*_MANNER), self._site.wrong_answers
        patience = time.monotonic() + _PATIENCE
        while self._site.wrong_answers == before and time.monotonic() < patience:
            self._site.trouble.write(replace(self._trouble, manner=manner, until=time.monotonic() + seconds))
            time.sleep(seconds)
        self._site.trouble.write(self._trouble)
        self._honest_from = time.monotonic() + self._pace * GRACE
        return self._site.wrong_answers > before

    def _take_host(self) -> bool:
        """Take a host off with what runs on it, and give it back."""
        try:
            with self._site.client() as client:
                name = self._chance.choice([host.name for host in client.hosts()])
        except SystemFault:
            return False
        began = time.time()
        self._site.take_host(name)
        self._sleep(_OFF)
        self._site.give_host(name)
        self.outages.append(Outage(name, began, time.time()))
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
