"""Read the catalogue and the model library, and evaluate a model on every hardware.

Start at `ModelQueries.curves`.
"""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

from cosched import evaluation
from cosched.api.documents import CurvesView, ModelView, ParameterView
from cosched.api.problems import NotFoundError
from cosched.app.views.task_views import profile_view
from cosched.errors import SystemFault, UserError
from cosched.evaluation.application import checked_parameters, refuse_tunable
from cosched.prediction.model_library import ModelLibrary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from cosched.api.documents import ProfileView
    from cosched.evaluation import ModelParameter
    from cosched.prediction.catalogue import Catalogue, CatalogueEntry
    from cosched.prediction.model_predictor import ModelPredictor

__all__ = ["ModelQueries"]


class ModelQueries:
    """Answers for applications and models. Methods may block; any thread may call them."""

    def __init__(
        self,
        catalogue: Catalogue,
        predictor: ModelPredictor,
        folders: Sequence[Path],
        *,
        turn: float = 10.0,
        longest: float = 5.0,
    ) -> None:
        """Set up.

        Args:
            catalogue: the applications known by name.
            predictor: evaluates models.
            folders: folders of the models.
            turn: seconds that a request waits while another one evaluates its model.
            longest: seconds after which no further hardware is looked at.
        """
        self._turn = turn
        self._longest = longest
        self._catalogue = catalogue
        self._predictor = predictor
        self._folders = tuple(folders)
        self._library = ModelLibrary(folders)
        self._evaluating = threading.Lock()  # models may be made to take long: one at a time leaves others their turn

    def applications(self) -> list[CatalogueEntry]:
        """Return the catalogue, by name."""
        return self._catalogue.applications()

    def models(self) -> list[ModelView]:
        """Return all model files of the library."""
        return [ModelView(kind=file.kind, name=file.name, title=file.title) for file in self._library.files()]

    def source(self, kind: str, name: str) -> str:
        """Return the text of a model file.

        Raises:
            NotFoundError: there is none of this kind and name.
        """
        try:
            return self._library.source(kind, name)
        except UserError as error:
            raise NotFoundError(str(error)) from error

    def curves(
        self, name: str, values: Mapping[str, float], hosts: int, check: Callable[[], None] = lambda: None
    ) -> CurvesView:
        """Evaluate an application model on every hardware of the library.

        Args:
            name: name of the model.
            values: values of its parameters.
            hosts: largest host count.
            check: called between hardware models; raises when the answer is not wanted any more.

        Raises:
            UserError: model or values are wrong, whatever the hardware.
            SystemFault: another request's model takes long.
        """
        if not self._evaluating.acquire(timeout=self._turn):
            raise SystemFault("a model is being evaluated for another user: try again in a moment")
        try:
            return self._curves(name, values, hosts, check)
        finally:
            self._evaluating.release()

    def _curves(self, name: str, values: Mapping[str, float], hosts: int, check: Callable[[], None]) -> CurvesView:
        model = evaluation.load(name, self._folders)
        refuse_tunable(model)  # what is wrong on all hardware is said once
        checked_parameters(model, values)
        until = time.monotonic() + self._longest  # the time of a process beside us is not that of this thread
        profiles: dict[str, ProfileView] = {}
        faults: dict[str, str] = {}
        for file in self._library.files():
            if file.kind != "hardware":
                continue
            check()
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


def _parameter(found: ModelParameter) -> ParameterView:
    least, most = (value if math.isfinite(value) else None for value in (found.least, found.most))
    return ParameterView(name=found.name, default=found.default, min=least, max=most)
