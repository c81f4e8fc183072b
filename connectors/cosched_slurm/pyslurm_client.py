"""Asks Slurm through pyslurm, in a process of its own, in place of Slurm's commands.

`submit_description` turns sbatch's options into pyslurm's attributes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cosched.connector import ConnectorError
from cosched.connector.worker_process import WorkerProcess
from cosched_slurm.commands import FIXED_VARIABLES, PASSED_VARIABLES, SlurmCommands, refusal_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched_slurm.owners import OwnerAccount
    from cosched_slurm.slurm_settings import SlurmSettings

__all__ = ["PyslurmClient", "submit_description"]

# Options of sbatch → attributes of pyslurm.JobSubmitDescription (pyslurm 25.11).
_TEXTS = {
    "account": "account",
    "chdir": "working_directory",
    "comment": "comment",
    "constraint": "constraints",
    "error": "standard_error",
    "gres": "gres_per_node",
    "input": "standard_in",
    "job-name": "name",
    "licenses": "licenses",
    "mem": "memory_per_node",
    "mem-per-cpu": "memory_per_cpu",
    "mem-per-gpu": "memory_per_gpu",
    "nodelist": "required_nodes",
    "output": "standard_output",
    "partition": "partitions",
    "qos": "qos",
    "reservation": "reservations",
    "signal": "signal",
    "time": "time_limit",
    "tmp": "temporary_disk_per_node",
    "wckey": "wckey",
}
_NUMBERS = {
    "cores-per-socket": "cores_per_socket",
    "cpus-per-task": "cpus_per_task",
    "nice": "nice",
    "nodes": "nodes",
    "ntasks": "ntasks",
    "ntasks-per-core": "ntasks_per_core",
    "ntasks-per-node": "ntasks_per_node",
    "ntasks-per-socket": "ntasks_per_socket",
    "sockets-per-node": "sockets_per_node",
    "threads-per-core": "threads_per_core",
}
_FLAGS: dict[str, tuple[str, object]] = {
    "contiguous": ("requires_contiguous_nodes", True),
    "exclusive": ("resource_sharing", "exclusive"),
    "no-requeue": ("is_requeueable", False),
    "overcommit": ("overcommit", True),
    "spread-job": ("spreads_over_nodes", True),
    "use-min-nodes": ("use_min_nodes", True),
}


def submit_description(options: Sequence[str]) -> dict[str, object]:
    """Return pyslurm's attributes for sbatch's options; the last one is the script.

    Raises:
        ConnectorError: pyslurm has no attribute for an option.
    """
    found: dict[str, object] = {"script": options[-1]}
    for option in options[:-1]:
        name, _, value = option.removeprefix("--").partition("=")
        if (name, value) == ("mem", "0"):
            continue  # all memory of a node: pyslurm reads 0 as not given
        if name in _TEXTS:
            found[_TEXTS[name]] = value
        elif name in _NUMBERS and value.isdecimal():
            found[_NUMBERS[name]] = int(value)
        elif name in _FLAGS and not value:
            attribute, meaning = _FLAGS[name]
            found[attribute] = meaning
        else:
            raise ConnectorError(
                f'pyslurm cannot be told {option}: leave it out, or set interface = "cli" in [connector.slurm]',
                transient=False,
            )
    return found


class PyslurmClient(WorkerProcess):
    """Does with pyslurm what `SlurmCommands` does with commands, but for arrays.

    Args:
        settings: settings of the connector.

    Attributes:
        largest_array: most jobs of one array; 1, for pyslurm cannot end an element, which has no number of its own.
    """

    largest_array = 1

    def __init__(self, settings: SlurmSettings) -> None:
        # pyslurm reads Slurm's configuration as it is loaded, and what it submits inherits its environment.
        environment = {
            key: os.environ[key] for key in (*PASSED_VARIABLES, "PYTHONPATH", "LD_LIBRARY_PATH") if key in os.environ
        }
        if settings.config is not None:
            environment["SLURM_CONF"] = str(settings.config)
        super().__init__(
            ["cosched_slurm.pyslurm_worker"],
            environment | FIXED_VARIABLES,
            settings.timeout,
            manager="pyslurm",
            daemon="slurmctld",
        )
        self._commands = SlurmCommands(settings)
        self.path = self._commands.path

    def submit(self, options: Sequence[str], user: OwnerAccount | None = None) -> str:
        """Submit a job and return its number.

        Args:
            options: options of sbatch; the last one is the script.
            user: owner of the job. sbatch submits it as that user, as the library would use the daemon's rights.

        Raises:
            ConnectorError: refused, or the answer was lost (`transient`).
        """
        if user is not None:
            return self._commands.submit(options, user)
        return str(self.call("submit", description=submit_description(options)))

    def cancel(self, jobs: Sequence[str]) -> None:
        """End jobs; those that have ended already are left as they are."""
        if jobs:
            self.call("cancel", jobs=[int(job) for job in jobs])

    def jobs(self) -> list[dict[str, Any]]:
        """Return all jobs that the controller remembers, of all users."""
        rows: list[dict[str, Any]] = self.call("jobs")
        return rows

    def all_users_jobs(self) -> list[dict[str, Any]]:
        """Return the jobs of all users."""
        return self.jobs()

    def nodes(self) -> list[dict[str, Any]]:
        """Return all nodes."""
        rows: list[dict[str, Any]] = self.call("nodes")
        return rows

    def refusal(self, verb: str, message: str) -> ConnectorError:
        """Turn the library's words into an error, transient where it might pass by itself."""
        return refusal_error(f"pyslurm, asked to {_VERB_TEXTS[verb]}", message, submitting=verb == "submit")


_VERB_TEXTS: Mapping[str, str] = {
    "submit": "submit a job",
    "cancel": "end a job",
    "jobs": "list the jobs",
    "nodes": "list the nodes",
}
