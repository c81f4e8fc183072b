from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner, Result

from cosched.cli.plan import command
from cosched.errors import UserError
from tests.language.tunable_models import application

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


def test_a_task_may_be_an_application_of_the_library_or_a_file_beside_the_plan(tmp_path: Path) -> None:
    """The same arbitrator plans it: a late second task takes the way that still fits."""
    body = "task t [9 s] [g] [({1}, {3, 2 s}, 1), ({2}, {1, 6 s}, 1)];"
    (tmp_path / "own.psl").write_text(application(body, "var control: g;"))
    path = tmp_path / "queue.json"
    tasks = [
        {"id": "J", "application": "junctions", "parameters": {"images": 2}},
        {"id": "A", "release": 200, "application": "own.psl"},
        {"id": "B", "release": 201, "application": "own.psl"},
        {"id": "C", "release": 202, "application": "own.psl", "parameters": {"g": 1}},
        {"id": "D", "release": 400, "path": [{"hosts": 8, "seconds": 1}]},
    ]
    path.write_text(json.dumps({"hosts": 8, "tasks": tasks}))
    document = json.loads(run(path, "--json").stdout)
    rows = [(item["task"], item["chain"], item["name"], item["start"]) for item in document["assignments"]]
    assert rows[:6] == [
        ("J", 2, "sampleImage", 0.0),
        ("J", 2, "markRegionB", 2.0),
        ("J", 2, "computeJunctions", 3.0),
        ("J", 2, "sampleImage", 84.0),
        ("J", 2, "markRegionB", 86.0),
        ("J", 2, "computeJunctions", 87.0),
    ]
    assert rows[6:] == [("A", 1, "t", 200.0), ("B", 1, "t", 201.0), ("C", 1, "t", 202.0), ("D", 1, "", 400.0)]
    assert document["refused"] == []
    assert document["average_delay"] == pytest.approx((16 + 3 * 7) / 4), "deadlines of a turn count from its beginning"


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"application": "junctoins"}, "tasks[0].application: no application 'junctoins' in the library: did you mean"),
        ({"application": "jacobi"}, "tasks[0].application: jacobi is not tunable: it has no `proc tunable`"),
        ({"application": "own.psl"}, "own.psl:1:1: cannot be read"),
        ({"application": 3}, "tasks[0].application: 3 is no name"),
        ({"application": "junctions", "parameters": 3}, "tasks[0].parameters: give an object with a number for each"),
        ({"application": "junctions", "parameters": {"images": "x"}}, "tasks[0].parameters.images: 'x' is no number"),
        ({"application": "junctions", "parameters": {"images": 0}}, "parameter images of junctions is 0: give 1 to"),
        ({"application": "junctions", "path": []}, "tasks[0]: unknown key 'path'"),
        ({"application": "junctions", "hardware": "nothing"}, "tasks[0].application: no hardware 'nothing'"),
    ],
)
def test_an_application_that_cannot_be_asked(tmp_path: Path, task: dict[str, object], message: str) -> None:
    path = tmp_path / "queue.json"
    path.write_text(json.dumps({"hosts": 8, "tasks": [{"id": "J", **task}]}))
    result = run(path)
    assert isinstance(result.exception, UserError)
    assert message in str(result.exception)
