"""The configuration of a whole Slurm cluster on one machine: many hosts, loopback only, quick cycles."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tests.testbed.node_size import NodeSize

__all__ = ["cluster_configuration", "gpu_configuration", "switch_configuration"]

_COMMON = """\
# Written by the testbed for one cluster; removed with it.
ClusterName=testbed
SlurmctldHost={machine}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
CredType=cred/munge
PluginDir={plugins}
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/nodes/%n
SlurmctldPidFile={directory}/log/slurmctld.pid
SlurmdPidFile={directory}/log/%n.pid
SlurmctldLogFile={directory}/log/slurmctld
SlurmdLogFile={directory}/log/%n
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={directory}/completions
MinJobAge={job_age}
MaxJobCount=100000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU={core_memory}
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
KillWait=2
SlurmdTimeout=5
SlurmdParameters=config_overrides
ReturnToService=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def cluster_configuration(
    plugins: Path, directory: Path, ports: Mapping[str, int], user: str, job_age: int, node: NodeSize
) -> str:
    """Return slurm.conf.

    Args:
        plugins: folder of Slurm's plugins.
        directory: the cluster's folder.
        ports: a port for "slurmctld" and for each host.
        user: name of the user that all daemons run as.
        job_age: seconds for which the controller remembers ended jobs.
        node: size of each host.
    """
    text = _COMMON.format(
        plugins=plugins,
        directory=directory,
        machine=socket.gethostname(),
        port=ports["slurmctld"],
        user=user,
        job_age=job_age,
        core_memory=max(node.memory // node.cores, 1),
    )
    sockets = 2 if node.cores % 2 == 0 else 1
    size = f"Sockets={sockets} CoresPerSocket={node.cores // sockets} RealMemory={node.memory}"
    if node.gpus:
        size += f" Gres=gpu:{node.gpus}"
    if node.gpus:
        text += "GresTypes=gpu\n"
    return text + "".join(
        f"NodeName={host} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} {size} Feature=testbed,class-Testbed\n"
        for host, port in ports.items()
        if host != "slurmctld"
    )


def gpu_configuration(directory: Path, gpus: int) -> str:
    """Return gres.conf: every host's devices are the files `gpus/0`, `gpus/1` … of the cluster's folder."""
    return "".join(f"Name=gpu File={directory}/gpus/{number}\n" for number in range(gpus))


def switch_configuration(hosts: Sequence[str], leaves: Sequence[int]) -> str:
    """Return topology.conf: a leaf switch for so many hosts each, one after another, below one switch of all."""
    lines, first = [], 0
    for number, count in enumerate(leaves, 1):
        lines.append(f"SwitchName=leaf{number} Nodes={','.join(hosts[first : first + count])}")
        first += count
    return "\n".join([*lines, f"SwitchName=spine Switches=leaf[1-{len(leaves)}]", ""])
