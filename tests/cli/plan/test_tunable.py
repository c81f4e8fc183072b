from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner, Result

from cosched.cli.plan import command
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

ONE = [{"hosts": 5, "seconds": 10, "deadline": 30}, {"hosts": 2, "seconds": 15, "deadline": 60}]
OTHER = [{"hosts": 3, "seconds": 15, "deadline": 30}, {"hosts": 7, "seconds": 5, "deadline": 60}]


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    arrivals = {"J1": 0, "J2": 4, "J3": 10, "J4": 17, "J5": 18}
    tasks = [{"id": name, "release": when, "path": [{"any": [ONE, OTHER]}]} for name, when in arrivals.items()]
    path = tmp_path / "queue.json"
    path.write_text(json.dumps({"hosts": 8, "tasks": tasks}))
    return path


def run(*arguments: str | Path) -> Result:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_papers_example_as_json(queue: Path) -> None:
    document = json.loads(run(queue, "--json", "--policy", "tunable").stdout)
    ends = {item["task"]: (item["chain"], item["end"]) for item in document["assignments"] if item["stage"] == 2}
    assert ends == {"J1": (2, 20.0), "J2": (1, 35.0), "J3": (2, 40.0), "J4": (2, 45.0)}
    assert document["refused"] == ["J5"]
    assert (document["policy"], document["generations"], document["improvements"]) == ("tunable", 0, [])
    assert document["on_time"] == 0.8
    assert document["makespan"] == 45.0
    assert document["lower_bound"] <= 45.0
    assert document["average_delay"] == pytest.approx((40 + 29 + 30 + 32) / 4)


def test_for_people_and_as_a_picture(queue: Path, tmp_path: Path) -> None:
    result = run(queue, "--gantt", tmp_path / "chart.svg")
    assert "makespan 45 s, lower bound " in result.stdout
    assert "on time 80.0%, on average 32.75 s before the deadline" in result.stdout
    assert "10 plans compared in" in result.stdout
    assert "refused, as no chain meets its deadlines: J5" in result.stdout
    assert "J4/2" in "".join(ET.parse(tmp_path / "chart.svg").getroot().itertext())


def test_a_stage_is_shown_by_its_name(tmp_path: Path) -> None:
    """Names were read and never seen again: which way was taken had to be counted out in the file."""
    path = tmp_path / "queue.json"
    coarse = {"name": "sample coarse", "hosts": 2, "seconds": 2}
    path.write_text(json.dumps({"hosts": 2, "tasks": [{"id": "J", "path": [coarse, {"hosts": 1, "seconds": 1}]}]}))
    assert "1 sample coarse" in run(path).stdout
    assert [item["name"] for item in json.loads(run(path, "--json").stdout)["assignments"]] == ["sample coarse", ""]


def test_a_policy_for_other_tasks_is_refused(queue: Path) -> None:
    result = run(queue, "--policy", "easy")
    assert isinstance(result.exception, UserError)
    assert "easy does not plan tunable tasks" in str(result.exception)
