"""The configuration of a whole Slurm cluster on one machine: many hosts, loopback only, quick cycles."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["cluster_configuration"]

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
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
KillWait=2
SlurmdTimeout=5
ReturnToService=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def cluster_configuration(
    plugins: Path, directory: Path, ports: Mapping[str, int], user: str, job_age: int, cpus: int = 1
) -> str:
    """Return slurm.conf.

    Args:
        plugins: folder of Slurm's plugins.
        directory: the cluster's folder.
        ports: a port for "slurmctld" and for each host.
        user: name of the user that all daemons run as.
        job_age: seconds for which the controller remembers ended jobs.
        cpus: of each host, whatever the machine has.
    """
    text = _COMMON.format(
        plugins=plugins,
        directory=directory,
        machine=socket.gethostname(),
        port=ports["slurmctld"],
        user=user,
        job_age=job_age,
    )
    return text + "".join(
        f"NodeName={host} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=512 "
        "Feature=testbed,class-Testbed\n"
        for host, port in ports.items()
        if host != "slurmctld"
    )
