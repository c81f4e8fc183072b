"""A user of a real cluster that has etc/slurm/job_submit.lua, who is no operator of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.testbed.slurm.cluster import SlurmCluster

__all__ = ["DEADLINE", "PLAIN", "People", "job_number", "job_submit"]

DEADLINE = "#!/bin/sh\n#COSCHED --deadline=now+10m\n"
PLAIN = "#!/bin/sh\nsleep 2\n"
_SHIPPED = Path(__file__).parents[2] / "etc" / "slurm" / "job_submit.lua"


def job_submit(lease: int) -> str:
    """Return the shipped script, with a lease in seconds."""
    return _SHIPPED.read_text().replace("local LEASE = 300", f"local LEASE = {lease}")


def job_number(answer: str) -> str:
    """Return the job of sbatch's answer."""
    found = re.search(r"Submitted batch job (\d+)", answer)
    assert found, answer
    return found[1]


class People:
    """A cluster with the shipped script, and the user nobody, who is no operator of it."""

    def __init__(self, cluster: SlurmCluster) -> None:
        self._cluster = cluster

    def set_lease(self, seconds: int) -> None:
        """Have jobs that are submitted from now on wait so long for cosched."""
        script = self._cluster.directory / "job_submit.lua"
        script.write_text(job_submit(seconds))
        ahead = time.time() + 3600  # Slurm reads it again where it is younger, in whole seconds, than the last reading
        os.utime(script, (ahead, ahead))

    def submit(self, script: str, *options: str) -> str:
        """Submit a script as nobody; return what sbatch prints."""
        return self.by_nobody("sbatch", "--output=/dev/null", *options, text=script)

    def by_nobody(self, *command: str, text: str = "") -> str:
        """Run a command of Slurm's as nobody; return what it prints, also where it fails."""
        drop = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
        marks = {"SLURM_CONF": str(self._cluster.config), "COSCHED_TESTBED": str(self._cluster.directory)}
        done = subprocess.run(
            [*drop, self._cluster.bin / command[0], *command[1:]],
            env={**os.environ, **marks},
            cwd="/",
            input=text,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        return done.stdout + done.stderr

    def update(self, job: str, *changes: str) -> None:
        """Change a job as cosched would."""
        self._cluster.tool("scontrol", "update", f"jobid={job}", *changes)

    def shown(self, job: str, key: str) -> str:
        """Return a field of a job; of a field that holds `word=` the part before it."""
        record = self._cluster.tool("scontrol", "show", "job", job, "-o").strip()
        found = re.search(rf" {key}=(.*?) *(?= \S+=|$)", record)
        return found[1] if found else ""

    def seconds(self, job: str, key: str) -> float:
        """Return a time of a job's, seconds since the epoch."""
        return time.mktime(time.strptime(self.shown(job, key), "%Y-%m-%dT%H:%M:%S"))

    def note(self, job: str) -> str:
        """Return a job's AdminComment."""
        rows = json.loads(self._cluster.tool("squeue", "--all", "--states=all", "--json"))["jobs"]
        return next(str(row["admin_comment"] or "") for row in rows if str(row["job_id"]) == job)

    def comment(self, job: str) -> str:
        """Return a job's own comment."""
        return self._cluster.tool("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%k").strip()

    def wait(self, job: str, *states: str) -> None:
        """Wait until a job is in one of these states."""
        self._cluster.wait(f"{job} to be {states}", lambda: self.shown(job, "JobState") in states)
