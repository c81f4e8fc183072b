from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from tests.modelling.derivation.programs import FILTER, POLYNOMIAL, build_command, coverage_reader, written

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_source_becomes_a_model_that_predicts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = written(folder, "smooth.c", POLYNOMIAL)
    words = [str(source), "--sizes", "nx=10..40 ny=10..40 steps=3..20", "--runs", "10"]
    words += ["--build", build_command(), "--gcov", coverage_reader()]
    assert run(["model", "derive", *words]) == 0
    said, progress = capsys.readouterr()
    assert "smooth.c:7" in said
    assert "(nx - 2) * (ny - 2) * steps" in said
    assert "of 5 exact, 1 the same at every size; 10 sizes" in said
    assert "wrote smooth.psl; each block costs 1 ns, a guess: `cosched model fit --derived` learns" in said
    assert "smooth is built" in progress
    assert run(["model", "check", "smooth.psl", "--hardware", "x86_64_gigabit"]) == 0
    assert run(["model", "format", "--check", "smooth.psl"]) == 0
    assert run(["model", "predict", "./smooth.psl", "--hardware", "x86_64_gigabit", "--set", "nx=900"]) == 0


def test_json_has_every_block(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = written(folder, "filter.py", FILTER)
    words = [str(source), "--sizes", "n=5..30 turns=2..9", "--runs", "8", "--out", "my.psl", "--application", "mine"]
    assert run(["model", "derive", *words, "--json"]) == 0
    found, progress = capsys.readouterr()
    document = json.loads(found)
    assert (document["application"], document["file"], len(document["sizes"])) == ("mine", "my.psl", 8)
    told = {"name", "lines", "source", "formula", "exact", "error", "share", "calls", "note", "like", "stated"}
    assert document["blocks"][0].keys() == told | {"operations"}
    assert sum(block["share"] for block in document["blocks"] if block["stated"]) <= 1
    assert progress == ""
    assert "application mine {" in (folder / "my.psl").read_text()


def test_a_model_written_by_hand_is_not_written_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = written(folder, "filter.py", FILTER)
    model = written(folder, "filter.psl", "application filter { }")
    assert run(["model", "derive", str(source), "--sizes", "n=5..30 turns=2..9", "--runs", "5"]) == 1
    said = capsys.readouterr().err  # nothing was run before
    assert said == "cosched: filter.psl was not written by `cosched model derive`: choose another --out\n"
    assert model.read_text() == "application filter { }"


def test_what_was_added_to_a_derived_model_by_hand_is_not_written_over(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "model",
        "derive",
        str(written(folder, "filter.py", FILTER)),
        "--sizes",
        "n=5..30 turns=2..9",
        "--runs",
        "8",
    ]
    assert run(words) == run(words) == 0  # its own file is written again
    model = folder / "filter.psl"
    model.write_text(model.read_text().replace("proc exec init {", "proc exec init { (* mine *)"))
    edited = model.read_text()
    capsys.readouterr()
    assert run(words) == 1
    said = capsys.readouterr().err
    assert said == "cosched: filter.psl was changed by hand since a command wrote it: choose another --out\n"
    assert model.read_text() == edited


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.c", "--sizes", "n=1..9"], "none.c cannot be read"),
        (["filter.py", "--sizes", "n=4"], "one size only"),
        (["filter.py", "--sizes", "n=4..9", "--limit", "0"], "--limit 0: give a time above 0"),
        (["filter.py", "--sizes", "n=4..9"], "filter at n="),
        (["filter.py", "--sizes", "n=4..9 turns=1..3", "--runs", "5", "--out", "no/such.psl"], "cannot be written"),
    ],
)
def test_a_fault_is_told_in_one_line(
    words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "filter.py", FILTER)
    assert run(["model", "derive", *words]) == 1
    said = [line for line in capsys.readouterr().err.splitlines() if line[-2:] != " s"]
    assert len(said) == 1
    assert message in said[0]


def test_blocks_cost_their_operations_where_asked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = written(folder, "smooth.c", POLYNOMIAL)
    words = [str(source), "--sizes", "nx=10..40 ny=10..40 steps=3..20", "--runs", "10", "--operations"]
    words += ["--build", build_command(), "--gcov", coverage_reader()]
    assert run(["model", "derive", *words]) == 0
    assert "wrote smooth.psl; from operation counts: right to a factor of a few" in capsys.readouterr().out
    assert run(["model", "check", "smooth.psl", "--hardware", "x86_64_gigabit"]) == 0
    assert run(["model", "predict", "./smooth.psl", "--hardware", "x86_64_gigabit", "--set", "nx=900"]) == 0
    (folder / "runs.csv").write_text("nx,ny,steps,seconds\n20,20,5,1\n")
    capsys.readouterr()
    assert run(["model", "fit", "smooth", "--table", "runs.csv", "--derived", "smooth.psl"]) == 1
    said = capsys.readouterr().err
    assert said == (
        "cosched: --derived smooth.psl has the costs of operations, which runs do not teach: "
        "derive it without --operations\n"
    )
