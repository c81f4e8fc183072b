"""The process that talks to Slurm through pyslurm, in the JSON of `squeue` 22.05.

pyslurm ends the process that imports it where Slurm's configuration cannot be read, so no other module imports it.
Started as `python -m cosched_slurm.pyslurm_worker`; ends when its input ends.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
from typing import TYPE_CHECKING, Any

from cosched.connector.worker_process import serve_requests
from cosched.errors import SystemFault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["main"]

_USE_CLI = 'or set interface = "cli" in [connector.slurm]'


class _PyslurmVerbs:
    """The verbs that a request may name."""

    def __init__(self) -> None:
        self._loaded: Any = None

    def submit(self, description: Mapping[str, object]) -> int:
        """Submit a batch job, described by attributes of `JobSubmitDescription`; return its number."""
        # Named: in a Python that links statically, as Debian's, pyslurm finds none, and Slurm takes no such job.
        given = {"environment": dict(os.environ), **description}
        return int(self._library().JobSubmitDescription(**given).submit())

    def cancel(self, jobs: Sequence[int]) -> None:
        """End jobs; one that has ended, or is gone, is fine."""
        library = self._library()
        for job in jobs:
            library.Job(job).cancel()

    def jobs(self) -> list[dict[str, Any]]:
        """Return all jobs that the controller remembers."""
        return [_job_row(job) for job in self._library().Jobs.load().values()]

    def nodes(self) -> list[dict[str, Any]]:
        """Return all nodes."""
        return [_node_row(node) for node in self._library().Nodes.load().values()]

    def _library(self) -> Any:
        if self._loaded is None:
            if importlib.util.find_spec("pyslurm") is None:
                raise SystemFault(
                    "the package pyslurm is not installed: build it against the Slurm of this cluster "
                    f"(pip install 'cosched[pyslurm]'), {_USE_CLI}"
                )
            library = importlib.import_module("pyslurm")
            _check_version(str(library.__version__), str(library.slurmctld.Config.load().version))
            self._loaded = library
        return self._loaded


def _check_version(library: str, controller: str) -> None:
    """Refuse a library made for another Slurm than the controller's: it misreads answers.

    Raises:
        SystemFault: their first two numbers differ.
    """
    wanted = _release_numbers(library)
    if _release_numbers(controller) != wanted:
        release = ".".join(f"{number:02d}" for number in wanted)
        raise SystemFault(
            f"pyslurm {library} is for Slurm {release} and the controller is {controller}: install the "
            f"pyslurm of its version, {_USE_CLI}"
        )


def _release_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split(".")[:2])


def _job_row(job: Any) -> dict[str, Any]:
    code, signal = int(job.exit_code or 0), int(job.exit_code_signal or 0)
    return {
        "job_id": int(job.id),
        "comment": job.comment,
        "job_state": job.state,
        "state_reason": job.state_reason,
        "state_description": "",
        "start_time": job.start_time,
        "end_time": job.end_time,
        "exit_code": code << 8 | signal,
        "nodes": job.allocated_nodes or "",
        "user_name": job.user_name,
        "time_limit": job.time_limit,
    }


def _node_row(node: Any) -> dict[str, Any]:
    return {
        "name": node.name,
        "state": node.state,
        "reason": node.reason or "",
        "partitions": list(node.partitions or ()),
        "active_features": list(node.active_features or ()),
    }


def main() -> None:
    """Answer requests until there are no more."""
    serve_requests(_PyslurmVerbs())


if __name__ == "__main__":
    main()
