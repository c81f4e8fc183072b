"""Daemons that start at once: forked from a process that has read all of cosched's modules before.

What runs is `cosched serve` as ever, with the environment of who starts it. Reading the modules is most of a start's
processor time, and tests that start hundreds of daemons need not pay for it each time.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.forkserver import ensure_running
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING

from demo.site import Site

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.context import ForkServerContext
    from pathlib import Path

    from demo.site import Process

__all__ = ["QuickSite"]

_MODULES = [
    "tests.testbed.nursery",
    "cosched.cli.serve",
    "cosched.client",
    "cosched.daemon.main",
    "cosched.store.migrate",
    "cosched_condor",
    "cosched_local",
    "cosched_simulated",
    "cosched_slurm",
    "tests.history",
    "httptools",
    "uvloop",
    "uvicorn",
]


class QuickSite(Site):
    """A site whose daemons are forked."""

    @staticmethod
    def prepare_forks() -> None:
        """Start the process that daemons are forked from; it keeps the environment of this moment for all to see."""
        _context()
        ensure_running()

    def _spawn(self) -> Process:
        return _Forked(self.config, self.log)


class _Forked:
    """A forked daemon, to be handled like `subprocess.Popen`."""

    def __init__(self, config: Path, log: Path) -> None:
        arguments = (str(config), str(log), dict(os.environ))
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


def _serve(config: str, log: str, environment: Mapping[str, str]) -> None:
    """Be `cosched serve`."""
    from cosched.cli.main import run

    os.environ.clear()
    os.environ.update(environment)
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.exit(run(["serve", "--config", config]))
