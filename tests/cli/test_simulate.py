from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner, Result

from cosched.cli.simulate import command
from cosched.errors import UserError
from cosched.scheduling import kernel_cache
from cosched.simulation.experiments import EXPERIMENT_NAMES
from tests.simulation.traces import swf

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, list(arguments))


def test_without_an_argument_the_experiments_are_listed() -> None:
    result = run()
    assert result.exit_code == 0
    for name in EXPERIMENT_NAMES:
        assert name in result.stdout


def test_the_list_as_json_says_what_may_be_set() -> None:
    listed = json.loads(run("--json").stdout)
    assert [item["experiment"] for item in listed] == list(EXPERIMENT_NAMES)
    assert listed[0]["options"]["tasks"]["default"] == 30


def test_json_has_the_keys_of_the_contract() -> None:
    arguments = ("titan-table-1", "--json", "--seed", "3", "--set", "tasks=4", "--set", "generations=1")
    document = json.loads(run(*arguments).stdout)
    assert list(document) == ["experiment", "reproduces", "seed", "seeds", "options", "rows", "paper"]
    assert document["experiment"] == "titan-table-1"
    assert document["seed"] == 3
    assert document["options"]["tasks"] == 4
    assert [row["policy"] for row in document["rows"]] == [row["policy"] for row in document["paper"]]


def test_it_says_that_the_search_is_compiled_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bool] = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "none"))
    monkeypatch.setattr(kernel_cache, "keep", lambda: kept.append(True))
    with_search = run("titan-table-1", "--set", "tasks=2", "--set", "generations=0")
    without = run("milan-figure-5")
    assert (with_search.exit_code, without.exit_code, kept) == (0, 0, [True])
    assert "first that" in with_search.stderr
    assert without.stderr == ""


@pytest.mark.daemon
def test_the_table_shows_means_with_intervals_beside_the_papers_figures() -> None:
    result = run("titan-table-1", "--seeds", "2", "--set", "tasks=4", "--set", "generations=1")
    assert "±" in result.stdout
    assert "means over seeds 1 to 2" in result.stdout
    assert "(4205)" in result.stdout  # 70.08 minutes
    assert "in brackets: as published" in result.stdout


def test_published_figures_stand_beside_ours_also_where_the_paper_has_fewer_keys() -> None:
    """Fig. 5 of the MILAN paper has no holes, which are a key of ours: nothing of it was shown."""
    result = run("milan-figure-5")
    assert "20 (20)" in result.stdout
    assert "in brackets: as published" in result.stdout


@pytest.mark.parametrize("option", [("--set", "tasks=4"), ("--plot", "figure.svg")])
def test_what_only_an_experiment_has_use_for_is_not_passed_over_in_the_list(option: tuple[str, str]) -> None:
    assert "--set and --plot are for an experiment: name one of titan-table-1" in str(run(*option).exception)


@pytest.mark.parametrize(("word", "message"), [("tasks", "give NAME=VALUE"), ("x=1", "has no option 'x'")])
def test_an_option_that_is_none_is_refused(word: str, message: str) -> None:
    result = run("titan-table-1", "--set", word)
    assert isinstance(result.exception, UserError)
    assert message in str(result.exception)


def test_several_experiments_are_run_by_one_command(tmp_path: Path) -> None:
    several = ("milan-figure-5", "milan-figures-7-10")
    shown = run(*several, "--set", "jobs=2", "--plot", str(tmp_path))
    assert shown.exit_code == 0
    assert "20 (20)" in shown.stdout
    assert "Figs 7 to 10" in shown.stdout
    assert len(list(tmp_path.glob("milan-figures-7-10-*.svg"))) == 8
    options = ("--set", "core=1", "--set", "jobs=1")
    five, sweeps = json.loads(run(*several, *options, "--json").stdout)
    assert (five["options"], sweeps["options"]["jobs"]) == ({"core": 1}, 1)
    unknown = run(*several, *options, "--set", "job=3")
    assert str(unknown.exception) == ("no option 'job': there are alpha, core, interval, jobs, laxity, processors")


def test_pictures_go_into_a_folder(tmp_path: Path) -> None:
    arguments = ("titan-table-1", "--set", "tasks=3", "--set", "generations=1", "--plot")
    assert run(*arguments, str(tmp_path / "new")).exit_code == 0
    assert len(list((tmp_path / "new").glob("titan-table-1-*.svg"))) == 4
    (tmp_path / "file").write_text("")
    result = run(*arguments, str(tmp_path / "file" / "new"))
    assert "cannot be written" in str(result.exception)
    assert "fcfs-arbitrary" in result.stdout, "what took long is not lost with its pictures"


def test_a_place_for_one_picture_is_refused_before_anything_runs_where_there_are_several(tmp_path: Path) -> None:
    """All rows of satin-figure-2 were printed before x.svg was refused."""
    result = run("satin-figure-2", "--set", "series=1", "--json", "--plot", str(tmp_path / "x.svg"))
    assert "satin-figure-2 has 8 pictures: give --plot a folder, not" in str(result.exception)
    assert result.stdout == ""
    result = run("milan-figure-5", "--plot", str(tmp_path))
    assert "milan-figure-5 has no picture" in str(result.exception)
    assert result.stdout == ""


def test_a_trace_under_two_policies_with_its_picture(tmp_path: Path) -> None:
    trace, picture = tmp_path / "small.swf", tmp_path / "waits.svg"
    trace.write_text(swf(20))
    result = run("--trace", str(trace), "--policy", "easy", "--policy", "edf", "--json", "--plot", str(picture))
    document = json.loads(result.stdout)
    assert document["experiment"] == "trace"
    assert [row["policy"] for row in document["rows"]] == ["easy", "edf"]
    assert {"wait", "bounded_slowdown", "utilisation", "on_time"} <= set(document["rows"][0])
    assert picture.read_text().startswith("<svg")


def test_a_trace_with_elastic_jobs_drawn_or_listed(tmp_path: Path) -> None:
    trace, listed, picture = tmp_path / "small.swf", tmp_path / "elastic.csv", tmp_path / "waits.svg"
    trace.write_text(swf(20))
    listed.write_text("job,least,most,preferred,cost\n2,1,8,4,3\n5,1,4,,\n")
    options = ("--trace", str(trace), "--policy", "equi", "--policy", "ideal", "--json")
    drawn = json.loads(run(*options, "--malleable", "1", "--resize-cost", "4", "--plot", str(picture)).stdout)
    assert [(row["policy"], row["elastic"]) for row in drawn["rows"]] == [("equi", 1.0), ("ideal", 1.0)]
    assert "100% of them elastic" in drawn["reproduces"]
    assert "equi" in picture.read_text()
    named = json.loads(run(*options, "--elastic-file", str(listed)).stdout)
    assert [row["elastic"] for row in named["rows"]] == [0.1, 0.1]
    default = json.loads(run("--trace", str(trace), "--malleable", "0.5", "--json").stdout)
    assert [row["policy"] for row in default["rows"]] == ["marginal"]
    beside = json.loads(run("--trace", str(trace), "--policy", "easy", "--policy", "marginal", "--json").stdout)
    assert beside["rows"][0]["wait"] == pytest.approx(beside["rows"][1]["wait"]), "where all are rigid both are EASY"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--malleable", "1.5"), "--malleable 1.5: give the part of the jobs that are elastic, from 0 to 1"),
        (("--malleable", "nan"), "--malleable nan: give the part"),
        (("--malleable", "0.5", "--resize-cost", "-1"), "--resize-cost -1: give seconds from 0 to"),
        (("--resize-cost", "1"), "say which are, with --malleable SHARE"),
        (("--malleable", "0.5", "--elastic-file", "x.csv"), "give one of them"),
        (("--elastic-file", "nowhere.csv"), "nowhere.csv: cannot be read"),
        (
            ("--malleable", "0.5", "--policy", "easy"),
            "easy replays jobs that keep their processors, and here some are elastic: choose ideal, moldable-now, ",
        ),
        (
            ("--policy", "satin", "--requested"),
            "satin knows how long jobs take: leave --predictions and --requested out",
        ),
        (("--policy", "dual-price"), "dual-price cannot run a domain as tasks come and go: choose one of a-mm, "),
    ],
)
def test_elastic_jobs_that_cannot_be_replayed_are_refused(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    trace = tmp_path / "small.swf"
    trace.write_text(swf(5))
    result = run("--trace", str(trace), *arguments)
    assert isinstance(result.exception, UserError)
    assert message in str(result.exception)
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("malleable-replay", "--malleable", "0.5"), "give --trace FILE, and no experiment"),
        (("titan-table-1", "--trace", "x"), "give either titan-table-1 or --trace"),
        (("titan-table-1", "--policy", "easy"), "give --trace FILE"),
        (("malleable-replay",), "malleable-replay replays a trace: give one with --trace FILE"),
        (("malleable-replay", "--trace", "nowhere.swf", "--policy", "easy"), "give --trace FILE"),
        (("--trace", "nowhere.swf"), "nowhere.swf: cannot be read"),
    ],
)
def test_a_trace_and_an_experiment_do_not_go_together(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, UserError)
    assert message in str(result.exception)
