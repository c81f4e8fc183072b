"""A network in virtual time delays letters, loses some, repeats some, and may be partitioned."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.simulation.simulated_domain import Calendar

__all__ = ["NetworkFaults", "NetworkPartition", "SimulatedNetwork"]


@dataclass(frozen=True, slots=True)
class NetworkPartition:
    """No letter passes between these domains and the others from `start` until before `end` (seconds)."""

    domains: frozenset[str]
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class NetworkFaults:
    """Delay and reliability of a network.

    Attributes:
        delay: mean seconds that a letter takes; each takes half to one and a half of that.
        loss: share of the letters that never arrive.
        twice: share of the letters that come a second time, later.
        partitions: times at which domains are cut off.
    """

    delay: float = 0.05
    loss: float = 0.0
    twice: float = 0.0
    partitions: tuple[NetworkPartition, ...] = ()


class SimulatedNetwork:
    """Carries letters between domains.

    Attributes:
        calendar: its time.
        carried: letters that were sent, lost ones too.
        bytes: bytes of the letters that went as documents.
    """

    def __init__(self, calendar: Calendar, faults: NetworkFaults, seed: int = 0) -> None:
        """Build a network.

        Args:
            calendar: its time.
            faults: delays, losses, repetitions and partitions.
            seed: seed of everything drawn.
        """
        self.calendar = calendar
        self.carried = 0
        self.bytes = 0
        self._faults = faults
        self._draw = random.Random(seed)  # noqa: S311  a repeatable draw, not a secret

    def carry(self, sender: str, receiver: str, arrive: Callable[[], None], size: int = 0) -> None:
        """Send a letter of `size` bytes; `arrive` is called when it is there."""
        self.carried += 1
        self.bytes += size
        delay, lost = self._drawn_delay(), self._draw.random() < self._faults.loss
        if lost or self._is_cut(sender, receiver):
            return
        self.calendar.at(self.calendar.time + delay, arrive)
        if self._faults.twice and self._draw.random() < self._faults.twice:
            self.calendar.at(self.calendar.time + delay + self._drawn_delay(), arrive)

    def _drawn_delay(self) -> float:
        return self._faults.delay * self._draw.uniform(0.5, 1.5)

    def _is_cut(self, sender: str, receiver: str) -> bool:
        now = self.calendar.time
        return any(
            cut.start <= now < cut.end and (sender in cut.domains) != (receiver in cut.domains)
            for cut in self._faults.partitions
        )
