from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched import resources
from cosched.errors import UserError
from cosched.prediction.catalogue import Catalogue, CatalogueEntry
from cosched.prediction.model_predictor import ModelPredictor

if TYPE_CHECKING:
    from pathlib import Path

SWEEP = """
description = "Transport sweep"
model = "sweep3d"
command = ["/opt/sweep3d", "--nx={nx}", "{{literal}}", "{title}"]
[parameters.nx]
type = "integer"
default = 50
min = 1
max = 1000
[parameters.title]
type = "text"
default = "plain"
"""


def write(folder: Path, text: str, name: str = "sweep3d") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def test_an_entry_takes_its_name_from_its_file(tmp_path: Path) -> None:
    write(tmp_path, SWEEP)
    entry = Catalogue([tmp_path]).get("sweep3d")
    assert entry.model == "sweep3d"
    values = entry.values({"nx": "60"})
    assert values == {"nx": 60, "title": "plain"}
    assert entry.arguments(values) == ("/opt/sweep3d", "--nx=60", "{literal}", "plain")
    assert entry.model_parameters(values) == {"nx": 60.0}


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), max_size=50))
def test_a_value_stays_within_its_one_argument(value: str) -> None:
    entry = CatalogueEntry.model_validate(
        {"name": "x", "command": ["run", "a{text}b", "{text}"], "parameters": {"text": {"type": "text"}}}
    )
    assert entry.arguments(entry.values({"text": value})) == ("run", f"a{value}b", value)


def test_an_unknown_application_is_answered_with_what_there_is(tmp_path: Path) -> None:
    write(tmp_path, SWEEP)
    with pytest.raises(UserError, match=r"no application 'sweep' \(did you mean sweep3d\?\): the catalogue is sweep3d"):
        Catalogue([tmp_path]).get("sweep")


def test_a_relative_program_is_beside_its_entry(tmp_path: Path) -> None:
    write(tmp_path, 'command = ["../bin/run", "../data"]', "one")
    write(tmp_path, 'command = ["run"]', "two")
    one, two = Catalogue([tmp_path]).applications()
    assert one.command == (str(tmp_path.parent / "bin" / "run"), "../data")
    assert two.command == ("run",)


def test_a_later_folder_replaces_an_entry(tmp_path: Path) -> None:
    for folder, description in (("first", "one"), ("second", "two")):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, f'description = "{description}"\ncommand = ["true"]\n')
    catalogue = Catalogue([tmp_path / "first", tmp_path / "second"])
    assert [entry.description for entry in catalogue.applications()] == ["two"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "command is missing"),
        ("command = []", "command: Tuple should have at least 1 item"),
        ('command = ["{x}"]', "name the program there, without placeholders"),
        ('command = ["-h"]', "command starts with '-h'"),
        ('command = ["a", "{x}"]', r"command uses \{x\}, which is not among its parameters"),
        ('command = ["a", "}"]', "stray '}' in '}': write it twice"),
        ('command = ["a"]\nmodle = "x"', "unknown key modle: valid here are name, description, model"),
        (
            'command = ["a"]\n[parameters.n]\nmaks = 3',
            "unknown key parameters.n.maks: valid here are type, model",
        ),
        ('command = ["a"]\n[parameters.n]\ndefault = "x"', "parameters.n: its own value is 'x': give a number"),
        ('command = ["a"]\n[parameters.n]\nmin = 3\nmax = 2', "parameters.n: min 3 is above max 2"),
        ('command = ["a"]\n[parameters.n]\ntype = "text"\nmin = 3', "text has no min and max"),
        ('command = ["a"]\n[hosts]\nmin = 9\nmax = 4', "hosts: min 9 is above max 4"),
        ('command = ["a"]\nname = "a b"', "name: String should match"),
        ("command = 3 4", "at line 1"),
        ("\ud800", "is not UTF-8 text"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "sweep3d.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(UserError, match=f"^{re.escape(str(path))}.*{expected}"):
        Catalogue([tmp_path])


def test_all_faults_of_all_files_are_named(tmp_path: Path) -> None:
    write(tmp_path, "x = 1", "one")
    write(tmp_path, 'command = ["{"]\n', "two")
    write(tmp_path, SWEEP, "three")
    write(tmp_path, 'name = "three"\ncommand = ["true"]\n', "zzz")
    with pytest.raises(UserError) as caught:
        Catalogue([tmp_path, tmp_path / "absent"])
    for part in (
        "one.toml: command is missing",
        "one.toml: unknown key x",
        "two.toml",
        "zzz.toml: another",
        "absent: no",
    ):
        assert part in str(caught.value)


def test_the_examples_are_in_order() -> None:
    entries = Catalogue([resources.etc() / "applications.d"]).applications()
    predictor = ModelPredictor([resources.models()])
    assert entries
    for entry in entries:
        values = entry.values({})
        assert os.access(entry.arguments(values)[0], os.X_OK)
        if entry.model:
            profile = predictor.profile(entry, values, "sgi_origin2000", 16)
            assert len(profile.seconds) == min(16, entry.hosts.max)
