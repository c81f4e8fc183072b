"""What a user's own script asks of each of its hosts, from the options of sbatch: start at `script_needs`."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from cosched.connector import HostShare
from cosched.errors import UserError
from cosched_slurm.allocations import gpu_count

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SIZE_OPTIONS", "script_needs", "tasks_per_host"]

_MEMORY = re.compile(r"(\d{1,15})([KMGT]?)", re.ASCII | re.IGNORECASE)
_MEBIBYTES = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0 * 1024.0}

SIZE_OPTIONS = {
    "memory": ("mem", "mem-per-cpu"),
    "cores": ("cpus-per-task", "mincpus"),
    "gpus": ("gpus", "gpus-per-node", "gpus-per-task"),
}
"""Options that say what a job takes of a host, beside its processes and the generic resource "gpu"."""
# What Slurm makes of these for one node only Slurm knows.
_UNCOUNTED = (
    "core-spec",
    "cores-per-socket",
    "cpus-per-gpu",
    "extra-node-info",
    "gpus-per-socket",
    "mem-per-gpu",
    "ntasks-per-core",
    "ntasks-per-gpu",
    "ntasks-per-socket",
    "sockets-per-node",
    "thread-spec",
    "threads-per-core",
    "tres-per-task",
)


def script_needs(settings: Mapping[str, str], hosts: str) -> HostShare | None:
    """Return what a job takes of each host; None where Slurm alone knows. 0 stands for what it does not say.

    Args:
        settings: options of sbatch by their long names, processes counted for each host.
        hosts: their number as the job asks for it: "4", "2-8"; empty for one.

    Raises:
        UserError: a value is no number.
    """
    if any(option in settings for option in _UNCOUNTED) or ("gpus" in settings and hosts not in ("", "1")):
        return None
    tasks = 1 if "overcommit" in settings else tasks_per_host(settings)
    cores = max(tasks * (_number(settings, "cpus-per-task") or 1), _number(settings, "mincpus"))
    memory = _mebibytes(settings, "mem") if "mem" in settings else _mebibytes(settings, "mem-per-cpu") * cores
    if memory == 0 and ("mem" in settings or "mem-per-cpu" in settings):
        return None  # all of the host's
    per_host = "gpus-per-node" if "gpus-per-node" in settings else "gpus"
    gpus = _devices(settings, per_host) or _devices(settings, "gpus-per-task") * tasks
    gpus += gpu_count(settings.get("gres", "").replace("gres:", "").replace("gres/", "")) or 0
    said = any(option in settings for option in ("ntasks-per-node", "ntasks", *SIZE_OPTIONS["cores"]))
    return HostShare(memory, cores if said else 0, gpus)


def tasks_per_host(options: Mapping[str, str]) -> int:
    """Return how many of Slurm's tasks a job has on each host.

    Raises:
        UserError: an option is no number.
    """
    return _number(options, "ntasks-per-node") or _number(options, "ntasks") or 1


def _number(settings: Mapping[str, str], option: str) -> int:
    text = settings.get(option, "0")
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise UserError(f"--{option}={text[:80]} is not a number: write 1 or more")
    return int(text)


def _devices(settings: Mapping[str, str], option: str) -> int:
    """Return the number of devices in "2", "a100:2" or "a100:1,v100:1"."""
    text = settings.get(option, "")
    return sum(int(last) if (last := part.rpartition(":")[2]).isdecimal() else 1 for part in text.split(",") if part)


def _mebibytes(settings: Mapping[str, str], option: str) -> int:
    match = _MEMORY.fullmatch(settings.get(option, "0"))
    if match is None:
        raise UserError(
            f"--{option}={settings[option][:80]} is not a size of memory: write 4G, 512M or a number of MiB"
        )
    return math.ceil(int(match[1]) * _MEBIBYTES[match[2].upper()])
