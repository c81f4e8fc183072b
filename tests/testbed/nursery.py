"""Daemons that start at once: forked from a process that has read all of cosched's modules before.

What runs is `cosched serve` as ever, with the environment of who starts it; its planner and its predictors are forked
likewise. Reading the modules is most of a start's processor time, and tests that start hundreds of daemons need not
pay for it each time.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
from multiprocessing.forkserver import ensure_running
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Any

from demo.site import Site
from tests.store.new_database import new_database
from tests.testbed.quick_command import quick_popen, quick_python

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from multiprocessing.context import ForkServerContext
    from pathlib import Path

    from demo.site import Process

__all__ = ["QuickSite", "forked_command", "forked_daemon"]

_MODULES = [
    "tests.testbed.nursery",
    "cosched.cli.database",
    "cosched.cli.serve",
    "cosched.client",
    "cosched.daemon.config.loading",
    "cosched.daemon.main",
    "cosched.store.migrate",
    "cosched_condor",
    "cosched_local",
    "cosched_simulated",
    "cosched_slurm",
    "tests.history",
    "tests.testbed.trouble",
    "httptools",
    "uvloop",
    "uvicorn",
]


# What these daemons are tested for is not how good their plans are: they search no longer than that for a better one.
_PLANNING = {"converged": "0.5s"}


class QuickSite(Site):
    """A site whose daemons are forked."""

    def _write(self, connector: Mapping[str, Any]) -> None:
        self._settings = {**self._settings, "planning": {**_PLANNING, **self._settings.get("planning", {})}}
        super()._write(connector)
        state = self.folder / "state"
        if not state.exists():
            state.mkdir(mode=0o700)
            new_database(state)

    @staticmethod
    def prepare_forks() -> None:
        """Start the processes that daemons are forked from; they keep the environment of this moment for all to see."""
        _context()
        ensure_running()
        quick_python()

    def _spawn(self) -> Process:
        return forked_daemon(self.config, self.log, os.environ)


def forked_daemon(config: Path, log: Path, environment: Mapping[str, str], trouble: Path | None = None) -> Process:
    """Start `cosched serve` with a configuration file; what it says is added to the log.

    With a file of trouble it lives with what that has (`tests.testbed.trouble`).
    """
    return _Forked(config, log, environment, trouble)


def forked_command(words: Sequence[str], log: Path) -> int:
    """Do what `cosched` does with such words, adding what it says to a file; return its exit code."""
    process = _context().Process(target=_command, args=(list(words), str(log)), name="command")
    process.start()
    process.join()
    return process.exitcode or 0


class _Forked:
    """A forked daemon, to be handled like `subprocess.Popen`."""

    def __init__(self, config: Path, log: Path, environment: Mapping[str, str], trouble: Path | None) -> None:
        arguments = (str(config), str(log), str(quick_python()), dict(environment), trouble)
        self._process = _context().Process(target=_serve, args=arguments, name="daemon")
        self._process.start()
        self.pid = self._process.pid or 0

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise TimeoutExpired("cosched serve", timeout or 0.0)
        return code

    def terminate(self) -> None:
        self._process.terminate()

    def send_signal(self, sig: int) -> None:
        if self._process.exitcode is None:
            os.kill(self.pid, sig)


def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_MODULES)
    return context


def _serve(config: str, log: str, python: str, environment: Mapping[str, str], trouble: Path | None) -> None:
    """Be `cosched serve`."""
    from cosched.cli.main import run
    from tests.testbed import trouble as troubles

    if trouble is not None:
        troubles.begin(trouble)
    gc.freeze()  # what was read before the fork lives to the end: to look through it would copy it
    subprocess.Popen = quick_popen(python)  # type: ignore[misc,assignment]  # the daemon's helpers are forked too
    os.environ.clear()
    os.environ.update(environment)
    _say_into(log)
    sys.exit(run(["serve", "--config", config]))


def _command(words: list[str], log: str) -> None:
    from cosched.cli.main import run

    _say_into(log)
    sys.exit(run(words))


def _say_into(log: str) -> None:
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
