"""The reservation that cosched's jobs run in, where there is one: its nodes are the domain, while it lasts."""

from __future__ import annotations

from dataclasses import dataclass

from cosched.connector import ConnectorError
from cosched_slurm.nodelist import node_names

__all__ = ["Reservation", "reservation"]


@dataclass(frozen=True, slots=True)
class Reservation:
    """A reservation as Slurm shows it.

    Attributes:
        name: its name.
        nodes: names of its nodes.
        active: jobs may run in it now.
    """

    name: str
    nodes: frozenset[str]
    active: bool


def reservation(text: str) -> Reservation:
    """Read what `scontrol --oneliner show reservation NAME` prints.

    Raises:
        ConnectorError: it is no reservation.
    """
    fields = dict(word.partition("=")[::2] for word in text.split())
    if not fields.get("ReservationName") or "Nodes" not in fields:
        raise ConnectorError(f"scontrol described no reservation: {' '.join(text.split())[:80]!r}", transient=True)
    nodes = frozenset(node_names(fields["Nodes"])) - {"(null)"}
    return Reservation(fields["ReservationName"], nodes, fields.get("State") == "ACTIVE")
