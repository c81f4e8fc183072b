from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from cosched.cli.model import app
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "application good { var numeric: x = 2; proc exec init { step cpu { confdev x s / Nproc; } } }".replace(
    "x s", "x * 1 s"
)
BAD = "application bad {\n  var numeric: x;\n  proc exec init { y = 1; call z; }\n}\n"


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_check_of_sound_files(tmp_path: Path) -> None:
    path = tmp_path / "good.psl"
    path.write_text(GOOD)
    assert run("check", str(path)).exit_code == 0
    found = run("check", str(path), "--json")
    assert (found.exit_code, json.loads(found.stdout)) == (0, [])


def test_check_reports_all_faults_of_all_files(tmp_path: Path) -> None:
    bad, worse = tmp_path / "bad.psl", tmp_path / "worse.hmcl"
    bad.write_text(BAD)
    worse.write_text("config worse { mpj { } clc { AFDQ = 1; } }")
    found = run("check", str(bad), str(worse), "--json")
    assert found.exit_code == 1
    assert [(d["file"], d["line"], d["column"], d["message"]) for d in json.loads(found.stdout)] == [
        (str(bad), 3, 20, "variable y is not declared"),
        (str(bad), 3, 27, "z is neither a procedure here nor included"),
        (str(worse), 1, 16, "group mpj is not known: did you mean mpi?"),
        (str(worse), 1, 30, "unknown opcode AFDQ: did you mean AFDL or AFDG?"),
    ]
    text = run("check", str(bad))
    assert f"{bad}:3:20: variable y is not declared\n    proc exec init {{ y = 1; call z; }}\n" in text.stdout
    lines = text.stdout.splitlines()
    assert lines[2].index("^") == lines[1].index("y = 1")


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


def test_explain_prints_what_binds_and_where_the_time_goes(tmp_path: Path) -> None:
    text = run("explain", "cpi", "--hosts", "1-12").stdout
    assert "11     5.71898  54.9 %   35.6 %     0.2 %    9.2 %      compute (best)" in text
    found = json.loads(run("explain", "cpi", "--hosts", "1-12", "--at", "2", "--json").stdout)
    assert (found["best"], found["at"], len(found["points"]), len(found["processors"])) == (11, 2, 12, 2)
    assert found["points"][10]["binds"] == "compute"
    assert sum(part["seconds"] for part in found["path"]) == pytest.approx(found["seconds"])
    assert found["work"][0]["file"].endswith("cpi.psl")
    assert {item["name"] for item in found["sensitivity"]["parameters"]} == {"passes", "rectangles", "strips"}
    assert found["sensitivity"]["costs"][0]["name"].startswith("clc ")


def test_format_changes_layout_only(tmp_path: Path) -> None:
    path = tmp_path / "messy.psl"
    path.write_text("application messy {\nproc exec init{step cpu{confdev 1 ;} (* one *)\n}}\n")
    found = run("format", "--check", str(path))
    assert (found.exit_code, found.stdout) == (1, f"{path}\n")
    assert json.loads(run("format", "--check", "--json", str(path)).stdout) == [str(path)]
    assert "{step" in path.read_text()
    assert run("format", str(path)).exit_code == 0
    body = "        step cpu { confdev 1; } (* one *)"
    assert path.read_text() == f"application messy {{\n    proc exec init {{\n{body}\n    }}\n}}\n"
    found = run("format", "--check", str(path))
    assert (found.exit_code, found.stdout) == (0, "")


def test_a_file_with_faults_is_not_formatted_and_none_beside_it(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.psl", tmp_path / "bad.psl"
    good.write_text("application good{proc exec init{}}")
    bad.write_text("application bad {")
    with pytest.raises(UserError, match=r"bad\.psl:1:18: the file ends too early"):
        CliRunner().invoke(app, ["format", str(good), str(bad)], catch_exceptions=False)
    assert good.read_text() == "application good{proc exec init{}}"


def test_parameters_with_defaults_and_limits(tmp_path: Path) -> None:
    path = tmp_path / "form.psl"
    path.write_text("application form { var numeric: a = 2 in (1, 8), b; proc exec init { } }")
    assert json.loads(run("parameters", str(path), "--json").stdout) == [
        {"name": "a", "default": 2, "min": 1, "max": 8},
        {"name": "b", "default": None, "min": None, "max": None},
    ]
    assert [line.split() for line in run("parameters", str(path)).stdout.splitlines()] == [
        ["a", "default", "2,", "1", "to", "8"],
        ["b", "no", "default"],
    ]


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


def test_a_trace_for_a_paje_viewer(tmp_path: Path) -> None:
    path = tmp_path / "trace.paje"
    assert run("predict", "jacobi", "--hosts", "1-4", "--set", "iterations=2", "--trace", str(path)).exit_code == 0
    assert path.read_text().startswith("%EventDef PajeDefineContainerType 0\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jacobi", "--set", "cells=1,2", "--trace", "x.json"], "--trace shows one run"),
        (["cpi", "--hosts", "1", "--set", "strips=1..50", "--plot", "x.svg"], "--plot would draw 50 lines"),
        (["jacobi", "--csv", "--json"], "--csv and --json exclude one another"),
        (["jacobi", "--set", "cells=4..1"], "a range goes up"),
        (["no_such"], "no application 'no_such' in the library"),
        (["jacobbi"], "did you mean jacobi"),
        (["jacobi", "--hardware", "sgi_origin3000"], "did you mean sgi_origin2000"),
        (["jacobi", "--hosts", "4-1"], "is no range of numbers"),
        (["jacobi", "--hosts", "1-4294967295"], "write a number, a range or a list"),
        (["jacobi", "--set", "cells"], "write NAME=NUMBER"),
        (["jacobi", "--set", "cells=many"], "write NAME=NUMBER"),
        (["jacobi", "--set", "cell=3"], "no parameter cell: did you mean cells"),
        (["missing.psl"], "missing.psl:1:1: cannot be read: No such file or directory"),
        (["cpi_measured", "--hosts", "20"], r"nothing was measured for 20 \(on 20 hosts\)"),
        (["cpi_measured", "--hosts", "1", "--trace", "/nowhere/trace.json"], "cannot be written"),
        (["cpi_measured", "--hosts", "1", "--trace", "x.txt"], "its name says in which form: FILE.json for Perfetto"),
    ],
)
def test_bad_requests_end_in_one_clear_line(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        CliRunner().invoke(app, ["predict", *arguments], catch_exceptions=False)
    assert "\n" not in str(caught.value)
