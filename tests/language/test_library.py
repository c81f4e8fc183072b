from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched.language.library import find, locate

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for name in ("applications/one.psl", "templates/two.psl", "hardware/big_box_9.hmcl", "three.psl"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return tmp_path


@pytest.mark.parametrize("name", ["one", "two", "three"])
def test_objects_are_found_in_every_folder(library: Path, name: str) -> None:
    found = find(name, ".psl", [library])
    assert found
    assert found.stem == name


def test_the_including_files_folder_comes_first(library: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "two.psl").touch()
    assert find("two", ".psl", [library], own) == own / "two.psl"


@pytest.mark.parametrize("name", ["big_box_9", "BigBox9", "big-box-9"])
def test_hardware_is_found_however_it_is_written(library: Path, name: str) -> None:
    assert find(name, ".hmcl", [library]) == library / "hardware" / "big_box_9.hmcl"


def test_names_are_case_sensitive_for_objects(library: Path) -> None:
    assert find("One", ".psl", [library]) is None


def test_an_unknown_name_lists_what_there_is(library: Path) -> None:
    with pytest.raises(UserError, match="no application 'onne' in the library: did you mean one"):
        locate("onne", ".psl", "application", [library])
    with pytest.raises(UserError, match="known are one, three"):
        locate("zzz", ".psl", "application", [library])
    with pytest.raises(UserError, match="no hardware 'small' beside the model or in the library"):
        locate("small", ".hmcl", "hardware", [library], library / "applications")
    assert locate("./zzz.psl", ".psl", "application", [library]).name == "zzz.psl"


def test_a_name_longer_than_any_files_is_not_found(library: Path) -> None:
    assert find(300 * "a", ".psl", [library], library) is None
    assert find(300 * "a", ".hmcl", [library], library) is None
