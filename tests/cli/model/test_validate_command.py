from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from cosched.cli.model import app
from cosched.errors import UserError
from tests.modelling.makers import stencil, stencil_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.modelling.points import TimedRun

pytestmark = pytest.mark.xdist_group("validate-command")  # its tests share one fitted model


def write(file: Path, runs: Sequence[TimedRun]) -> None:
    lines = [f"{run.parameters['nx']},{run.parameters['ny']},{run.processors},{run.seconds}" for run in runs]
    file.write_text("\n".join(["nx,ny,hosts,seconds", *lines]))


def run(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs, and the model that was fitted to them."""
    folder = tmp_path_factory.mktemp("fitted")
    write(folder / "runs.csv", stencil_runs())
    run("fit", "heat", "--table", str(folder / "runs.csv"), "--out", str(folder / "heat.psl"))
    return folder


@pytest.fixture
def folder(fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(fitted, tmp_path, dirs_exist_ok=True))


def held(law: Callable[[float, float, float], float] = stencil, noise: float = 0.02) -> list[TimedRun]:
    return stencil_runs(noise, 2, law, (1, 2, 4, 8), (90, 250, 1024, 2000, 4000))


def test_a_model_is_held_against_new_runs(folder: Path) -> None:
    write(folder / "held.csv", held())
    said = run("validate", "heat.psl", "--table", "held.csv").splitlines()
    assert said[0].split() == ["SPLIT", "RUNS", "MEAN", "MEDIAN", "WORST", "BIAS", "COVERAGE", "WIDTH"]
    splits = {line.rsplit("  ")[0].split("  ")[0].strip() for line in said[1:-1]}
    assert {"inside", "ends", "2x", "4x", "new host count"} <= splits
    assert said[-1].startswith("floor ")


def test_too_small_an_error_ends_with_1(folder: Path) -> None:
    write(folder / "held.csv", held(lambda nx, ny, count: 1.3 * stencil(nx, ny, count)))
    said = run("validate", "heat.psl", "--table", "held.csv", code=1)
    assert "0% too few" in said
    assert "inside: the stated error is too small: fit again with these runs" in said


def test_a_machine_whose_repeats_differ_more_cannot_judge(folder: Path) -> None:
    write(folder / "held.csv", held(lambda nx, ny, count: 1.3 * stencil(nx, ny, count), noise=0.3))
    said = run("validate", "heat.psl", "--table", "held.csv")
    assert "repeats differ by that, too much to judge errors of 3%" in said
    assert "inside: repeats differ by more than the error that is stated: not judged" in said


def test_json_has_a_row_for_each_split(folder: Path) -> None:
    write(folder / "held.csv", held())
    found = json.loads(run("validate", "heat.psl", "--table", "held.csv", "--json"))
    assert found["splits"][0]["split"] == "inside"
    assert found["judges"] is (found["floor"] <= 0.03)
    assert {row["judged"] for row in found["splits"]} == {True}


def test_sizes_are_held_out_without_a_model(folder: Path) -> None:
    (folder / "heat.psl").unlink()
    said = run("validate", "heat", "--table", "runs.csv", "--holdout", "size:2x,hosts:new").splitlines()
    assert said[0].endswith("JACKKNIFE+")
    assert [line[:14].strip() for line in said[1:3]] == ["2x", "new host count"]


def test_what_cannot_be_held_out_keeps_nothing_else_from_being_judged(folder: Path) -> None:
    """The first split that could not be made ended the command."""
    write(folder / "one.csv", stencil_runs(0.02, 2, stencil, (1,)))
    result = CliRunner().invoke(app, ["validate", "heat", "--table", "one.csv", "--holdout", "hosts:new,size:2x"])
    assert result.stderr == "cosched: --holdout hosts:new: all runs are on one number of hosts: run on others\n"
    assert [line.split()[0] for line in result.stdout.splitlines()[:2]] == ["SPLIT", "2x"]
    write(folder / "few.csv", stencil_runs(0.02, 1, stencil, (1,), (100, 200)))
    with pytest.raises(UserError, match=r"^--holdout hosts:new: .*run on others; --holdout size:inside: no size is"):
        run("validate", "heat", "--table", "few.csv", "--holdout", "hosts:new,size:inside")


def test_runs_on_numbers_of_processors_that_a_model_does_not_cover_are_left_out(tmp_path: Path) -> None:
    """One such run ended the whole judgement."""
    (tmp_path / "runs.csv").write_text("n,processors,seconds\n100,1,9\n200,1,20\n300,1,31\n400,1,40\n")
    run("fit", "a", "--table", str(tmp_path / "runs.csv"), "--out", str(tmp_path / "a.psl"))
    (tmp_path / "new.csv").write_text("n,processors,seconds\n150,1,15\n250,2,13\n")
    said = run("validate", str(tmp_path / "a.psl"), "--table", str(tmp_path / "new.csv"))
    assert "1 runs are outside of the limits that the model states: left out" in said
    (tmp_path / "new.csv").write_text("n,processors,seconds\n250,2,13\n")
    with pytest.raises(UserError, match="a covers none of these numbers of processors, as 2: fit it to such runs"):
        run("validate", str(tmp_path / "a.psl"), "--table", str(tmp_path / "new.csv"))


def test_runs_outside_of_the_limits_are_left_out(folder: Path) -> None:
    write(folder / "held.csv", stencil_runs(sides=(90, 500, 9000)))
    assert "24 runs are outside of the limits that the model states: left out" in run(
        "validate", "heat.psl", "--table", "held.csv"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["heat.psl"], "name runs"),
        (["heat.psl", "--table", "far.csv"], "all runs are outside of the limits that heat states"),
        (["bare.psl", "--table", "runs.csv"], "bare states no error, so that there is no range to judge"),
        (["other.psl", "--table", "runs.csv"], "other has no parameter ny"),
        (["none.psl", "--table", "runs.csv"], "none.psl"),
        (["heat", "--table", "runs.csv", "--holdout", "size:3x"], "write some of size:inside, size:ends"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(words: list[str], said: str, folder: Path) -> None:
    write(folder / "far.csv", stencil_runs(sides=(9000, 10000)))
    body = "proc exec init { step cpu { confdev 1 s * nx; } } }"
    (folder / "bare.psl").write_text(f"application bare {{ var numeric: nx = 1, ny = 1; {body}")
    (folder / "other.psl").write_text(f"application other {{ var numeric: nx = 1; option {{ error = 0.1; }} {body}")
    with pytest.raises(UserError, match=said) as caught:
        run("validate", *words)
    assert "\n" not in str(caught.value)
