"""Clusters of nodes: those below one leaf switch of Slurm's topology, or with one feature.

Start at `NodeClusters.of`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from cosched_slurm.cluster.nodes import feature_rest, node_features
from cosched_slurm.jobs import node_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["NodeClusters", "leaf_switches"]

_BY_SWITCH = "switch"
_AGAIN = 600.0  # seconds after which the topology is asked for again, though the nodes are the same


def leaf_switches(text: str) -> dict[str, str]:
    """Return the leaf switch of each node that has one, from the output of `scontrol --oneliner show topology`.

    A leaf is `SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=node[01-04]`; other lines are of switches of switches.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        fields = dict(word.partition("=")[::2] for word in line.split())
        if fields.get("SwitchName") and fields.get("Level") == "0":
            found |= dict.fromkeys(node_names(fields.get("Nodes", "")), fields["SwitchName"])
    return found


class NodeClusters:
    """Knows the cluster of each node, as the administrator has it named."""

    def __init__(self, cluster: str, topology: Callable[[], str]) -> None:
        """Set up.

        Args:
            cluster: "switch", or the beginning of the feature whose rest names the cluster; empty for none.
            topology: asks Slurm for its topology, one switch a line.
        """
        self._cluster = cluster
        self._topology = topology
        self._nodes: frozenset[str] = frozenset()
        self._asked = 0.0
        self._switches: Mapping[str, str] = {}

    def of(self, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
        """Return the cluster of each node that has one.

        Args:
            rows: nodes as Slurm's JSON has them.

        Raises:
            ConnectorError: Slurm does not tell its topology.
        """
        if self._cluster == _BY_SWITCH:
            return self._by_switch(frozenset(str(row.get("name") or "") for row in rows))
        named = {str(row.get("name") or ""): feature_rest(node_features(row), self._cluster) for row in rows}
        return {node: cluster for node, cluster in named.items() if cluster}

    def _by_switch(self, nodes: frozenset[str]) -> Mapping[str, str]:
        if nodes != self._nodes or time.monotonic() >= self._asked + _AGAIN:
            self._switches = leaf_switches(self._topology())
            self._nodes, self._asked = nodes, time.monotonic()
        return self._switches
