"""Turn the cluster's nodes into hosts: of a partition and of cosched's reservation where set.

Start at `cluster_hosts`; `parse_reservation` reads the reservation that cosched's jobs run in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cosched.connector import ConnectorError, Host, HostShare
from cosched_slurm.allocations import gpu_count
from cosched_slurm.jobs import node_names, state_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from cosched_slurm.foreign_jobs import ForeignClaim

__all__ = [
    "NodeReservation",
    "allocated_processors",
    "cluster_hosts",
    "feature_rest",
    "node_features",
    "node_partitions",
    "parse_reservation",
]

_BASE_STATES = ("IDLE", "ALLOCATED", "MIXED", "COMPLETING")
# Flags beside a base state that keep no job away.
_HARMLESS_FLAGS = ("COMPLETING", "PLANNED", "CLOUD", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "POWERED_UP", "BLOCKED")
# Slurm saves power: a job for the node has it made ready, and nothing else does. It does not answer until then.
_ASLEEP_FLAGS = ("POWERED_DOWN", "POWER_UP", "POWERING_UP")
_RESERVATION_FLAGS = ("RESERVED", "MAINTENANCE")  # these keep away only jobs outside the reservation


@dataclass(frozen=True, slots=True)
class NodeReservation:
    """A reservation as Slurm shows it.

    Attributes:
        name: its name.
        nodes: names of its nodes.
        active: whether jobs may run in it now.
    """

    name: str
    nodes: frozenset[str]
    active: bool


def parse_reservation(text: str) -> NodeReservation:
    """Read the output of `scontrol --oneliner show reservation NAME`.

    Raises:
        ConnectorError: it is no reservation.
    """
    fields = dict(word.partition("=")[::2] for word in text.split())
    if not fields.get("ReservationName") or "Nodes" not in fields:
        raise ConnectorError(f"scontrol described no reservation: {' '.join(text.split())[:80]!r}", transient=True)
    nodes = frozenset(node_names(fields["Nodes"])) - {"(null)"}
    return NodeReservation(fields["ReservationName"], nodes, fields.get("State") == "ACTIVE")


def allocated_processors(rows: Iterable[Mapping[str, Any]]) -> dict[str, int | None]:
    """Return how many processors jobs of any user hold on each busy node; None where Slurm does not say.

    A node is busy, too, where jobs hold its memory alone: they were suspended there, and Slurm calls it idle.
    """
    return {
        str(row.get("name") or ""): _whole(row.get("alloc_cpus"))
        for row in rows
        if {"ALLOCATED", "MIXED"}.intersection(state_words(row.get("state"))) or _whole(row.get("alloc_memory"))
    }


def cluster_hosts(
    rows: Iterable[Mapping[str, Any]],
    partition: str,
    prefix: str,
    foreign: Mapping[str, ForeignClaim] | None = None,
    own: NodeReservation | None = None,
    clusters: Mapping[str, str] | None = None,
    closed: str = "",
) -> list[Host]:
    """Return the hosts, sorted by name.

    Args:
        rows: nodes as Slurm's JSON has them, of any version.
        partition: the partition whose nodes count; empty for all.
        prefix: beginning of the feature whose rest names the class; empty for none.
        foreign: claims of foreign jobs, by node.
        own: reservation whose nodes count; None for all, where nodes of others' reservations take no jobs.
        clusters: name of each node's cluster, of those that have one.
        closed: why the partition takes no jobs for now; empty where it does.

    Raises:
        ConnectorError: no node is in the partition.
    """
    rows = list(rows)
    if partition and rows:
        _check_partition(partition, {name for row in rows for name in node_partitions(row)})
    found = {}
    for row in rows:
        name = str(row.get("name") or "")
        if not name or "," in name or (partition and partition not in node_partitions(row)):
            continue
        if own is not None and name not in own.nodes:
            continue
        reason = _why_unavailable(row, own) or closed
        features = node_features(row)
        claim = None if reason else (foreign or {}).get(name)
        words_for = reason if claim is None else claim.reason
        found[name] = Host(
            name,
            feature_rest(features, prefix),
            not reason,
            words_for,
            claimed=claim is not None,
            free_at=None if claim is None else claim.until,
            memory=_whole(row.get("real_memory")),
            cores=_whole(row.get("effective_cpus")) or _whole(row.get("cpus")),
            gpus=gpu_count(row.get("gres")),
            others=HostShare() if claim is None else claim.share,
            cluster=(clusters or {}).get(name, ""),
            partitions=tuple(sorted(node_partitions(row))),
        )
    return [found[name] for name in sorted(found)]


def _check_partition(partition: str, known: Collection[str]) -> None:
    """Refuse a partition without nodes: the domain would be empty, and nothing would say why."""
    if partition not in known:
        there = ", ".join(sorted(known)) or "none"
        raise ConnectorError(
            f"no node is in the partition {partition!r}: correct the key partition of [connector.slurm] "
            f"(partitions with nodes: {there[:200]})",
            transient=True,
        )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def node_partitions(row: Mapping[str, Any]) -> list[str]:
    """Return the partitions that a node is in."""
    return _text_list(row.get("partitions"))


def node_features(row: Mapping[str, Any]) -> list[str]:
    """Return the features of a node that are in force."""
    return _text_list(row.get("active_features") or row.get("features"))


def feature_rest(features: list[str], prefix: str) -> str:
    """Return the rest of the first feature with a beginning; empty where there is none."""
    named = (feature.removeprefix(prefix) for feature in features if prefix and feature.startswith(prefix))
    return next(named, "")


def _why_unavailable(row: Mapping[str, Any], own: NodeReservation | None) -> str:
    """Return why a node takes no jobs; empty if it does."""
    if own is not None and not own.active:
        return f"the reservation {own.name} is not active"
    harmless = _HARMLESS_FLAGS if own is None else (*_HARMLESS_FLAGS, *_RESERVATION_FLAGS)
    states = [*state_words(row.get("state")), *state_words(row.get("state_flags") or [])]
    if any(flag in states for flag in _ASLEEP_FLAGS):
        harmless = (*harmless, *_ASLEEP_FLAGS, "NOT_RESPONDING")
    bad = [state for state in states if state not in _BASE_STATES and state not in harmless]
    if states and not bad:
        return ""
    shown = "+".join(bad).lower() or "of no known state"
    said = " ".join(str(row.get("reason") or "").split())
    return f"{shown}: {said}" if said else shown


def _text_list(value: object) -> list[str]:
    """Return a list of texts; 22.05 joins some lists by commas."""
    if isinstance(value, str):
        return [part for part in value.split(",") if part]
    return [str(part) for part in value] if isinstance(value, list) else []
