from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner, Result

from cosched.cli.simulate import command
from cosched.errors import UserError
from cosched.simulation.experiments import NAMES


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, list(arguments))


def test_without_an_argument_the_experiments_are_listed() -> None:
    result = run()
    assert result.exit_code == 0
    for name in NAMES:
        assert name in result.stdout


def test_the_list_as_json_says_what_may_be_set() -> None:
    listed = json.loads(run("--json").stdout)
    assert [item["experiment"] for item in listed] == list(NAMES)
    assert listed[0]["options"]["tasks"]["default"] == 30


def test_json_has_the_keys_of_the_contract() -> None:
    arguments = ("titan-table-1", "--json", "--seed", "3", "--set", "tasks=4", "--set", "generations=1")
    document = json.loads(run(*arguments).stdout)
    assert list(document) == ["experiment", "seed", "seeds", "options", "rows", "paper"]
    assert document["experiment"] == "titan-table-1"
    assert document["seed"] == 3
    assert document["options"]["tasks"] == 4
    assert [row["policy"] for row in document["rows"]] == [row["policy"] for row in document["paper"]]


def test_the_table_shows_means_with_intervals_beside_the_papers_figures() -> None:
    result = run("titan-table-1", "--seeds", "2", "--set", "tasks=4", "--set", "generations=1")
    assert "±" in result.stdout
    assert "means over seeds 1 to 2" in result.stdout
    assert "4205" in result.stdout  # 70.08 minutes


@pytest.mark.parametrize(("word", "message"), [("tasks", "give NAME=VALUE"), ("x=1", "has no option 'x'")])
def test_an_option_that_is_none_is_refused(word: str, message: str) -> None:
    result = run("titan-table-1", "--set", word)
    assert isinstance(result.exception, UserError)
    assert message in str(result.exception)
