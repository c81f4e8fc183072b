"""The load of a host that is not ours: how often its owner comes back, and for how long.

Sun and Wu's Grid Harvest Service (Sliamu, Hou and Cao, "Enhanced Adaptive Scheduling for the Grid Harvest Service",
section 2.2) takes the local jobs of a host as a Poisson process. Interruptions are measured directly here, so that
only the idle periods need be exponential; busy periods have any distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Coupling", "HostLoad", "Interruption", "LoadTrigger"]


class Interruption(StrEnum):
    """What becomes of a program while the owner of its host works there."""

    SUSPEND = "suspend"  # it stands still, or goes on with a part of the processor
    EVICT = "evict"  # it ends, and begins again


class Coupling(StrEnum):
    """Whether the parts of a program on several hosts wait for one another."""

    COUPLED = "coupled"  # it advances only where no owner is there, on none of its hosts
    INDEPENDENT = "independent"  # each part goes on by itself; the program ends with the last


class LoadTrigger(StrEnum):
    """What a load or a run that is not as predicted leads to."""

    ACT = "act"  # to a new plan, to be told, and what runs is moved as far as it can be
    ADVISE = "advise"  # to a new plan, and to be told
    OFF = "off"  # to nothing: plans keep to what the past foretells


@dataclass(frozen=True, slots=True, order=True)
class HostLoad:
    """A host's load by others as a process: idle periods, each followed by a busy one.

    Attributes:
        rate: interruptions per second in which the host is idle (the paper's lambda), 0 or more.
        mean: mean length of a busy period in seconds.
        square: mean square of that length, at least the square of `mean`.
        depth: part of the host that its owner takes in a busy period, above 0 and at most 1; 1 where our programs stand
            still meanwhile.
    """

    rate: float = 0.0
    mean: float = 0.0
    square: float = 0.0
    depth: float = 1.0

    @property
    def busy(self) -> float:
        """Part of the time in which the host is busy, 0 to below 1."""
        periods = self.rate * self.mean
        return periods / (1 + periods)

    @property
    def lost(self) -> float:
        """Part of the host that others take over a long time (the paper's rho), 0 to below 1."""
        return self.depth * self.busy

    @property
    def variability(self) -> float:
        """Variance of the idle time in a long time, per second of it: seconds."""
        return self.rate * self.square * (1 - self.busy) ** 3
