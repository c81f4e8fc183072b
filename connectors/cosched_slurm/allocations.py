"""What jobs hold of their nodes, in Slurm's JSON of any version: start at `node_shares`.

22.05 lists a job's cores one by one, 24.11 and later count each node's processors.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosched.connector import HostShare

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["gpu_count", "node_shares", "tres_count"]

_GPUS = re.compile(r"(?:^|,)gpu(?::[^:,(]*[^:,(\d][^:,(]*)?(?::(\d+))?(?=$|[,(])")


def gpu_count(gres: object) -> int | None:
    """Return the number of GPUs in generic resources, such as "gpu:a100:2(S:0),tmp:5"; None for no text."""
    if not isinstance(gres, str):
        return None
    return sum(int(match[1] or 1) for match in _GPUS.finditer(gres))


def tres_count(text: object, name: str) -> int | None:
    """Return the number of a resource in Slurm's text, such as "cpu=4,mem=8G,node=2"; None where it is not in it."""
    found = re.search(rf"(?:^|,){name}=(\d+)(?=$|,)", str(text or ""))
    return int(found[1]) if found else None


def node_shares(row: Mapping[str, Any]) -> dict[str, HostShare] | None:
    """Return what a job holds of each of its nodes; None where the row does not say.

    Args:
        row: a job that has nodes, as Slurm lists it.
    """
    resources = row.get("job_resources")
    if not isinstance(resources, dict):
        return None
    held = _counted(resources) if isinstance(resources.get("nodes"), dict) else _listed(resources, row)
    if held is None:
        return None
    gres = row.get("gres_detail")  # of each node, in the same order
    gpus = [gpu_count(text) or 0 for text in gres] if isinstance(gres, list) else []
    gpus += [0] * (len(held) - len(gpus))
    return {name: replace(share, gpus=count) for (name, share), count in zip(held.items(), gpus, strict=False)}


def _counted(resources: Mapping[str, Any]) -> dict[str, HostShare] | None:
    """Return memory and processors as Slurm 24.11 and later have them."""
    try:
        return {
            str(part["name"]): HostShare(int(part["memory"]["allocated"]), int(part["cpus"]["count"]))
            for part in resources["nodes"]["allocation"]
        }
    except (KeyError, TypeError, ValueError):
        return None


def _listed(resources: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, HostShare] | None:
    """Return memory and processors as Slurm 22.05 has them: the cores of each socket."""
    try:
        parts = {
            str(part["nodename"]): (
                int(part["memory_allocated"]),
                sum(len(socket["cores"]) for socket in part["sockets"].values()),
            )
            for part in resources["allocated_nodes"]
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    cores = sum(count for _, count in parts.values())
    total = tres_count(row.get("tres_alloc_str"), "cpu") or cores
    threads = max(round(total / cores), 1) if cores else 1  # of each core
    return {name: HostShare(memory, count * threads) for name, (memory, count) in parts.items()}
