from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from cosched.cli.model import app

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "application good { var numeric: x = 2; proc exec init { step cpu { confdev x s / Nproc; } } }".replace(
    "x s", "x * 1 s"
)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_predict_prints_the_contract(tmp_path: Path) -> None:
    path = tmp_path / "good.psl"
    path.write_text(GOOD)
    found = run("predict", str(path), "--hardware", "sgi_origin2000", "--hosts", "1,2,4", "--set", "x=4", "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout) == {
        "application": "good",
        "hardware": "sgi_origin2000",
        "parameters": {"x": 4},
        "hosts": [1, 2, 4],
        "seconds": [4, 2, 1],
    }


def test_parameters_that_have_a_unit_are_shown_with_one(tmp_path: Path) -> None:
    """A launcher of 1.2 s stood there as 1.21231e+06."""
    path = tmp_path / "good.psl"
    path.write_text(GOOD.replace("x = 2", "x = 2, launcher = 1212.31 ms, part = 4 MiB"))
    arguments = ("predict", str(path), "--hardware", "sgi_origin2000", "--hosts", "1")
    assert "(x = 2, launcher = 1.2 s, part = 4 MiB)" in run(*arguments).stdout
    assert "launcher = 2.5 ms" in run(*arguments, "--set", "launcher=2500").stdout
    assert json.loads(run(*arguments, "--json").stdout)["parameters"]["launcher"] == pytest.approx(1212310.0)


def test_predict_uses_the_hardware_that_the_model_names() -> None:
    found = run("predict", "cpi_measured", "--hosts", "15-18", "--json")
    assert json.loads(found.stdout)["seconds"] == [12, 20, None, None]
    text = run("predict", "cpi_measured", "--hosts", "16-17").stdout
    assert "cpi_measured on sgi_origin2000 (Scale = 1)" in text
    assert "cannot be used" in text


def test_a_model_that_states_its_error_is_predicted_as_a_range(tmp_path: Path) -> None:
    path, picture = tmp_path / "good.psl", tmp_path / "good.svg"
    path.write_text(GOOD.replace("proc exec", "option { error = 0.1; } proc exec"))
    arguments = ("predict", str(path), "--hardware", "sgi_origin2000", "--hosts", "1,2", "--plot", str(picture))
    found = json.loads(run(*arguments, "--json").stdout)
    assert (found["low"], found["high"]) == (pytest.approx([1.8, 0.9]), pytest.approx([2.2, 1.1]))
    assert "1.8 to 2.2 s" in run(*arguments).stdout
    assert "good, 2: 1 (0.9 to 1.1)" in picture.read_text()


def test_a_sweep_as_json_and_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "good.psl"
    path.write_text(GOOD)
    arguments = ("predict", str(path), "--hardware", "sgi_origin2000", "--hosts", "1,2", "--set", "x=2..6:2")
    found = json.loads(run(*arguments, "--json").stdout)
    assert (found["parameters"], found["hosts"]) == ({}, [1, 2])
    assert found["sweep"][2] == {"parameters": {"x": 6}, "seconds": [6, 3]}
    table = run(*arguments, "--csv").stdout.splitlines()
    assert table == ["x,hosts,seconds", "2,1,2.0", "2,2,1.0", "4,1,4.0", "4,2,2.0", "6,1,6.0", "6,2,3.0"]
    assert "x = 6\n      1 host                6 s\n      2 hosts               3 s\n" in run(*arguments).stdout
    table = run("predict", "cpi_measured", "--hosts", "16,17", "--csv").stdout.splitlines()
    assert table == ["hosts,seconds,low,high", "16,20.0,18.0,22.0", "17,,,"]


def test_one_large_number_of_hosts_can_be_predicted() -> None:
    found = run("predict", "sweep3d", "--hosts", "2700", "--set", "it_g=600", "--set", "jt_g=600", "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout)["seconds"][0] > 1


def test_trace_is_a_timeline_of_the_most_hosts(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    assert run("predict", "jacobi", "--hosts", "1-4", "--set", "iterations=2", "--trace", str(path)).exit_code == 0
    events = json.loads(path.read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert {event["tid"] for event in slices} == {1, 2, 3, 4}
    assert {event["name"] for event in slices} <= {"compute", "send", "receive", "wait"}
    assert all(event["dur"] >= 0 for event in slices)


def test_defaults_that_depend_on_what_is_given_are_those_of_the_prediction(tmp_path: Path) -> None:
    """The timeline was that of a run with all other defaults."""
    (tmp_path / "a.psl").write_text("""application a { var numeric: n = 1, work = 2 * n;
        option { hrduse = "sgi_origin2000"; } proc exec init { step cpu { confdev work * 1 s; } } }""")
    words = (str(tmp_path / "a.psl"), "--hosts", "1", "--set", "n=50", "--trace", str(tmp_path / "a.json"))
    assert "n = 50, work = 100" in run("predict", *words).output
    events = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    assert max(event.get("ts", 0) + event.get("dur", 0) for event in events) == pytest.approx(100e6)


def test_a_trace_for_a_paje_viewer(tmp_path: Path) -> None:
    path = tmp_path / "trace.paje"
    assert run("predict", "jacobi", "--hosts", "1-4", "--set", "iterations=2", "--trace", str(path)).exit_code == 0
    assert path.read_text().startswith("%EventDef PajeDefineContainerType 0\n")
