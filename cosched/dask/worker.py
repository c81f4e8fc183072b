"""Run a Dask worker on one host of an elastic task: `python -m cosched.dask.worker ADDRESS NUMBER`.

ADDRESS is what the lead has told: that of its scheduler and the folder of its certificates. The worker has as many
threads as the task asks for cores of each host (`--cores`), or one. It ends when the scheduler has been away for long.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import TYPE_CHECKING, NoReturn

from cosched.dask import transfers
from cosched.dask.tls_files import join_address, split_address
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["INTERFACE_VARIABLE", "QUIET", "main", "thread_count", "worker_command"]

INTERFACE_VARIABLE = "COSCHED_DASK_INTERFACE"
"""Variable that names the network interface of scheduler and workers, such as ib0."""

QUIET: Mapping[str, str] = {"DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]"}
"""Variables of workers: their pages would be open to everybody who reaches their ports."""

_DEATH_TIMEOUT = "60"  # seconds without its scheduler


def worker_command(told: str, name: str, environment: Mapping[str, str]) -> list[str]:
    """Return the command line of a Dask worker.

    Args:
        told: the address that the lead has told.
        name: of the worker, by which the lead finds it among the scheduler's.
        environment: of the job.

    Raises:
        UserError: the address is none.
    """
    address, files = split_address(told)
    interface = environment.get(INTERFACE_VARIABLE, "")
    return [
        *(sys.executable, "-m", "distributed.cli.dask_worker", address, "--name", name),
        *("--nworkers", "1", "--nthreads", str(thread_count(environment)), "--no-nanny", "--no-dashboard"),
        *(
            "--preload",
            transfers.__name__,
            "--death-timeout",
            _DEATH_TIMEOUT,
            "--local-directory",
            tempfile.gettempdir(),
        ),
        *("--tls-ca-file", str(files.certificate), "--tls-cert", str(files.certificate), "--tls-key", str(files.key)),
        *(("--interface", interface) if interface else ()),
    ]


def thread_count(environment: Mapping[str, str]) -> int:
    """Return the threads of a worker: the cores that its task asks for on each host, or one."""
    return int(environment.get("COSCHED_CORES", "") or 1)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Become the worker; exit with code 2 where that cannot be."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 2:
        sys.stderr.write("usage: python -m cosched.dask.worker ADDRESS NUMBER\n")
        sys.exit(2)
    try:
        address, files = split_address(given[0])
        command = worker_command(join_address(address, files.proven_own()), given[1], os.environ)
    except UserError as error:
        sys.stderr.write(f"cosched.dask.worker: {error}\n")
        sys.exit(2)
    os.execve(command[0], command, {**os.environ, **QUIET})  # noqa: S606  the job is the worker


if __name__ == "__main__":
    main()
