from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from cosched import resources
from cosched.app.guest_tasks import CarriedModels, model_digest
from cosched.coscheduler.handovers import ModelBundle, ModelBundleFile
from cosched.errors import UserError
from cosched.prediction.model_predictor import ModelPredictor

if TYPE_CHECKING:
    from pathlib import Path

HARDWARE = "sgi_origin2000"


def carried(folder: Path, library: list[Path]) -> CarriedModels:
    return CarriedModels(folder, library, ModelPredictor(library))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    shutil.copytree(resources.models(), folder)
    return folder


def test_a_model_travels_with_all_that_it_includes(tmp_path: Path, library: Path) -> None:
    model = carried(tmp_path / "a", [library]).gathered("sweep3d")
    there = carried(tmp_path / "b", [library / "hardware"])
    found = there.profile(model, {}, HARDWARE, 2)
    assert len(found.seconds) == 2
    assert there.profile(model, {}, HARDWARE, 2) is found


def test_a_model_is_read_again_when_one_of_its_files_has_changed(tmp_path: Path, library: Path) -> None:
    models = carried(tmp_path / "a", [library])
    first = models.gathered("jacobi")
    assert models.gathered("jacobi") is first
    path = library / "applications/jacobi.psl"
    path.write_text(path.read_text() + "\n")
    assert models.gathered("jacobi") != first


def test_a_text_is_a_model_like_any(tmp_path: Path, library: Path) -> None:
    models = carried(tmp_path / "a", [library])
    named, text = models.gathered("jacobi"), (library / "applications/jacobi.psl").read_text()
    given = models.gathered_text(text)
    assert given.name == "model"
    assert len(given.files) == len(named.files)
    assert models.profile(given, {}, HARDWARE, 4).seconds == models.profile(named, {}, HARDWARE, 4).seconds


def test_models_that_nobody_asks_for_any_more_go_and_may_come_again(tmp_path: Path, library: Path) -> None:
    models = carried(tmp_path / "a", [library])
    assert models.prune(60.0) == 0
    old, new = (models.gathered(name) for name in ("jacobi", "sweep3d"))
    for model in (old, new):
        models.profile(model, {}, HARDWARE, 2)
    os.utime(tmp_path / "a" / model_digest(old), (0, 0))
    assert models.prune(60.0) == 1
    assert [folder.name for folder in (tmp_path / "a").iterdir()] == [model_digest(new)]
    assert len(models.profile(old, {}, HARDWARE, 3).seconds) == 3  # on another number of hosts: it is read anew


def test_a_model_that_is_asked_for_stays(tmp_path: Path, library: Path) -> None:
    models = carried(tmp_path / "a", [library])
    model = models.gathered("jacobi")
    models.profile(model, {}, HARDWARE, 2)
    os.utime(tmp_path / "a" / model_digest(model), (0, 0))
    models.profile(model, {}, HARDWARE, 3)
    assert models.prune(60.0) == 0


@pytest.mark.parametrize("name", ["../x.psl", "a/x.psl"])
def test_no_file_is_written_outside_its_folder(tmp_path: Path, name: str) -> None:
    models = carried(tmp_path / "a", [resources.models()])
    with pytest.raises(UserError, match="plain name"):
        models.profile(ModelBundle("x", (ModelBundleFile(name, "text"),)), {}, HARDWARE, 1)
    assert not (tmp_path / "x.psl").exists()


def test_two_files_of_one_name_cannot_travel_together(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "main.psl").write_text(
        'application main { include other; option { hrduse = "h"; } proc exec init { } }\n'
    )
    models = carried(tmp_path / "kept", [tmp_path])
    with pytest.raises(UserError):
        models.gathered("main")
