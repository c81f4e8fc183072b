from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from cosched.cli.model import app
from cosched.cli.model.arguments import model_folders, parse_host_counts
from cosched.errors import UserError
from cosched.language import default_library

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "counts"),
    [("8", [8]), ("1-4", [1, 2, 3, 4]), ("1,2,4", [1, 2, 4]), ("2-3, 1,3", [1, 2, 3]), ("5-5", [5])],
)
def test_lists_and_ranges(text: str, counts: list[int]) -> None:
    assert parse_host_counts(text) == counts


@pytest.mark.parametrize("text", ["", "0", "-1", "3-1", "1-", "a", "1;2", "1-99999", "1-4294967295", "٣"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="hosts"):
        parse_host_counts(text)


OURS = "config ours { mpi { transfer_latency = 1 us, send_overhead = 1 us, receive_overhead = 1 us; } }"
PART = "partmp part { var numeric: x = 1 s; proc exec init { step cpu { confdev x / Nproc; } } }"
WHOLE = (
    'application whole { include part; option { hrduse = "ours"; } link { part: x = work(); }'
    " proc exec init { call part; } proc cflow work { compute <is measured, 4 s>; } }"
)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration with a folder of models and a catalogue of its own; that of this machine does not count."""
    for name in [name for name in os.environ if name.startswith("COSCHED_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    for folder in ("models", "applications", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "models" / "ours.hmcl").write_text(OURS)
    (tmp_path / "models" / "part.psl").write_text(PART)
    (tmp_path / "models" / "whole.psl").write_text(WHOLE)
    (tmp_path / "applications" / "whole.toml").write_text('name = "whole"\nmodel = "whole"\ncommand = ["/bin/true"]\n')
    path = tmp_path / "cosched.toml"
    path.write_text(
        '[domain]\nhardware = "ours"\n[models]\nfolders = ["models"]\n[applications]\nfolders = ["applications"]\n'
    )
    return path


def run(*arguments: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    return found.exit_code, found.stdout


def test_a_file_elsewhere_finds_what_the_daemon_would_find(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = config.parent / "elsewhere" / "mine.psl"
    mine.write_text(WHOLE.replace("whole", "mine"))
    code, text = run("check", str(mine))
    assert (code, "hardware ours is not beside this file or in the library" in text) == (1, True)
    assert run("check", str(mine), "--config", str(config)) == (0, "1 file checked: no faults\n")
    monkeypatch.setenv("COSCHED_CONFIG", str(config))
    assert run("check", str(mine)) == (0, "1 file checked: no faults\n")
    assert json.loads(run("predict", str(mine), "--hosts", "1,2", "--json")[1])["seconds"] == [4, 2]
    assert json.loads(run("predict", "whole", "--hosts", "4", "--json")[1])["hardware"] == "ours"
    assert run("explain", "whole", "--hosts", "1-2")[0] == 0
    assert run("parameters", "whole", "--json") == (0, "[]\n")


def test_without_files_the_models_of_the_catalogue_are_checked_on_the_domains_hardware(config: Path) -> None:
    assert run("check", "--config", str(config)) == (0, "2 files checked: no faults\n")
    model = config.parent / "models" / "whole.psl"
    model.write_text(WHOLE.replace("is measured, 4 s", "is clc, AFDG").replace("x = work()", "y = work()"))
    code, text = run("check", "--config", str(config))
    assert code == 1
    assert "has no variable y" in text
    assert "AFDG" in text


def test_stages_of_the_catalogue_that_a_model_lacks_are_named(config: Path) -> None:
    """A typing error in [stages.NAME] was accepted, and the stage ran the application's own command."""
    folder = config.parent
    (folder / "models" / "two.psl").write_text(
        "application two {\n    var control: g;\n    proc tunable main {\n"
        "        task sample [] [g] [({1}, {1, 2 s}, 1)];\n        task mark [] [] [({}, {1, 1 s}, 1)];\n    }\n}\n"
    )
    entry = (
        'name = "two"\nmodel = "two"\n[stages.sample]\ncommand = ["/bin/true"]\n[stages.{}]\ncommand = ["/bin/true"]\n'
    )
    (folder / "applications" / "two.toml").write_text(entry.format("mark"))
    assert run("check", "--config", str(config)) == (0, "3 files checked: no faults\n")
    (folder / "applications" / "two.toml").write_text(entry.format("makr"))
    wrong = r"two: the catalogue has \[stages.makr\], and two has no task makr: did you mean mark\?"
    with pytest.raises(UserError, match=wrong):
        run("check", "--config", str(config))


def test_what_cannot_be_found_is_named(config: Path) -> None:
    (config.parent / "models" / "whole.psl").rename(config.parent / "models" / "other.psl")
    with pytest.raises(UserError, match=r"whole: no application 'whole' in the library: known are .*other, part"):
        run("check", "--config", str(config))
    (config.parent / "applications" / "whole.toml").write_text('name = "whole"\ncommand = ["/bin/true"]\n')
    with pytest.raises(UserError, match="no application of the catalogue has a model: name the files to check"):
        run("check", "--config", str(config))


def test_without_a_configuration_it_is_the_library(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert model_folders() == default_library()
    monkeypatch.setenv("COSCHED_MODELS__FOLDERS", json.dumps([str(config.parent / "models")]))
    assert model_folders() == (config.parent / "models", *default_library())
