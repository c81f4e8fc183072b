"""Which of several partitions jobs go to."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from cosched.connector import ConnectorError, Launch
from cosched_slurm.cluster.partitions import DomainPartition, Partition, parse_partitions
from cosched_slurm.connector import SlurmConnector

if TYPE_CHECKING:
    from pathlib import Path

_SHOWN = """\
PartitionName=gpu AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=NO QoS=N/A State=UP
PartitionName=short AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A State=UP
"""


def _node(name: str, *partitions: str) -> dict[str, Any]:
    return {"name": name, "partitions": list(partitions), "state": "idle"}


def test_partitions_are_read_with_the_default_and_their_states() -> None:
    found = parse_partitions(_SHOWN.replace("State=UP", "State=DRAIN", 1))
    assert found == [Partition("gpu", default=False, state="DRAIN"), Partition("short", default=True, state="UP")]
    assert parse_partitions("No partitions in the system\n") == []


class _Slurm:
    """Tells its partitions, and counts how often."""

    def __init__(self) -> None:
        self.shown = _SHOWN
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        return self.shown


def test_slurm_is_asked_for_its_partitions_once_a_minute_or_where_others_have_nodes() -> None:
    slurm = _Slurm()
    partition = DomainPartition(slurm)
    assert partition.of([]) == partition.of([{"name": "n1"}]) == ("", "")
    assert partition.of([], "gpu") == ("gpu", "")
    assert slurm.asked == 0
    rows = [_node("n1", "short"), _node("n2", "gpu", "short"), _node("n3", "gpu")]
    assert [partition.of(rows), partition.of(rows), partition.of(rows, "gpu")] == 2 * [("short", "")] + [("gpu", "")]
    assert slurm.asked == 1
    assert partition.of([*rows, _node("n4", "new")]) == ("short", "")
    assert slurm.asked == 2


@pytest.mark.parametrize("state", ["DOWN", "DRAIN", "INACTIVE"])
def test_a_closed_partition_is_asked_for_until_it_is_open(state: str) -> None:
    slurm = _Slurm()
    partition = DomainPartition(slurm)
    rows = [_node("n1", "short"), _node("n2", "gpu")]
    assert partition.of(rows) == ("short", "")
    slurm.shown = _SHOWN.replace("N/A State=UP\n", f"N/A State={state}\n")
    assert partition.of(rows) == ("short", "")
    partition.doubt()
    assert [partition.of(rows), partition.of(rows)] == 2 * [
        ("short", f"the partition short is closed ({state.lower()})")
    ]
    slurm.shown = _SHOWN
    assert partition.of(rows) == ("short", "")
    assert slurm.asked == 4
    assert partition.of(rows) == ("short", "")
    assert slurm.asked == 4


def _cluster(folder: Path, *nodes: dict[str, Any]) -> dict[str, str]:
    """Write commands that tell these nodes and `_SHOWN`; return the connector's settings."""
    (folder / "nodes").write_text(json.dumps({"nodes": nodes}))
    (folder / "partitions").write_text(_SHOWN)
    commands = folder / "bin"
    commands.mkdir()
    shown = f'case "$*" in *nodes*) cat {folder}/nodes;; *) cat {folder}/partitions;; esac'
    (commands / "scontrol").write_text(f"#!/bin/sh\n{shown}\n")
    (commands / "scontrol").chmod(0o755)
    return {"spool": str(folder / "spool"), "bin": str(commands)}


def test_only_nodes_of_the_default_partition_are_hosts(tmp_path: Path) -> None:
    """Every task that was planned on a node of another partition failed for good when it was submitted."""
    table = _cluster(tmp_path, _node("n1", "short"), _node("n2", "gpu", "short"), _node("n3", "gpu"))
    for partition, hosts in {"": ["n1", "n2"], "gpu": ["n2", "n3"]}.items():
        connector = SlurmConnector({**table, **({"partition": partition} if partition else {})})
        assert [host.name for host in connector.hosts()] == hosts
        connector.close()


def test_nodes_are_down_from_the_refusal_of_their_partition_until_it_is_open(tmp_path: Path) -> None:
    """They looked idle, and for up to ten minutes after the partition was open again nothing was tried there."""
    table = _cluster(tmp_path, _node("n1", "short"))
    connector = SlurmConnector(table)
    assert [host.up for host in connector.hosts()] == [True]
    refusal = "sbatch: error: Batch job submission failed: Required partition not available (inactive or drain)"
    (tmp_path / "bin" / "sbatch").write_text(f'#!/bin/sh\necho "{refusal}" >&2\nexit 1\n')
    (tmp_path / "bin" / "srun").touch()
    for program in ("sbatch", "srun"):
        (tmp_path / "bin" / program).chmod(0o755)
    (tmp_path / "partitions").write_text(_SHOWN.replace("N/A State=UP\n", "N/A State=DRAIN\n"))
    with pytest.raises(ConnectorError, match="inactive or drain"):
        connector.submit(Launch(str(uuid.uuid4()), "1", "t", ("/bin/true",), ("n1",)))
    assert [(host.up, host.reason) for host in connector.hosts()] == [(False, "the partition short is closed (drain)")]
    (tmp_path / "partitions").write_text(_SHOWN)
    assert [host.up for host in connector.hosts()] == [True]
