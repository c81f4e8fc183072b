from __future__ import annotations

import math
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched import resources
from cosched.errors import UserError
from cosched.prediction.catalogue import ApplicationParameter, Catalogue, CatalogueEntry, ParameterValue, choose_values
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


INTEGER = ApplicationParameter(type="integer", min=1, max=100, default=5)
NUMBER = ApplicationParameter(type="number", min=0)
TEXT = ApplicationParameter(type="text", default="a", choices=("a", "b"))


@pytest.mark.parametrize(
    ("parameter", "given", "value"),
    [(INTEGER, 7, 7), (INTEGER, "7", 7), (INTEGER, 7.0, 7), (NUMBER, "2.5", 2.5), (NUMBER, 0, 0.0), (TEXT, "b", "b")],
)
def test_values_are_read_as_the_type_says(
    parameter: ApplicationParameter, given: ParameterValue, value: ParameterValue
) -> None:
    read = parameter.read("n", given)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("parameter", "given", "message"),
    [
        (INTEGER, 2.5, "n is 2.5: give an integer from 1 up to 100"),
        (INTEGER, "many", "n is 'many': give an integer from 1 up to 100"),
        (INTEGER, 101, "n is 101: give a value from 1 up to 100"),
        (INTEGER, True, "n is True: give an integer from 1 up to 100"),
        (NUMBER, -1, "n is -1: give a value from 0"),
        (NUMBER, math.nan, "n is nan: give a number from 0"),
        (NUMBER, "inf", "n is 'inf': give a number from 0"),
        (NUMBER, 10**400, f"n is {10**400}: give a number from 0"),
        (TEXT, "c", "n is 'c': choose one of a, b"),
        (ApplicationParameter(type="text"), "a\nqueue 500", "n contains the character '\\n': leave it out"),
        (ApplicationParameter(type="text"), "\u202egnp", "n contains the character '\\u202e': leave it out"),
        (ApplicationParameter(type="text"), "x" * 1001, "n has 1001 characters: at most 1000 are allowed"),
    ],
)
def test_a_wrong_value_says_what_would_be_right(
    parameter: ApplicationParameter, given: ParameterValue, message: str
) -> None:
    with pytest.raises(UserError) as caught:
        parameter.read("n", given)
    assert str(caught.value) == message


def test_what_is_not_given_takes_its_default() -> None:
    assert choose_values({"n": INTEGER, "x": NUMBER}, {"x": 1}, "app") == {"n": 5, "x": 1.0}


def test_unknown_and_missing_parameters_are_named() -> None:
    with pytest.raises(UserError, match=r"app has no parameter 'count' \(did you mean counts\?\): it takes counts, x"):
        choose_values({"counts": INTEGER, "x": NUMBER}, {"count": 1}, "app")
    with pytest.raises(UserError, match="app has no parameter 'count': it takes none"):
        choose_values({}, {"count": 1}, "app")
    with pytest.raises(UserError, match=r"app needs the parameter 'x' \(how far\): set x="):
        choose_values({"x": ApplicationParameter(help="how far")}, {}, "app")


@given(st.one_of(st.text(), st.floats(), st.integers()))
def test_whatever_is_given_is_in_range_or_refused(given: ParameterValue) -> None:
    with suppress(UserError):
        value = INTEGER.read("n", given)
        assert isinstance(value, int)
        assert 1 <= value <= 100


TUNABLE = """
model = "look"
command = ["./look", "{size}"]
[parameters.size]
default = 3
[stages.examine]
command = ["./examine", "{size}", "{granularity}", "{{x}}"]
"""


def test_stages_have_commands_in_which_control_parameters_stand(tmp_path: Path) -> None:
    write(tmp_path, TUNABLE, "look")
    entry = Catalogue([tmp_path]).get("look")
    values = {"size": 3, "granularity": 16.0}
    assert entry.stage_arguments("examine", values) == (str(tmp_path / "examine"), "3", "16", "{x}")
    assert entry.stage_arguments("sample", values) == (str(tmp_path / "look"), "3")
    with pytest.raises(UserError, match=r"the stage examine of look uses \{granularity\}"):
        entry.stage_arguments("examine", {"size": 3})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('model = "look"', ""), "stages are those of a model with a tunable procedure: name it"),
        (
            ("[stages.examine]", "[stages.examine]\nhosts = 3"),
            "stages.examine.hosts: valid here are command",
        ),
        (("{{x}}", "{x"), "command has a stray '{'"),
        (('command = ["./examine"', 'command = ["{size}"'), "name the program there, without placeholders"),
        (('model = "look"', 'model = "look"\ncores = "2-4"'), "chooses for it: leave cores and processes out"),
    ],
)
def test_a_fault_of_stages_is_named(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    write(tmp_path, TUNABLE.replace(*change), "look")
    with pytest.raises(UserError, match=re.escape(words)):
        Catalogue([tmp_path])


def test_an_entry_without_command_and_stages_is_refused(tmp_path: Path) -> None:
    write(tmp_path, 'model = "look"\n', "look")
    with pytest.raises(UserError, match="command is missing: set it"):
        Catalogue([tmp_path])


ONE_PROGRAM = """
model = "look"
command = ["./look", "{size}"]
worker = ["./look", "work", "{size}", "{lead}", "{worker}"]
[parameters.size]
default = 3
"""


def test_a_worker_has_values_and_keeps_open_what_is_known_at_its_start(tmp_path: Path) -> None:
    write(tmp_path, ONE_PROGRAM, "look")
    entry = Catalogue([tmp_path]).get("look")
    assert entry.tunable
    assert entry.worker_arguments({"size": 3}) == (str(tmp_path / "look"), "work", "3", "{lead}", "{worker}")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('model = "look"', ""), "give model and command, and leave stages out"),
        (("[parameters.size]", '[stages.examine]\ncommand = ["./x"]\n[parameters.size]'), "and leave stages out"),
        (('model = "look"', 'model = "look"\nlaunch = "openmpi"'), "leave launch out"),
        (("{lead}", "{who}"), "command uses {who}, which is not among its parameters"),
    ],
)
def test_a_fault_of_a_worker_is_named(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    write(tmp_path, ONE_PROGRAM.replace(*change), "look")
    with pytest.raises(UserError, match=re.escape(words)):
        Catalogue([tmp_path])


def test_a_whole_number_keeps_all_its_digits() -> None:
    seed = ApplicationParameter(type="integer")
    for typed in (2**53 + 1, str(2**53 + 1), f" +{2**53 + 1} "):
        assert seed.read("seed", typed) == 2**53 + 1
