"""A network in virtual time: letters take a while, some are lost, some come twice, some meet a cut."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cosched.simulation.simulated_domain import Calendar

__all__ = ["NetworkPartition", "SimulatedNetwork"]


@dataclass(frozen=True, slots=True)
class NetworkPartition:
    """From `start` on and before `end` (seconds) no letter passes between these domains and the others."""

    domains: frozenset[str]
    start: float
    end: float


class SimulatedNetwork:
    """Carries letters between domains.

    Attributes:
        carried: letters that were sent, lost ones too.
        bytes: of those that went as documents.
    """

    def __init__(
        self,
        calendar: Calendar,
        delay: float = 0.05,
        loss: float = 0.0,
        seed: int = 0,
        twice: float = 0.0,
        cuts: Iterable[NetworkPartition] = (),
    ) -> None:
        """Build a network.

        Args:
            calendar: its time.
            delay: mean seconds that a letter takes; each takes half to one and a half of that.
            loss: share of the letters that never arrive.
            seed: of all that is drawn.
            twice: share of the letters that come a second time, later.
            cuts: times of partition.
        """
        self.carried = 0
        self.bytes = 0
        self._calendar = calendar
        self._delay = delay
        self._loss = loss
        self._twice = twice
        self._cuts = tuple(cuts)
        self._draw = random.Random(seed)  # noqa: S311  a repeatable draw, not a secret

    def carry(self, sender: str, receiver: str, arrive: Callable[[], None]) -> None:
        """Send something on its way; `arrive` is called when it is there."""
        self.carried += 1
        delay, lost = self._takes(), self._draw.random() < self._loss
        if lost or self._is_cut(sender, receiver):
            return
        self._calendar.at(self._calendar.time + delay, arrive)
        if self._twice and self._draw.random() < self._twice:
            self._calendar.at(self._calendar.time + delay + self._takes(), arrive)

    def _takes(self) -> float:
        return self._delay * self._draw.uniform(0.5, 1.5)

    def _is_cut(self, sender: str, receiver: str) -> bool:
        now = self._calendar.time
        return any(
            cut.start <= now < cut.end and (sender in cut.domains) != (receiver in cut.domains) for cut in self._cuts
        )
