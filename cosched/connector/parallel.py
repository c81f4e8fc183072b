"""Some programs are launched once and start their parts on other hosts themselves.

They use MPI's launchers or their own.

`command_lines` says how a launch's command is begun; `launcher_environment` lets Open MPI and Hydra reach the other
hosts through an agent of the connector's, where the manager has no way of its own.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from cosched.connector.jobs import LaunchMode
from cosched.errors import UserError
from cosched.measurement.programs.watching import SHIM_VARIABLE, STARTED_LINE, watched_command

if TYPE_CHECKING:
    from cosched.connector.jobs import Launch

__all__ = ["LAUNCHER_DEFAULTS", "OPENMPI_HOST_FILE", "command_lines", "launcher_environment", "process_count"]

OPENMPI_HOST_FILE = "hosts.openmpi"
"""Name of the file with the hosts and their numbers of ranks, as Open MPI reads them."""

LAUNCHER_DEFAULTS = {
    # Open MPI takes hosts for machines. Of several slots of one machine it would bind the first ranks of all to the
    # same core, and jobs of others there, too.
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    # Its ranks do not agree that they are on several nodes, and wait in a broadcast for one another for ever (5.0).
    "OMPI_MCA_coll": "^han",
    # The agents' shell. Without it Open MPI warns in each program of users who may not log in, as pools' own often may.
    "SHELL": "/bin/sh",
}
"""What Open MPI needs where several hosts may be slots of one machine, unless the task says otherwise."""

# Debian keeps several kinds of MPI beside each other, each under its own name.
_LAUNCHERS = {
    LaunchMode.OPENMPI: ("mpirun.openmpi", "mpirun"),
    LaunchMode.MPICH: ("mpiexec.mpich", "mpiexec.hydra", "mpiexec"),
    LaunchMode.INTEL: ("mpiexec.hydra", "mpirun"),
}
_NAMES = {LaunchMode.OPENMPI: "Open MPI", LaunchMode.MPICH: "MPICH", LaunchMode.INTEL: "Intel MPI"}
_MPI_LINES = """\
cosched_mpirun=
for cosched_name in {launchers}; do
    command -v "$cosched_name" > /dev/null && cosched_mpirun=$cosched_name && break
done
if [ -z "$cosched_mpirun" ]; then
    echo "cosched: {name} is not in PATH on this host: install it, or give its folder with --env PATH=..." >&2
    exit 127
fi
exec "$cosched_mpirun" {options} {command}"""


def process_count(launch: Launch) -> int:
    """Return how many processes of the command are started: one, or one a host."""
    return 1 if launch.launch.once else launch.count


def command_lines(launch: Launch) -> str:
    """Return the shell lines that become the launch's command, every word as it is.

    Raises:
        UserError: the program's name begins with a dash, which `exec` and `mpirun` take for an option.
    """
    if launch.command[0].startswith("-"):
        raise UserError(f"program {launch.command[0]!r} starts with '-': give its path")
    watched = SHIM_VARIABLE in launch.environment
    command = shlex.join(watched_command(launch.command) if watched else launch.command)
    if launch.stdin:
        command += f" < {shlex.quote(launch.stdin)}"
    if launch.launch not in _LAUNCHERS:
        return f"exec {command}"
    ranks = launch.count * launch.processes_per_host
    options = f"-np {ranks}" if launch.launch is LaunchMode.OPENMPI else f"-n {ranks} -ppn {launch.processes_per_host}"
    return (STARTED_LINE if watched else "") + _MPI_LINES.format(
        launchers=" ".join(_LAUNCHERS[launch.launch]), name=_NAMES[launch.launch], options=options, command=command
    )


def launcher_environment(agent: str, host_file: str, openmpi_host_file: str) -> dict[str, str]:
    """Return the variables by which MPI's launchers find the hosts, and start their daemons there.

    With `LAUNCHER_DEFAULTS`, in whose place a task may have its own.

    Args:
        agent: a program that is called as `agent HOST WORD…` and runs the words there in a shell, as `rsh` does.
        host_file: names of the hosts, one in each line.
        openmpi_host_file: the same with the number of ranks on each.
    """
    return {
        **LAUNCHER_DEFAULTS,
        # Open MPI 4. Only the first host may start anything on others, and a name means the host of that very name.
        "OMPI_MCA_plm_rsh_agent": agent,
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        "OMPI_MCA_orte_default_hostfile": openmpi_host_file,
        "OMPI_MCA_orte_keep_fqdn_hostnames": "1",
        # Open MPI 5
        "PRTE_MCA_plm_ssh_agent": agent,
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        "PRTE_MCA_prte_default_hostfile": openmpi_host_file,
        "PRTE_MCA_prte_keep_fqdn_hostnames": "1",
        # MPICH
        "HYDRA_LAUNCHER": "rsh",
        "HYDRA_LAUNCHER_EXEC": agent,
        "HYDRA_HOST_FILE": host_file,
        # Intel MPI
        "I_MPI_HYDRA_BOOTSTRAP": "rsh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": agent,
        "I_MPI_HYDRA_HOST_FILE": host_file,
    }
