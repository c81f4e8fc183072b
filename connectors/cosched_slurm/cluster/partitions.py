"""The partition whose nodes are the domain, and whether it takes jobs: start at `DomainPartition.of`."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cosched_slurm.cluster.nodes import node_partitions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["DomainPartition", "Partition", "parse_partitions"]

_AGAIN = 60.0  # seconds after which an open partition is asked for again, though the nodes' names are the same


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition as Slurm shows it.

    Attributes:
        name: its name.
        default: whether jobs go there that name none.
        state: "UP", "DOWN", "DRAIN" or "INACTIVE"; empty where Slurm does not say.
    """

    name: str
    default: bool
    state: str


def parse_partitions(text: str) -> list[Partition]:
    """Read the output of `scontrol --oneliner show partition`.

    A line is `PartitionName=short AllowGroups=ALL … Default=YES QoS=N/A … State=UP …`.
    """
    lines = [dict(word.partition("=")[::2] for word in line.split()) for line in text.splitlines()]
    return [
        Partition(fields["PartitionName"], fields.get("Default") == "YES", fields.get("State", ""))
        for fields in lines
        if fields.get("PartitionName")
    ]


class DomainPartition:
    """Knows the partition that jobs go to: one on nodes of another would be refused, and none begins in a closed one.

    Slurm is asked once a minute, and while the partition is closed at each look, so that its nodes come back at once.

    Args:
        ask: asks Slurm for its partitions, one a line.
    """

    def __init__(self, ask: Callable[[], str]) -> None:
        self._ask = ask
        self._asked = -math.inf
        self._names: frozenset[str] = frozenset()
        self._shown: list[Partition] = []

    def doubt(self) -> None:
        """Have Slurm asked again at the next look: it took a job for none that may begin."""
        self._asked = -math.inf

    def of(self, rows: Sequence[Mapping[str, Any]], chosen: str = "") -> tuple[str, str]:
        """Return its name, and why it takes no jobs for now; an empty name where there is none.

        Args:
            rows: nodes as Slurm's JSON has them.
            chosen: the partition that the settings name; empty for Slurm's default.

        Raises:
            ConnectorError: Slurm does not tell its partitions.
        """
        names = frozenset(name for row in rows for name in node_partitions(row))
        if not names:
            return chosen, ""
        now = time.monotonic()
        if names != self._names or now >= self._asked + _AGAIN:
            self._shown = parse_partitions(self._ask())
            self._names, self._asked = names, now
        name = chosen or next((each.name for each in self._shown if each.default), "")
        state = next((each.state for each in self._shown if each.name == name), "")
        if state in ("", "UP"):
            return name, ""
        self.doubt()
        return name, f"the partition {name} is closed ({state.lower()})"
