from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from cosched import resources
from cosched.api.problems import NotFoundError
from cosched.app.model_queries import ModelQueries
from cosched.errors import SystemFault, UserError
from cosched.prediction.model_predictor import ModelPredictor
from tests.daemon.makers import catalogue

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def models(tmp_path: Path) -> ModelQueries:
    folders = [resources.models()]
    return ModelQueries(catalogue(tmp_path), ModelPredictor(folders), folders)


def test_a_model_that_takes_long_takes_no_more_than_its_turn(
    models: ModelQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosched.app.model_queries._LONG", -1.0)
    curves = models.curves("jacobi_measured", {}, 2)
    assert curves.profiles == {}
    assert "took long: ask for fewer hosts" in curves.faults["sgi_origin2000"]


def test_time_that_another_process_takes_counts(models: ModelQueries, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 1000, 4))  # each look at the clock is four seconds later, none of them spent by this thread
    # Not the module's function: the engine's thread looks at that as well.
    monkeypatch.setattr("cosched.app.model_queries.time", SimpleNamespace(monotonic=lambda: float(next(now))))
    curves = models.curves("jacobi_measured", {}, 2)
    assert len(curves.profiles) == 1
    assert any("took long" in fault for fault in curves.faults.values())


def test_models_are_evaluated_one_at_a_time(models: ModelQueries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched.app.model_queries._TURN", 0.01)
    with models._evaluating, pytest.raises(SystemFault, match="try again in a moment"):
        models.curves("jacobi_measured", {}, 2)
    with pytest.raises(UserError):
        models.curves("jacobi", {"nothing": 1.0}, 2)
    assert models.curves("jacobi_measured", {}, 2).profiles  # a fault gives the turn back


def test_models_are_read_and_evaluated(models: ModelQueries) -> None:
    assert ("applications", "sweep3d_measured") in {(file.kind, file.name) for file in models.models()}
    curves = models.curves("jacobi_measured", {"Scale": 2.0}, 4)
    assert [parameter.name for parameter in curves.parameters] == ["Scale"]
    assert set(curves.profiles) | set(curves.faults) >= {"sgi_origin2000"}
    with pytest.raises(NotFoundError):
        models.source("applications", "nothing")
    with pytest.raises(NotFoundError):
        models.source("..", "x")
