from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched import resources
from cosched.errors import UserError
from cosched.prediction.model_library import ModelLibrary

if TYPE_CHECKING:
    from pathlib import Path


def test_the_library_that_travels_with_cosched_is_on_the_shelf() -> None:
    files = {(file.kind, file.name): file for file in ModelLibrary([resources.models()]).files()}
    assert files["applications", "jacobi"].title.startswith("Jacobi iteration")
    assert ("templates", "wavefront") in files
    assert ("hardware", "sgi_origin2000") in files


def test_where_names_meet_the_first_folder_counts(tmp_path: Path) -> None:
    for folder, text in (("first", "(* one *)"), ("second", "(* two *)")):
        (tmp_path / folder / "applications").mkdir(parents=True)
        (tmp_path / folder / "applications" / "app.psl").write_text(text)
    shelf = ModelLibrary([tmp_path / "first", tmp_path / "second", tmp_path / "third"])
    assert [file.title for file in shelf.files()] == ["one"]
    assert shelf.source("applications", "app") == "(* one *)"


@pytest.mark.parametrize(("kind", "name"), [("applications", "../secret"), ("..", "app"), ("hardware", "app")])
def test_nothing_else_is_read(tmp_path: Path, kind: str, name: str) -> None:
    (tmp_path / "applications").mkdir()
    (tmp_path / "applications" / "app.psl").write_text("x")
    (tmp_path / "secret.psl").write_text("x")
    with pytest.raises(UserError, match="there is no model"):
        ModelLibrary([tmp_path]).source(kind, name)


def test_what_is_not_text_has_no_title(tmp_path: Path) -> None:
    (tmp_path / "hardware").mkdir()
    (tmp_path / "hardware" / "odd.hmcl").write_bytes(b"\xff\xfe\x00(* \xff *)")
    assert len(ModelLibrary([tmp_path]).files()) == 1
