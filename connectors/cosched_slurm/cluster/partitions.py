"""The partition that jobs go to where the settings name none: start at `DefaultPartition.of`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from cosched_slurm.cluster.nodes import node_partitions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["DefaultPartition", "default_partition"]

_AGAIN = 60.0  # seconds after which the partitions are asked for again, though the nodes' are the same


def default_partition(text: str) -> str:
    """Return the name of the default in the output of `scontrol --oneliner show partition`; empty where there is none.

    A line is `PartitionName=short AllowGroups=ALL … Default=YES QoS=N/A …`.
    """
    for line in text.splitlines():
        fields = dict(word.partition("=")[::2] for word in line.split())
        if fields.get("Default") == "YES":
            return fields.get("PartitionName", "")
    return ""


class DefaultPartition:
    """Knows Slurm's default partition where there are several: a job on nodes of another one would be refused.

    Args:
        ask: asks Slurm for its partitions, one a line.
    """

    def __init__(self, ask: Callable[[], str]) -> None:
        self._ask = ask
        self._asked = 0.0
        self._known: frozenset[str] = frozenset()
        self._name = ""

    def of(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """Return its name; empty where all nodes do, as there is one partition alone, or no default.

        Args:
            rows: nodes as Slurm's JSON has them.

        Raises:
            ConnectorError: Slurm does not tell its partitions.
        """
        known = frozenset(name for row in rows for name in node_partitions(row))
        alone = len(known) == 1 and all(node_partitions(row) for row in rows)
        if alone or not known:
            return ""
        if known != self._known or time.monotonic() >= self._asked + _AGAIN:
            self._name = default_partition(self._ask())
            self._known, self._asked = known, time.monotonic()
        return self._name
