"""A user of a real pool that has etc/condor/50-cosched-adopt.conf, who is no administrator of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.testbed.condor.install import prefix
from tests.waiting import until

if TYPE_CHECKING:
    from tests.testbed.condor.pool import CondorPool

__all__ = ["DEADLINE", "People", "adopting"]

DEADLINE = "cosched_deadline = now+10m\n"
_SHIPPED = Path(__file__).parents[2] / "etc" / "condor" / "50-cosched-adopt.conf"


def adopting(lease: int) -> str:
    """Return a pool's settings with the gate, and a lease in seconds."""
    return _SHIPPED.read_text() + (
        f"COSCHED_ADOPT_LEASE = {lease}\nQUEUE_SUPER_USERS = condor, cosched\nALLOW_ADMINISTRATOR = condor@pool\n"
    )


class People:
    """A pool with the shipped configuration, and the user ann, who is no administrator of it."""

    def __init__(self, pool: CondorPool) -> None:
        self._pool = pool
        self._token = pool.directory / "ann"
        pool.give_token(self._token, "ann@pool")
        self.by_cosched("condor_submit", "-terse", self._written("executable = /bin/true\nhold = true\nqueue\n"))

    def by_ann(self, *command: str) -> str:
        """Run a command of HTCondor's as ann; return what it prints, also where it fails."""
        environment = {
            **os.environ,
            "CONDOR_CONFIG": str(self._pool.config),
            "_CONDOR_SEC_TOKEN_DIRECTORY": str(self._token),
        }
        program = prefix() / "usr" / "bin" / command[0]
        done = subprocess.run(
            [program, *command[1:]], env=environment, capture_output=True, text=True, timeout=240, check=False
        )
        return done.stdout + done.stderr

    def by_cosched(self, *command: str) -> str:
        """Run a command of HTCondor's as the queue's super user; return what it prints."""
        return self._pool.tool(*command)

    def submit(self, text: str) -> str:
        """Submit a file as ann; return the first job, or why it was refused."""
        work = self._pool.spool
        common = f"executable = /bin/sleep\narguments = 2\ntransfer_executable = false\nlog = {work}/ann.log\n"
        common += f"initialdir = {work}\n"  # jobs may not be able to enter the tests' own folder
        return self.by_ann("condor_submit", "-terse", self._written(common + text)).partition(" - ")[0]

    def shown(self, job: str, attribute: str) -> str:
        """Return a job's attribute from queue or history."""
        answer = self._pool.tool("condor_q", job, "-af", attribute).strip()
        return answer or self._pool.tool("condor_history", job, "-af", attribute).strip()

    def wait(self, job: str, *states: str) -> None:
        """Wait until a job is in one of these states."""
        until(lambda: self.shown(job, "JobStatus") in states, lambda: f"{job} is {self.shown(job, 'JobStatus')}")

    def _written(self, text: str) -> str:
        path = self._pool.spool / "job.sub"
        path.write_text(text)
        return str(path)
