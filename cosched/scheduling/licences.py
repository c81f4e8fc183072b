"""Tasks hold licences while they run: consumables of the whole domain, beside its hosts.

Start at `Licences`. `binding` leaves out what decides nothing, which decoders and their machine code then never see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["HeldLicences", "Licences", "binding"]


class HeldLicences(NamedTuple):
    """Licences that a running task still holds.

    Attributes:
        until: when they are given back, in seconds after the origin.
        taken: amount of each licence.
    """

    until: float
    taken: tuple[int, ...]


@dataclass(frozen=True)
class Licences:
    """Numbers of licences: how many the domain has, and how many tasks ask for.

    Attributes:
        names: names of the L licences.
        total: (L,) int64, how many there are.
        demand: (m, L) int64, what each task holds while it runs, on however many hosts.
        held: what is in use at the origin.
    """

    names: tuple[str, ...]
    total: NDArray[np.int64]
    demand: NDArray[np.int64]
    held: tuple[HeldLicences, ...] = ()

    @property
    def impossible(self) -> NDArray[np.bool_]:
        """Return (m,): which tasks ask for more than there will ever be."""
        beyond: NDArray[np.bool_] = np.any(self.demand > self.total, axis=1)
        return beyond


def binding(licences: Licences | None) -> Licences | None:
    """Return the licences that can make a task wait, or None.

    One of which all tasks could have what they ask for at once decides nothing. The others are counted in the largest
    unit that divides all amounts.
    """
    if licences is None:
        return None
    asked = licences.demand.sum(axis=0)
    held = np.array([item.taken for item in licences.held], dtype=np.int64).reshape(-1, len(licences.names))
    scarce = (asked > 0) & (asked > licences.total - held.sum(axis=0))
    if not scarce.any():
        return None
    amounts = np.concatenate((licences.demand[:, scarce], held[:, scarce], licences.total[np.newaxis, scarce]))
    unit = np.maximum(np.gcd.reduce(amounts, axis=0), 1)
    return Licences(
        tuple([name for name, each in zip(licences.names, scarce.tolist(), strict=True) if each]),
        licences.total[scarce] // unit,
        licences.demand[:, scarce] // unit,
        tuple(
            [
                HeldLicences(item.until, tuple(taken))
                for item, taken in zip(licences.held, (held[:, scarce] // unit).tolist(), strict=True)
                if any(taken)
            ]
        ),
    )
