"""What API and pages tell beside what the service does: the catalogue, models, and what has been."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.access.principal import Principal
    from cosched.portal.documents import Accuracy, CurvesView, ModelView, PlanPoint, RecordView, RunView, SearchPoint
    from cosched.prediction.catalogue import Application

__all__ = ["Insight"]


class Insight(Protocol):
    """The daemon as those see it who only look, beside `Service`.

    Methods may block and are called from several threads at once.
    """

    def applications(self) -> Sequence[Application]:
        """Return the catalogue, by name."""
        ...

    def models(self) -> Sequence[ModelView]:
        """Return all model files of the library."""
        ...

    def source(self, kind: str, name: str) -> str:
        """Return the text of a model file; raises `NotFoundError` where there is none."""
        ...

    def curves(self, name: str, values: Mapping[str, float], hosts: int) -> CurvesView:
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
        """Return where a task was planned as its plan changed, the oldest first."""
        ...

    def search(self) -> Sequence[SearchPoint]:
        """Return how the search's plan became better, the oldest first."""
        ...
