"""The cluster's nodes as hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cosched.connector import Host
from cosched_slurm.jobs import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched_slurm.reservations import Reservation
    from cosched_slurm.strangers import Claim

__all__ = ["busy", "hosts"]

_BASES = ("IDLE", "ALLOCATED", "MIXED", "COMPLETING")
# Flags beside a base state that keep no job away.
_HARMLESS = ("COMPLETING", "PLANNED", "CLOUD", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "POWERED_UP", "BLOCKED")

_RESERVED = ("RESERVED", "MAINTENANCE")  # who is in the reservation may run there all the same


def busy(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of the nodes on which jobs run, anybody's."""
    return {str(row.get("name") or "") for row in rows if {"ALLOCATED", "MIXED"}.intersection(words(row.get("state")))}


def hosts(
    rows: Iterable[Mapping[str, Any]],
    partition: str,
    prefix: str,
    theirs: Mapping[str, Claim] | None = None,
    own: Reservation | None = None,
) -> list[Host]:
    """Return the hosts, sorted by name.

    Args:
        rows: nodes as Slurm's JSON has them, of any version.
        partition: the partition whose nodes count; empty for all.
        prefix: what the feature begins with whose rest names the class; empty for none.
        theirs: nodes that others' jobs have.
        own: reservation whose nodes count; None for all, of which those in others' reservations take no jobs.
    """
    found = {}
    for row in rows:
        name = str(row.get("name") or "")
        if not name or "," in name or (partition and partition not in _texts(row.get("partitions"))):
            continue
        if own is not None and name not in own.nodes:
            continue
        reason = _reason(row, own)
        features = _texts(row.get("active_features") or row.get("features"))
        claim = None if reason else (theirs or {}).get(name)
        words_for = reason if claim is None else claim.reason
        found[name] = Host(
            name,
            _class(features, prefix),
            not reason,
            words_for,
            claimed=claim is not None,
            free_at=None if claim is None else claim.until,
        )
    return [found[name] for name in sorted(found)]


def _class(features: list[str], prefix: str) -> str:
    named = (feature.removeprefix(prefix) for feature in features if prefix and feature.startswith(prefix))
    return next(named, "")


def _reason(row: Mapping[str, Any], own: Reservation | None) -> str:
    """Return why a node takes no jobs; empty if it does."""
    if own is not None and not own.active:
        return f"the reservation {own.name} is not active"
    harmless = _HARMLESS if own is None else (*_HARMLESS, *_RESERVED)
    states = [*words(row.get("state")), *words(row.get("state_flags") or [])]
    bad = [state for state in states if state not in _BASES and state not in harmless]
    if states and not bad:
        return ""
    shown = "+".join(bad).lower() or "of no known state"
    said = " ".join(str(row.get("reason") or "").split())
    return f"{shown}: {said}" if said else shown


def _texts(value: object) -> list[str]:
    """Return a list of texts, which 22.05 joins by commas in some places."""
    if isinstance(value, str):
        return [part for part in value.split(",") if part]
    return [str(part) for part in value] if isinstance(value, list) else []
