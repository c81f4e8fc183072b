"""What pages show beside what the API's service tells: the catalogue, models, what has been, and output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.access.principal import Principal
    from cosched.evaluation import Parameter
    from cosched.portal.documents import Accuracy, PlanPoint, RecordView, RunView, SearchPoint
    from cosched.prediction.catalogue import Application
    from cosched.prediction.profile import Profile
    from cosched.prediction.shelf import ModelFile

__all__ = ["Curves", "Insight"]


@dataclass(frozen=True, slots=True)
class Curves:
    """An application model on every hardware: what may be set, and what came of it.

    Attributes:
        parameters: of the model.
        values: those that were set.
        profiles: run time on 1, 2, … hosts by name of the hardware.
        faults: why there is no profile, by name of the hardware.
    """

    parameters: tuple[Parameter, ...]
    values: Mapping[str, float]
    profiles: Mapping[str, Profile]
    faults: Mapping[str, str]


class Insight(Protocol):
    """The daemon as pages see it, beside `Service`. Methods may block and are called from several threads at once."""

    def applications(self) -> Sequence[Application]:
        """Return the catalogue, by name."""
        ...

    def models(self) -> Sequence[ModelFile]:
        """Return all model files of the library."""
        ...

    def source(self, kind: str, name: str) -> str:
        """Return the text of a model file; raises `NotFoundError` where there is none."""
        ...

    def curves(self, name: str, values: Mapping[str, float], hosts: int) -> Curves:
        """Evaluate an application model on every hardware of the library."""
        ...

    def runs(self, asker: Principal, since: float) -> Sequence[RunView]:
        """Return the attempts that ended after this time, the last ones first where there are too many."""
        ...

    def log(self, asker: Principal, limit: int, offset: int) -> Sequence[RecordView]:
        """Return lines of the log, the newest first; those about other users' tasks are for operators alone."""
        ...

    def accuracy(self) -> Sequence[Accuracy]:
        """Return how well run times were predicted, by application and hardware."""
        ...

    def planned(self, task: str) -> Sequence[PlanPoint]:
        """Return where a task was planned as its plan changed, the oldest first; empty after a restart."""
        ...

    def search(self) -> Sequence[SearchPoint]:
        """Return how the search's plan became better, the oldest first."""
        ...
