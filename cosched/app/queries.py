"""Queries read what pages show: catalogue, model library, runs, log, accuracy, plan history."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

from cosched import evaluation
from cosched.api.documents import Accuracy, CurvesView, ModelView, ParameterView, RecordView, RunView
from cosched.api.problems import NotFoundError
from cosched.app.core_access import CoreClient
from cosched.app.plan_history import PlanHistory
from cosched.app.views import profile_view
from cosched.errors import SystemFault, UserError
from cosched.evaluation.application import checked_parameters
from cosched.prediction.calibration import Correction
from cosched.prediction.model_library import ModelLibrary
from cosched.store.plan_points import PlanPoints

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cosched.access.principals import Principal
    from cosched.api.documents import PlanPoint, ProfileView, SearchPoint
    from cosched.app.core_access import CoreAccess
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Attempt, Task
    from cosched.evaluation import ModelParameter
    from cosched.prediction.catalogue import Catalogue, CatalogueEntry
    from cosched.prediction.model_predictor import ModelPredictor
    from cosched.store.store import Store

__all__ = ["DomainQueries"]

_MOST_RUNS = 4000
_COMPLETED = 2000
_RATIOS = 60
_TURN = 10.0  # seconds to wait for another's model
_LONG = 5.0  # seconds after which no further hardware is looked at


class DomainQueries:
    """Implements `cosched.app.interface.DomainInsight`.

    Attributes:
        memory: what the plan was; to be started and stopped with the engine.
    """

    def __init__(
        self,
        access: CoreAccess,
        core: Coscheduler,
        store: Store,
        catalogue: Catalogue,
        predictor: ModelPredictor,
        folders: Sequence[Path],
    ) -> None:
        """Set up, and begin to remember what the engine plans.

        Args:
            access: to the core.
            core: read on the engine's thread alone.
            store: what has happened.
            catalogue: the applications known by name.
            predictor: evaluates models.
            folders: of the models.
        """
        self._core = CoreClient(access)
        self._store = store
        self._catalogue = catalogue
        self._predictor = predictor
        self._folders = tuple(folders)
        self._shelf = ModelLibrary(folders)
        self._evaluating = threading.Lock()  # models may be made to take long: one at a time leaves others their turn
        self.memory = PlanHistory(core, PlanPoints(store))
        access.subscribe(self.memory.heard)

    def applications(self) -> list[CatalogueEntry]:
        """Return the catalogue; see `Insight`."""
        return self._catalogue.applications()

    def models(self) -> list[ModelView]:
        """Return all model files; see `Insight`."""
        return [ModelView(kind=file.kind, name=file.name, title=file.title) for file in self._shelf.files()]

    def source(self, kind: str, name: str) -> str:
        """Return a model's text; see `Insight`."""
        try:
            return self._shelf.source(kind, name)
        except UserError as error:
            raise NotFoundError(str(error)) from error

    def curves(self, name: str, values: Mapping[str, float], hosts: int) -> CurvesView:
        """Evaluate a model on every hardware; see `Insight`."""
        if not self._evaluating.acquire(timeout=_TURN):
            raise SystemFault("a model is being evaluated for somebody else: try again in a moment")
        try:
            return self._curves(name, values, hosts)
        finally:
            self._evaluating.release()

    def _curves(self, name: str, values: Mapping[str, float], hosts: int) -> CurvesView:
        model = evaluation.load(name, self._folders)
        checked_parameters(model, values)  # what is wrong on all hardware is said once
        until = time.monotonic() + _LONG  # the time of a process beside us is not that of this thread
        profiles: dict[str, ProfileView] = {}
        faults: dict[str, str] = {}
        for file in self._shelf.files():
            if file.kind != "hardware":
                continue
            if time.monotonic() > until:
                faults[file.name] = "not evaluated, as the others took long: ask for fewer hosts or smaller parameters"
                continue
            try:
                profiles[file.name] = profile_view(self._predictor.model_profile(name, values, file.name, hosts))
            except UserError as error:
                faults[file.name] = str(error)
        return CurvesView(
            model=name,
            parameters=tuple(map(_parameter, evaluation.parameters(model))),
            values=dict(values),
            profiles=profiles,
            faults=faults,
        )

    def runs(self, asker: Principal, since: float) -> list[RunView]:
        """Return what has run; see `Insight`."""
        return [_run(asker, attempt, task) for attempt, task in self._store.ran(since, _MOST_RUNS)]

    def log(self, asker: Principal, limit: int, offset: int) -> list[RecordView]:
        """Return the log; see `Insight`."""
        lines = self._store.log(None if asker.oversees else asker.name, limit, offset)
        return [RecordView(time=line.time, kind=line.kind, task=line.task, detail=line.detail) for line in lines]

    def accuracy(self) -> list[Accuracy]:
        """Return how well run times were predicted; see `Insight`."""
        learned = self._core.ask(lambda core, _time: core.corrections())
        ratios: dict[tuple[str, str, str], list[float]] = {}
        for task in self._store.completed(_COMPLETED):
            if task.profile is not None and task.predicted and task.actual:
                key = (task.application, task.profile.hardware or "own figures", task.correction)
                ratios.setdefault(key, []).append(task.actual / task.predicted)
        return [
            Accuracy(
                application=application,
                hardware=hardware,
                ratios=tuple(values[-_RATIOS:]),
                factor=learned.get(key, Correction()).factor,
                runs=learned.get(key, Correction()).runs,
            )
            for (application, hardware, key), values in sorted(ratios.items())
        ]

    def planned(self, task: str) -> list[PlanPoint]:
        """Return where a task was planned; see `Insight`."""
        return self.memory.planned(task)

    def search(self) -> list[SearchPoint]:
        """Return how the plan became better; see `Insight`."""
        return self.memory.search()


def _parameter(found: ModelParameter) -> ParameterView:
    least, most = (value if math.isfinite(value) else None for value in (found.least, found.most))
    return ParameterView(name=found.name, default=found.default, min=least, max=most)


def _run(asker: Principal, attempt: Attempt, task: Task) -> RunView:
    assert attempt.started is not None
    assert attempt.finished is not None
    mine = asker.may_see(task.owner)
    return RunView(
        task=task.id if mine else "",
        name=task.name if mine else "",
        application=task.application if mine else "",
        hosts=attempt.hosts,
        start=attempt.started,
        end=attempt.finished,
        deadline=task.deadline if mine else None,
        state=str(attempt.state),
    )
