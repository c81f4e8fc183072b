from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from cosched import resources
from cosched.api.problems import NotFoundError
from cosched.app.model_queries import ModelQueries
from cosched.errors import SystemFault, UserError
from cosched.prediction.model_predictor import ModelPredictor
from tests.daemon.makers import catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cosched.prediction.profile import Profile


class SlowPredictor(ModelPredictor):
    """Waits so many seconds at each hardware, or until it is released; none of it is its thread's own time."""

    def __init__(self, seconds: float) -> None:
        super().__init__([resources.models()])
        self.began, self.released = threading.Event(), threading.Event()
        self.seconds = seconds

    def model_profile(
        self, model: str, values: Mapping[str, float], hardware: str, hosts: int, ranks: int = 0
    ) -> Profile:
        self.began.set()
        self.released.wait(self.seconds)
        return super().model_profile(model, values, hardware, hosts, ranks)


@pytest.fixture
def models(tmp_path: Path) -> ModelQueries:
    folders = [resources.models()]
    return ModelQueries(catalogue(tmp_path), ModelPredictor(folders), folders)


def test_a_model_that_takes_long_takes_no_more_than_its_turn(tmp_path: Path) -> None:
    folders = [resources.models()]
    curves = ModelQueries(catalogue(tmp_path), ModelPredictor(folders), folders, longest=-1.0).curves(
        "jacobi_measured", {}, 2
    )
    assert curves.profiles == {}
    assert "took long: ask for fewer hosts" in curves.faults["sgi_origin2000"]


def test_time_that_another_process_takes_counts(tmp_path: Path) -> None:
    models = ModelQueries(catalogue(tmp_path), SlowPredictor(2.1), [resources.models()], longest=2.0)
    curves = models.curves("jacobi_measured", {}, 2)
    assert len(curves.profiles) == 1
    assert any("took long" in fault for fault in curves.faults.values())


def test_a_tunable_model_has_no_curves_and_that_is_said_once(models: ModelQueries) -> None:
    with pytest.raises(UserError, match="junctions is tunable and has no `proc exec init`"):
        models.curves("junctions", {}, 2)


def test_curves_that_nobody_waits_for_end_between_hardware_models(models: ModelQueries) -> None:
    def check() -> None:
        raise SystemFault("gone")

    with pytest.raises(SystemFault, match="gone"):
        models.curves("jacobi_measured", {}, 2, check)
    assert models.curves("jacobi_measured", {}, 2).profiles


def test_models_are_evaluated_one_at_a_time(tmp_path: Path) -> None:
    predictor = SlowPredictor(60.0)
    models = ModelQueries(catalogue(tmp_path), predictor, [resources.models()], turn=0.01)
    other = threading.Thread(target=models.curves, args=("jacobi_measured", {}, 2))
    other.start()
    assert predictor.began.wait(60)
    with pytest.raises(SystemFault, match="try again in a moment"):
        models.curves("jacobi_measured", {}, 2)
    predictor.released.set()
    other.join()
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
