from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from cosched.api.documents import LearntRunView
from cosched.cli.model import app
from cosched.client import Client
from cosched.errors import UserError
from cosched.measurement.programs.records import ObservedRun, record_line
from tests.modelling.makers import stencil_runs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = [
        f"{run.parameters['nx']},{run.parameters['ny']},{run.processors},{run.seconds * 1e3}" for run in stencil_runs()
    ]
    (tmp_path / "runs.csv").write_text("\n".join(["nx,ny,hosts,wall ms", *lines]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_a_table_becomes_a_model(folder: Path) -> None:
    said = run("fit", "heat", "--table", "runs.csv", "--hardware", "x86_64_gigabit").splitlines()
    assert said[0] == "90 runs, 15 sizes, 1-4 processors of x86_64_gigabit"
    assert said[1].startswith("3 terms: ")
    assert said[2].startswith("leave-one-size-out: mean ")
    assert said[-1].startswith("wrote heat.psl (error 0.0")
    assert run("check", "heat.psl") == "1 file checked: no faults\n"
    assert "4 hosts" in run("predict", "heat.psl", "--hosts", "1-4", "--set", "nx=512")
    run("format", "--check", "heat.psl")
    run("fit", "heat", "--table", "runs.csv")  # its own file is written again
    assert "hrduse" not in (folder / "heat.psl").read_text()


def test_json_has_all_figures(folder: Path) -> None:
    found = json.loads(run("fit", "heat", "--table", "runs.csv", "--out", "other.psl", "--json"))
    assert (found["file"], found["runs"], found["sizes"], found["processors"]) == ("other.psl", 90, 15, [1, 2, 4])
    assert found["mean_error"] == found["tried"][found["law"]]
    assert 0 < found["repeats"] < found["error"] < found["error_beyond"]
    assert not (folder / "heat.psl").exists()


@pytest.mark.parametrize(("spread", "told"), [(1.02, False), (3.0, True)])
def test_repeats_that_differ_much_are_told_with_what_that_means(folder: Path, spread: float, told: bool) -> None:
    """A model of runs on a busy machine had an error of 4, and nothing said why."""
    rows = [f"{n},{n * 1e-3 * factor}" for n in (100, 200, 400, 800) for factor in (1.0, spread)]
    (folder / "busy.csv").write_text("\n".join(["n,seconds", *rows]))
    said = run("fit", "busy", "--table", "busy.csv")
    error = json.loads(run("fit", "busy", "--table", "busy.csv", "--json"))["error"]
    remark = f"predictions hold to a factor of {1 + error:.2g} only: run it on an idle machine"
    assert (remark in " ".join(said.split())) == told


def test_parameters_may_be_left_out(folder: Path) -> None:
    del folder
    assert "15 sizes" in run("fit", "heat", "--table", "runs.csv")
    assert "5 sizes" in run("fit", "heat", "--table", "runs.csv", "--parameters", "nx")


def test_a_model_that_was_changed_by_hand_is_not_written_over(folder: Path) -> None:
    run("fit", "heat", "--table", "runs.csv")
    model = folder / "heat.psl"
    edited = model.read_text().replace("application heat {", "(* mine *)\napplication heat {")
    model.write_text(edited)
    with pytest.raises(UserError, match=r"heat\.psl was changed by hand since `cosched model fit` wrote it: choose"):
        run("fit", "heat", "--table", "runs.csv")
    assert model.read_text() == edited
    run("check", "heat.psl")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["heat"], "name runs: files of records, --table"),
        (["2d", "--table", "runs.csv"], "application '2d' is no name of PSL"),
        (["heat", "--table", "none.csv"], "none.csv cannot be read"),
        (["heat", "--table", "runs.csv", "--out", "mine.psl"], "mine.psl was not written by `cosched model fit`"),
        (["heat", "--table", "runs.csv", "--out", "no/heat.psl"], "there is no folder no"),
        (["heat", "--table", "runs.csv", "--out", "heat.txt"], "a model's file ends in .psl"),
        (["heat", "--table", "runs.csv", "--hardware", "node_x"], "there is no hardware node_x: `cosched hardware"),
        (["heat", "--table", "runs.csv", "--parameters", "nz"], "a run has no nz: it has nx, ny"),
        (["heat", "--table", "runs.csv", "--parameters", "nx,nx"], "nx is named twice"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(words: list[str], said: str, folder: Path) -> None:
    (folder / "mine.psl").write_text("application mine { proc exec init { step cpu { confdev 1 s; } } }")
    with pytest.raises(UserError, match=said) as caught:
        run("fit", *words)
    assert "\n" not in str(caught.value)
    assert not (folder / "heat.psl").exists()


def test_finished_tasks_become_a_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def seen(number: int, digest: str = "b", hardware: str = "") -> LearntRunView:
        return LearntRunView(
            task=str(number),
            owner="me",
            numbers=(float(2**number), 3.0),
            hosts=1,
            hardware=hardware,
            predicted=None,
            seconds=2.0**number,
            finished=float(-number),
            program_digest=digest,
        )

    found = [*map(seen, range(1, 7)), seen(8, "before")]
    monkeypatch.setattr(Client, "learnt_runs", lambda _client, name, _limit: found if name == "my-heat.py" else [])
    words = ["fit", "my-heat.py", "--tasks", "--server", "unix:/none"]
    with pytest.raises(UserError, match=r"commands of my-heat.py have 2 numbers \(2 3\): name them in this order"):
        run(*words)
    assert "6 runs, 6 sizes, 1 processor\n1 term: 1 s * n\n" in run(*words, "--numbers", "n,k")
    assert "k 3 3" in (folder / "my_heat.psl").read_text()
    other = ["fit", "other", "--tasks", "--numbers", "n,k", "--server", "unix:/none"]
    assert "6 runs" in run(*other, "--application", "my-heat.py")
    with pytest.raises(UserError, match="no task of other has completed"):
        run(*other)
    found[0] = seen(1, hardware="fast")
    with pytest.raises(UserError, match=r"several classes of hosts \(unnamed, fast\)"):
        run(*words, "--numbers", "n,k")


def recorded(seed: int, hardware: str = "node_a", digest: str = "sha256:0", later: float = 0.0) -> str:
    """Return records of runs, of which each seventh waited for processors."""
    return "".join(
        record_line(
            ObservedRun(
                "heat",
                digest,
                each.parameters,
                1,
                each.processors,
                hardware,
                place + later,
                each.seconds,
                (each.seconds,),
                each.seconds * (0.2 if place % 7 == 0 else 0.0),
                4096,
                False,
                0,
            )
        )
        for place, each in enumerate(stencil_runs(seed=seed))
    )


def test_records_become_a_model_and_are_held_against_it(folder: Path) -> None:
    (folder / "runs.jsonl").write_text(recorded(1))
    (folder / "held.jsonl").write_text(recorded(2))
    said = run("fit", "heat", "runs.jsonl")
    assert "77 runs, 15 sizes, 1-4 processors of node_a" in said
    assert "There is no node_a.hmcl here: `cosched hardware measure node_a --here` writes it" in said
    assert "90 runs" in run("fit", "heat", "runs.jsonl", "--disturbed")
    assert "77 runs" in run("fit", "heat", "runs.jsonl", "--waited", "19%")  # the others waited 20 %
    assert "90 runs" in run("fit", "heat", "runs.jsonl", "--waited", "21")
    for words, said in ((("--waited", "little"), "a percentage above 0"), (("--waited", "5", "--disturbed"), "leave")):
        with pytest.raises(UserError, match=said):
            run("fit", "heat", "runs.jsonl", *words)
    (folder / "node_a.hmcl").write_text("config node_a { clc { AFDG = 1 ns; } }")
    assert "There is no" not in run("fit", "heat", "runs.jsonl", "runs.jsonl")
    assert "1 host" in run("predict", "heat.psl", "--hosts", "1")
    assert "inside" in run("validate", "heat.psl", "held.jsonl")
    assert run("validate", "heat.psl", "held.jsonl") == run("validate", "heat.psl", "--records", "held.jsonl")
    (folder / "held.jsonl").write_text(recorded(2).replace("node_a", "node_b"))
    with pytest.raises(UserError, match="runs are on node_b, and heat is for node_a: choose runs with --class"):
        run("validate", "heat.psl", "--records", "held.jsonl")
    with pytest.raises(UserError, match="no run is on hosts of class none"):
        run("fit", "heat", "runs.jsonl", "--class", "none")


def test_another_classs_newer_build_does_not_stand_for_the_class_that_is_chosen(folder: Path) -> None:
    (folder / "runs.jsonl").write_text(recorded(1) + recorded(2, "node_b", "sha256:1", later=1000.0))
    assert "77 runs, 15 sizes, 1-4 processors of node_a" in run("fit", "heat", "runs.jsonl", "--class", "node_a")


def test_a_serial_program_is_covered_on_hosts_of_several_processors(folder: Path) -> None:
    (folder / "node_b.hmcl").write_text("config node_b { hardware { processors = 2; } clc { AFDG = 1 ns; } }")
    line = ObservedRun("one", "", {"n": 1.0}, 1, 1, "node_b", 1.0, 1.0, (1.0,), 0.0, 0, False, 0)
    sizes = [replace(line, parameters={"n": float(n)}, wall=1e-3 * n) for n in (10, 20, 50, 90)]
    (folder / "one.jsonl").write_text("".join(map(record_line, sizes)))
    run("fit", "one", "one.jsonl")
    assert "cannot be used" not in run("predict", "one.psl", "--hosts", "1", "--set", "n=50")
    assert "cannot be used" not in run("predict", "one.psl", "--hosts", "1", "--hardware", "x86_64_gigabit")
    assert "1 of" not in run("validate", "one.psl", "--records", "one.jsonl")
