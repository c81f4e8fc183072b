"""From a launch to sbatch's options and script."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from cosched.connector import SafeValue, safe
from cosched.connector.templating import render
from cosched.errors import UserError
from cosched_slurm.jobs import comment

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector import Launch
    from cosched_slurm.settings import SlurmSettings

__all__ = ["job_script", "options"]

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")  # no ranges, no lists, no names of files


def options(launch: Launch, folder: Path, settings: SlurmSettings) -> list[str]:
    """Return sbatch's options for a launch.

    Args:
        launch: the attempt.
        folder: the attempt's folder.
        settings: the connector's.

    Raises:
        UserError: a value cannot be carried safely.
    """
    count = launch.count
    safe(launch.directory, "the working directory")
    given = {
        "job-name": safe(launch.name, "the task's name"),
        "comment": safe(comment(launch.attempt, count), "the attempt"),
        "chdir": safe(str(folder), "the spool"),
        "output": safe(str(folder / "slurm.log"), "the spool"),
        "nodes": str(count),
        "ntasks": str(count),
        "ntasks-per-node": "1",
        "mem": "0",  # all that the host has
        "nodelist": ",".join(_host(name) for name in launch.hosts),
        "time": _time(launch.time_limit),
        "partition": settings.partition,
        "account": settings.account,
        "qos": settings.qos,
    }
    named = [f"--{option}={value}" for option, value in given.items() if value]
    return ["--exclusive", "--no-requeue", *named]


def job_script(count: int, script: Path, srun: str) -> str:
    """Return the job's script from its template.

    Args:
        count: number of processes.
        script: what each of them runs.
        srun: path of Slurm's program that starts them.
    """
    values = {"count": count, "script": safe(str(script), "the spool"), "srun": safe(srun, "the path of srun")}
    return render("slurm", "job.sh", values)


def _host(name: str) -> SafeValue:
    if not _HOST.match(name):
        raise UserError(f"host {name!r} is not the name of a Slurm node: use letters, digits, '.', '-' and '_'")
    return safe(name, "a host's name")


def _time(limit: float | None) -> str:
    """Return a time limit in Slurm's form; it rounds up to minutes by itself."""
    return "" if limit is None else f"0:{max(1, math.ceil(limit))}"
