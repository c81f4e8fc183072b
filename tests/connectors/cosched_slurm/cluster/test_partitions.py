"""Which of several partitions jobs go to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cosched_slurm.cluster.partitions import DefaultPartition, default_partition
from cosched_slurm.connector import SlurmConnector

if TYPE_CHECKING:
    from pathlib import Path

_SHOWN = """\
PartitionName=gpu AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=NO QoS=N/A State=UP
PartitionName=short AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A State=UP
"""


def _node(name: str, *partitions: str) -> dict[str, Any]:
    return {"name": name, "partitions": list(partitions), "state": "idle"}


def test_the_default_is_named_among_several_partitions() -> None:
    assert default_partition(_SHOWN) == "short"
    assert default_partition(_SHOWN.splitlines()[0]) == ""
    assert default_partition("No partitions in the system") == ""


def test_slurm_is_asked_where_there_are_several_partitions_and_not_again_at_once() -> None:
    asked = []

    def ask() -> str:
        asked.append(1)
        return _SHOWN

    default = DefaultPartition(ask)
    assert default.of([]) == default.of([{"name": "n1"}]) == default.of([_node("n1", "all")]) == ""
    assert not asked
    rows = [_node("n1", "short"), _node("n2", "gpu", "short"), _node("n3", "gpu")]
    assert [default.of(rows), default.of(rows)] == ["short", "short"]
    assert len(asked) == 1
    assert default.of([*rows, _node("n4", "new")]) == "short"
    assert len(asked) == 2


def test_only_nodes_of_the_default_partition_are_hosts(tmp_path: Path) -> None:
    """Every task that was planned on a node of another partition failed for good when it was submitted."""
    nodes = {"nodes": [_node("n1", "short"), _node("n2", "gpu", "short"), _node("n3", "gpu")]}
    (tmp_path / "nodes").write_text(json.dumps(nodes))
    (tmp_path / "partitions").write_text(_SHOWN)
    folder = tmp_path / "bin"
    folder.mkdir()
    shown = f'case "$*" in *nodes*) cat {tmp_path}/nodes;; *) cat {tmp_path}/partitions;; esac'
    (folder / "scontrol").write_text(f"#!/bin/sh\n{shown}\n")
    (folder / "scontrol").chmod(0o755)
    table = {"spool": str(tmp_path / "spool"), "bin": str(folder)}
    for partition, hosts in {"": ["n1", "n2"], "gpu": ["n2", "n3"]}.items():
        connector = SlurmConnector({**table, **({"partition": partition} if partition else {})})
        assert [host.name for host in connector.hosts()] == hosts
        connector.close()
