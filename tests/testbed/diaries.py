"""Jobs write down where and when they ran and what they had; a checker finds hosts that were overfilled.

It knows nothing of cosched: host, cores and devices are those that the manager tells each process. A process says that
it began after its start and that it ended before its end, so that two that meet in the diary did meet.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tests.testbed.node_size import NodeSize

__all__ = ["DIARY", "Entry", "overfilled", "read_diary"]

DIARY = r"""#!/bin/sh
# diary.sh FILE NAME SECONDS MEMORY GPUS: a line as it begins, one as it ends.
ad=${_CONDOR_MACHINE_AD:-/dev/null}
machine=$(sed -n 's/^Machine = "\(.*\)"/\1/p' "$ad")
cpus=$(sed -n 's/^Cpus = //p' "$ad")
host=${SLURMD_NODENAME:-${machine:-$COSCHED_HOSTS}}
what="$host $2 ${COSCHED_RANK:-0} ${SLURM_CPUS_ON_NODE:-${cpus:-0}} $4 $5 gpus:$CUDA_VISIBLE_DEVICES"
echo "begin $(date +%s.%N) $what" >> "$1"
sleep "$3"
echo "end $(date +%s.%N) $what" >> "$1"
"""
_NO_DEVICE = ("", "none", "NoDevFiles", "10000")  # what managers write for none


@dataclass(frozen=True, slots=True)
class Entry:
    """One process of a job on one host.

    Attributes:
        host: as the manager named it to the process.
        job: name of its job.
        began: epoch seconds.
        ended: likewise.
        cores: that the manager gave it.
        memory: MiB that it was asked for.
        gpus: that it was asked for.
        devices: that the manager gave it.
    """

    host: str
    job: str
    began: float
    ended: float
    cores: int
    memory: int
    gpus: int
    devices: frozenset[str]


def read_diary(file: Path) -> list[Entry]:
    """Return the processes of a diary, by their begin; each has begun and ended once.

    Raises:
        AssertionError: a process began twice, or has not ended.
    """
    begun: dict[tuple[str, ...], float] = {}
    found = []
    for line in file.read_text().splitlines():
        kind, time, host, job, rank, cores, memory, gpus, devices = line.split(" ")
        key = (host, job, rank)
        if kind == "begin":
            assert key not in begun, f"{job} began twice on {host}"
            begun[key] = float(time)
            continue
        names = frozenset(devices.removeprefix("gpus:").split(",")).difference(_NO_DEVICE)
        found.append(Entry(host, job, begun[key], float(time), int(cores), int(memory), int(gpus), names))
    assert len(found) == len(begun), f"{len(begun) - len(found)} processes did not end"
    return sorted(found, key=lambda entry: entry.began)


def overfilled(entries: Iterable[Entry], node: NodeSize) -> list[str]:
    """Return each moment at which a host had more than it has, in words; a device belongs to one job."""
    by_host: Mapping[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_host[entry.host].append(entry)
    found = []
    for host, own in by_host.items():
        for now in (entry.began for entry in own):
            there = [entry for entry in own if entry.began <= now < entry.ended]
            jobs = ", ".join(sorted(entry.job for entry in there))
            for what, had, size in (
                ("cores", sum(entry.cores for entry in there), node.cores),
                ("MiB", sum(entry.memory for entry in there), node.memory),
                ("GPUs", sum(entry.gpus for entry in there), node.gpus),
            ):
                if had > size:
                    found.append(f"{host} had {had} of {size} {what} at {now:.3f}: {jobs}")
            devices = [device for entry in there for device in entry.devices]
            if len(devices) != len(set(devices)):
                found.append(f"{host} gave a device to two jobs at {now:.3f}: {jobs}")
    return found
