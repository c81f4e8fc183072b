"""Values of advice on advertising: what was observed, what settings lead to, what is advised.

`cosched.simulation.advertising_search.advise` makes an `Advice` from an `AdviserSnapshot`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.agents.agent_settings import AdvertisingSettings, AgentSettings, PeerRole
    from cosched.prediction.profile import Profile

__all__ = ["AdvertisingOutcome", "Advice", "AdviserSnapshot", "ObservedDomain", "ObservedTask"]

_LETTER_COST = 1e-3  # what a letter for each task costs; a late task costs 1


@dataclass(frozen=True, slots=True)
class ObservedTask:
    """A task that was submitted here.

    Attributes:
        after: seconds after the first.
        allowance: deadline - submission, seconds.
        profile: predicted on our hosts.
    """

    after: float
    allowance: float
    profile: Profile


@dataclass(frozen=True, slots=True)
class ObservedDomain:
    """Another domain as it is known here.

    Attributes:
        name: name of the domain.
        via: the neighbour that told of it; itself: it is one.
        role: role of that neighbour.
        hosts: its number of hosts.
        hardware: resource model of most of them.
        slowness: run time there ÷ here, as models have it; 1 where nothing is known.
        busy: share of its hosts that are taken, as it advertised.
    """

    name: str
    via: str
    role: PeerRole
    hosts: int
    hardware: str
    slowness: float
    busy: float


@dataclass(frozen=True, slots=True)
class AdviserSnapshot:
    """Observations of the domain, and the present way of advertising.

    Attributes:
        settings: settings of our agent.
        hosts: number of hosts of this domain.
        tasks: oldest first.
        others: domains.
    """

    settings: AgentSettings
    hosts: int
    tasks: tuple[ObservedTask, ...]
    others: tuple[ObservedDomain, ...]


@dataclass(frozen=True, slots=True)
class AdvertisingOutcome:
    """Results of one way of advertising.

    Attributes:
        late: share of the tasks that missed their deadlines.
        lateness: by how much the tasks missed them, mean ÷ the mean of their shortest run times.
        letters: number for each task, letters about services included.
    """

    late: float
    lateness: float
    letters: float

    @property
    def cost(self) -> float:
        """In units of a late task."""
        return self.late + self.lateness + _LETTER_COST * self.letters


@dataclass(frozen=True, slots=True)
class Advice:
    """Result of the trials.

    Attributes:
        present: how it is done.
        present_outlook: the outlook with it.
        best: the best that was tried; `present` where nothing was clearly better.
        best_outlook: the outlook with it.
        tried: how many ways.
        tasks: how many tasks each of them met.
    """

    present: AdvertisingSettings
    present_outlook: AdvertisingOutcome
    best: AdvertisingSettings
    best_outlook: AdvertisingOutcome
    tried: int
    tasks: int

    @property
    def changes(self) -> bool:
        """Return whether the advice differs from the present settings."""
        return self.best != self.present
