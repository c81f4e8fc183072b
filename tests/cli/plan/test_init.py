from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner, Result

from cosched.cli import plan
from cosched.cli.plan import command
from cosched.errors import SystemFault, UserError
from cosched.scheduling import kernel_cache
from cosched.scheduling.policies import POLICIES, PolicyName
from cosched.scheduling.schedule import Assignment, Schedule
from cosched.scheduling.search.run import SearchStatistics

if TYPE_CHECKING:
    from pathlib import Path


TASKS = [
    {"id": "fft-1", "profile": [4, 3], "deadline": 5},
    {"id": "fft-2", "profile": [4, 3], "deadline": 2},
    {"id": "cpi-1", "profile": [6, 2]},
]


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "problem.json"
    path.write_text(json.dumps({"hosts": 2, "tasks": TASKS}))
    return path


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    if not kernel_cache.ready():
        kernel_cache.keep()


def run(*arguments: str | Path) -> Result:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    "policy",
    [
        "genetic",
        "heuristic",
        "two-phase",
        "edf",
        "fcfs-arbitrary",
        "fcfs-maximum",
        "fcfs-calculated",
        "easy",
        "easy-sjbf",
        "conservative",
    ],
)
def test_json_has_the_keys_of_the_contract(problem: Path, policy: str) -> None:
    result = run(problem, "--json", "--policy", policy, "--budget", "0.01", "--seed", "3")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert list(document) == [
        "policy",
        "makespan",
        "lower_bound",
        "gap",
        "optimal",
        "on_time",
        "idle",
        "average_delay",
        "evaluations",
        "generations",
        "elapsed",
        "improvements",
        "assignments",
    ]
    assert document["policy"] == policy
    assert {item["task"] for item in document["assignments"]} == {"fft-1", "fft-2", "cpi-1"}
    assert all(set(item) == {"task", "hosts", "start", "end"} for item in document["assignments"])
    assert document["makespan"] == max(item["end"] for item in document["assignments"])
    assert document["gap"] == pytest.approx(document["makespan"] / document["lower_bound"] - 1)


@pytest.fixture
def three_tasks(tmp_path: Path) -> Path:
    """Two hosts need 11 s, though what there is to do would take them 8.5 s, and plans end at whole seconds."""
    path = tmp_path / "three.json"
    path.write_text(
        json.dumps(
            {"hosts": 2, "tasks": [{"id": name, "profile": [time]} for name, time in (("a", 6), ("b", 6), ("c", 5))]}
        )
    )
    return path


def test_a_plan_is_optimal_once_that_is_proved(three_tasks: Path) -> None:
    pytest.importorskip("ortools", reason="the extra exact is not installed")
    options = ("--objective", "makespan", "--budget", "60")
    document = json.loads(run(three_tasks, "--json", "--exact", *options).stdout)
    assert (document["makespan"], document["lower_bound"], document["gap"]) == (11.0, 11.0, 0.0)
    assert document["optimal"]
    assert "gap 0.00% (optimal), idle" in run(three_tasks, *options).stdout  # where it is installed


def test_without_the_exact_partner_nothing_is_claimed(three_tasks: Path) -> None:
    for options in (("--no-exact", "--budget", "0.1"), ("--generations", "10")):
        document = json.loads(run(three_tasks, "--json", *options).stdout)
        assert (document["makespan"], document["lower_bound"], document["optimal"]) == (11.0, 9.0, False)
    assert "(optimal)" not in run(three_tasks, "--policy", "edf").stdout


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--exact", "--generations", "10"), "--generations asks for the same plan anywhere"),
        (("--exact", "--policy", "edf"), "here edf plans"),
    ],
)
def test_the_exact_partner_is_refused_where_it_cannot_help(
    three_tasks: Path, options: tuple[str, ...], why: str
) -> None:
    result = run(three_tasks, *options)
    assert isinstance(result.exception, UserError)
    assert why in str(result.exception)
    assert "leave --exact out" in str(result.exception)


def test_the_exact_partner_says_which_package_it_needs(three_tasks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched.cli.plan.solver_installed", lambda: False)
    result = run(three_tasks, "--exact")
    assert isinstance(result.exception, UserError)
    assert "pip install 'cosched[exact]'" in str(result.exception)
    assert run(three_tasks, "--budget", "0.1").exit_code == 0


def test_the_figures_are_those_of_the_schedule(problem: Path) -> None:
    document = json.loads(run(problem, "--json", "--generations", "30").stdout)
    assert document["makespan"] == 6.0
    assert document["on_time"] == 0.5
    assert document["average_delay"] == pytest.approx(-0.5)
    assert document["idle"] == pytest.approx(0.0)


def test_without_deadlines_those_figures_are_null(tmp_path: Path) -> None:
    path = tmp_path / "matrix.etc"
    path.write_text("2 2 0\n1 2\n3 4\n")
    document = json.loads(run(path, "--json", "--policy", "two-phase").stdout)
    assert (document["on_time"], document["average_delay"]) == (None, None)


@pytest.mark.parametrize(
    "policy", ["genetic", "dual-price", "min-min", "max-min", "sufferage", "a-mm", "a-mm-execution"]
)
def test_a_matrix_is_planned_by_the_policies_for_independent_tasks(tmp_path: Path, policy: str) -> None:
    path = tmp_path / "matrix.etc"
    path.write_text("4 2 0\n2 9\n2 9\n9 2\n9 2\n")
    document = json.loads(run(path, "--json", "--policy", policy, "--generations", "30").stdout)
    assert document["makespan"] == 4.0
    assert document["lower_bound"] == pytest.approx(4.0)
    assert [len(item["hosts"]) for item in document["assignments"]] == [1] * 4


def test_a_policy_for_independent_tasks_refuses_others(tmp_path: Path) -> None:
    path = tmp_path / "late.json"
    path.write_text(json.dumps({"hosts": 2, "tasks": [{"id": "a", "profile": [1], "release": 3}]}))
    result = run(path, "--policy", "min-min")
    assert isinstance(result.exception, UserError)
    assert "a is released later; choose another policy" in str(result.exception)


@pytest.mark.parametrize(("objective", "on_time"), [("balanced", 1 / 3), ("deadlines-first", 2 / 3)])
def test_the_objective_is_the_users_choice(tmp_path: Path, objective: str, on_time: float) -> None:
    tasks = [
        {"id": "a", "profile": [1], "deadline": 1},
        {"id": "b", "profile": [10], "deadline": 10},
        {"id": "c", "profile": [10], "deadline": 20},
    ]
    path = tmp_path / "problem.json"
    path.write_text(json.dumps({"hosts": 1, "tasks": tasks}))
    document = json.loads(run(path, "--json", "--objective", objective, "--generations", "30").stdout)
    assert document["on_time"] == pytest.approx(on_time)


def test_text_is_a_table_and_a_summary(problem: Path) -> None:
    result = run(problem, "--policy", "edf")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["task", "start", "(s)", "end", "(s)", "count", "hosts"]
    assert any(line.startswith("fft-1") for line in lines)
    assert "lower bound" in result.stdout
    assert "on time" in result.stdout


def test_the_picture_shows_one_colour_an_application(problem: Path, tmp_path: Path) -> None:
    picture = tmp_path / "plan.svg"
    assert run(problem, "--policy", "edf", "--gantt", picture).exit_code == 0
    root = ET.parse(picture).getroot()
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"fft", "cpi"} <= set(words)
    assert root.attrib["role"] == "img"


def test_a_bad_problem_is_the_users_fault_and_names_the_element(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({"hosts": 2, "tasks": [{"id": "a", "profile": [1, -2]}]}))
    result = run(path)
    assert isinstance(result.exception, UserError)
    assert str(result.exception).startswith(f"{path}: tasks[0].profile[1]: -2 is no time")


def test_a_picture_that_cannot_be_written_is_the_users_fault(problem: Path, tmp_path: Path) -> None:
    result = run(problem, "--policy", "edf", "--gantt", tmp_path / "none" / "plan.svg")
    assert isinstance(result.exception, UserError)
    assert "cannot be written" in str(result.exception)
    assert "makespan" in result.stdout, "the plan is not lost with its picture"


def test_uncertain_times_are_planned_at_a_quantile(tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    times = {"low": [2], "expected": [4], "high": [16]}
    path.write_text(json.dumps({"hosts": 1, "tasks": [{"id": "a", "profile": times}]}))
    makespans = [
        json.loads(run(path, "--policy", "two-phase", "--json", *option).stdout)["makespan"]
        for option in ([], ["--quantile", "0.95"])
    ]
    assert makespans == pytest.approx([4.0, 16.0])
    refused = run(path, "--quantile", "1").exception
    assert isinstance(refused, UserError)
    assert "--quantile 1: give a number between 0 and 1" in str(refused)


def test_a_search_says_how_fast_it_was(tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    tasks = [{"id": str(number), "profile": [3 + number, 2.5]} for number in range(5)]
    path.write_text(json.dumps({"hosts": 2, "tasks": tasks}))
    assert "generations a second" in run(path, "--generations", "30").stdout
    assert "generations" not in run(path, "--policy", "edf").stdout


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Have no machine code; return how often its compilation has been started."""
    found: list[bool] = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "none"))

    def start() -> bool:
        found.append(True)
        return True

    monkeypatch.setattr(kernel_cache, "keep_in_background", start)
    return found


@pytest.mark.parametrize("policy", ["genetic", "titan-classic", "dual-price"])
def test_where_nothing_is_compiled_a_heuristic_answers(problem: Path, started: list[bool], policy: str) -> None:
    result = run(problem, "--json", "--policy", policy)
    assert (result.exit_code, started) == (0, [True])
    assert json.loads(result.stdout)["policy"] == "heuristic"
    assert f"{policy} has not been compiled" in result.stderr
    assert "best heuristic" in result.stderr


def test_where_nothing_can_be_kept_nobody_is_told_to_wait(
    problem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was said to be compiled now, each time, and never was."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "none"))
    result = run(problem, "--json")
    assert json.loads(result.stdout)["policy"] == "heuristic"
    assert "can be kept nowhere: set NUMBA_CACHE_DIR to a folder that you can write" in result.stderr


@pytest.mark.parametrize(
    ("policy", "tasks", "message"),
    [
        ("dual-price", [{"id": "a", "profile": [3]}, {"id": "b", "profile": [3], "depends_on": ["a"]}], "independent"),
        ("titan-classic", [{"id": "a", "profile": [3]}], "hosts that come and go"),
    ],
)
def test_a_policy_that_does_not_fit_is_refused_before_anything_is_compiled(
    tmp_path: Path, started: list[bool], policy: str, tasks: list[object], message: str
) -> None:
    path = tmp_path / "problem.json"
    reserved = [{"hosts": ["host1"], "from": 1, "until": 2}]
    path.write_text(json.dumps({"hosts": 1, "tasks": tasks, "reservations": reserved}))
    result = run(path, "--policy", policy)
    assert isinstance(result.exception, UserError)
    assert message in str(result.exception)
    assert started == []


def test_it_tells_of_each_better_plan_and_why(tmp_path: Path) -> None:
    times = [[40 - task, 25 - task % 7, 17 + task % 3, 14 + task % 5] for task in range(24)]
    path = tmp_path / "queue.json"
    path.write_text(
        json.dumps(
            {
                "hosts": 7,
                "tasks": [
                    {"id": str(task), "profile": row, "deadline": 30 + 3 * task} for task, row in enumerate(times)
                ],
            }
        )
    )
    result = run(path, "--json", "--verbose", "--generations", "300")
    document = json.loads(result.stdout)
    first, *better = document["improvements"]
    assert first["why"] == ""
    assert better, "the search finds something better than the heuristics here"
    assert all(item["why"] for item in better)
    assert document["makespan"] == pytest.approx(document["improvements"][-1]["makespan"])
    assert len(result.stderr.splitlines()) == len(document["improvements"])


def test_a_schedule_that_cannot_be_is_not_printed(problem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def both_at_once(*_: object, **__: object) -> tuple[Schedule, SearchStatistics]:
        times = {"fft-1": 4.0, "fft-2": 4.0, "cpi-1": 6.0}
        items = [Assignment(task, ("host1",), 0.0, seconds) for task, seconds in times.items()]
        return Schedule(tuple(items)), SearchStatistics(1.0, 1, 0, 0.0)

    monkeypatch.setattr(plan, "make_plan", both_at_once)
    result = run(problem, "--policy", "edf")
    assert isinstance(result.exception, SystemFault)
    assert "fft-1 and fft-2 are on host1 at the same time: choose another policy" in str(result.exception)
    assert result.stdout == ""


def test_every_policy_is_listed_with_what_it_does() -> None:
    listed = run("--policies").stdout.splitlines()
    assert len(listed) == 1 + len(POLICIES)
    easy = next(line for line in listed if line.startswith("easy "))
    assert "backfilling" in easy
    assert easy.endswith("yes") == POLICIES[PolicyName.EASY].served


SHARED = {
    "hosts": [
        {"name": name, "class": "a", "cores": 8, "memory": "16G", "gpus": int(name == "n1")} for name in ("n1", "n2")
    ],
    "tasks": [
        {"id": "fft-1", "profile": [10, 6], "cores": 4, "memory": "4G"},
        {"id": "fft-2", "profile": [20], "cores": 4, "gpus": 1, "deadline": 25},
        {"id": "cpi-1", "profile": [5], "cores": 8, "memory": "12 GiB"},
    ],
}


def test_tasks_that_share_hosts_are_shown_with_what_they_take(tmp_path: Path) -> None:
    file, picture = tmp_path / "shared.json", tmp_path / "shared.svg"
    file.write_text(json.dumps(SHARED))
    header, *lines = run(file, "--generations", "20").stdout.splitlines()
    assert header.split("  ")[-1].strip() == "hosts"
    assert " count  cores  memory  GPUs " in header
    [line] = [line for line in lines if line.startswith("fft-2")]
    assert line.split() == ["fft-2", "0", "20", "1", "4", "0M", "1", "n1"]
    document = json.loads(run(file, "--json", "--generations", "20", "--gantt", picture).stdout)
    assert document["makespan"] == 20.0
    assert {item["task"]: (item["cores"], item["memory"], item["gpus"]) for item in document["assignments"]} == {
        "fft-1": (4, 4096, 0),
        "fft-2": (4, 0, 1),
        "cpi-1": (8, 12288, 0),
    }
    assert "n1 1" in picture.read_text(encoding="utf-8")


def test_a_policy_for_whole_hosts_refuses_shared_ones(tmp_path: Path) -> None:
    file = tmp_path / "shared.json"
    file.write_text(json.dumps(SHARED))
    result = run(file, "--policy", "easy")
    assert isinstance(result.exception, UserError)
    assert "easy plans tasks that have their hosts for themselves" in str(result.exception)
    assert "choose genetic, heuristic" in str(result.exception)


MIXED = {
    "hosts": 8,
    "tasks": [
        {"id": "sim-1", "profile": [120, 62, 43, 33], "elastic": {"cost": 1}},
        {"id": "fft-1", "profile": [25, 14, 10, 8], "release": 5},
        {"id": "solve-1", "profile": [None, None, None, None, None, 15], "deadline": 40, "depends_on": ["fft-1"]},
    ],
    "running": [{"id": "sim-1", "hosts": ["host5", "host6", "host7"], "left": 0.5}],
}


@pytest.mark.parametrize("policy", [str(name) for name, policy in POLICIES.items() if policy.reshapes])
def test_a_mixed_queue_by_a_policy_that_decides_at_each_event(tmp_path: Path, policy: str) -> None:
    path, picture = tmp_path / "mixed.json", tmp_path / "mixed.svg"
    path.write_text(json.dumps(MIXED))
    document = json.loads(run(path, "--policy", policy, "--json", "--gantt", picture).stdout)
    assert document["policy"] == policy
    first = next(item for item in document["assignments"] if item["task"] == "sim-1")
    assert (first["start"], first["piece"]) == (0.0, 1)
    assert {*first["hosts"]} <= {"host5", "host6", "host7"} or {*first["hosts"]} >= {"host5", "host6", "host7"}
    assert document["makespan"] == max(item["end"] for item in document["assignments"])
    assert not any("promised_end" in item for item in document["assignments"])
    assert "promised_makespan" not in document
    (solve,) = (item for item in document["assignments"] if item["task"] == "solve-1")
    assert document["on_time"] == float(solve["end"] <= 40)
    assert "fft-1" in picture.read_text()
    assert "promised" not in run(path, "--policy", policy).stdout


def test_an_unknown_policy_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps(MIXED))
    refused = run(path, "--policy", "srt")
    assert refused.exit_code != 0
    message = " ".join((refused.output + str(refused.exception)).split())
    assert "srt-harvest" in message
    assert "marginal" in message


def test_the_default_policy_names_those_that_plan_what_runs_already(tmp_path: Path) -> None:
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps(MIXED))
    refused = run(path)
    assert isinstance(refused.exception, UserError)
    assert "genetic plans tasks that wait, and sim-1 runs already: choose ideal, " in str(refused.exception)


def test_elastic_tasks_run_in_pieces_that_end_before_their_promise(tmp_path: Path) -> None:
    path, picture = tmp_path / "mixed.json", tmp_path / "mixed.svg"
    tasks = [
        {"id": "render-1", "profile": [80, 40, 27, 20, 16, 14, 12, 10], "elastic": {"least": 2, "cost": 0.1}},
        {"id": "solve-1", "profile": [None, None, None, None, None, 15], "release": 5, "deadline": 20},
    ]
    path.write_text(json.dumps({"hosts": 8, "tasks": tasks}))
    document = json.loads(run(path, "--policy", "edf", "--json", "--gantt", picture).stdout)
    pieces = [item for item in document["assignments"] if item["task"] == "render-1"]
    assert [(item["piece"], len(item["hosts"])) for item in pieces] == [(1, 8), (2, 2), (3, 8)]
    assert pieces[-1]["end"] < 22 < pieces[-1]["promised_end"] == 40.0
    assert document["makespan"] == pieces[-1]["end"] < document["promised_makespan"] == 40.0
    assert document["on_time"] == 1.0
    assert 0 <= document["idle"] < 1
    (solve,) = (item for item in document["assignments"] if item["task"] == "solve-1")
    assert "piece" not in solve
    assert picture.read_text().count("render-1") >= 2
    assert "promised end" in run(path, "--policy", "edf").stdout
