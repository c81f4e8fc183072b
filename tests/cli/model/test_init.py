from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from cosched import predict
from cosched.cli.model import app
from cosched.errors import UserError
from tests.language.tunable_models import application

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


def test_check_asks_the_models_of_tunable_stages(tmp_path: Path) -> None:
    """A request of a model that cannot be evaluated is a fault like any other; without hardware it is not asked."""
    work = "subtask work { include independent; var numeric: n; link { independent: Tx_work = 1 s / n; } }"
    more = 'include work; link { work: n = g; } option { hrduse = "x86_64_gigabit"; }'
    body = "task t [] [g] [({1}, {model work}, 1),\n({0}, {model work}, 1)];"
    path = tmp_path / "a.psl"
    path.write_text(application(body, "var control: g;", more) + work + " application other { proc exec init { } }")
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == 1
    assert f"{path}:1:" in result.stdout
    assert "task t cannot run as work says:" in result.stdout
    assert "division by zero" in result.stdout
    path.write_text(application(body.replace("{0}", "{2}"), "var control: g;", more) + work)
    assert "no faults" in CliRunner().invoke(app, ["check", str(path)]).stdout
    path.write_text(application(body, "var control: g;", more.partition("option")[0]) + work)
    assert "no faults" in CliRunner().invoke(app, ["check", str(path)]).stdout
    assert CliRunner().invoke(app, ["check", str(path), "--hardware", "sun_ultra_5"]).exit_code == 1


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


def test_hardware_beside_a_model_is_found(tmp_path: Path) -> None:
    (tmp_path / "node_a.hmcl").write_text("config node_a { clc { AFDG = 2 s; } }")
    (tmp_path / "ours.psl").write_text(
        'application ours { option { hrduse = "node_a"; } proc exec init { step cpu { confdev work(); } }'
        " proc cflow work { compute <is clc, 3*AFDG>; } }"
    )
    assert run("predict", str(tmp_path / "ours.psl"), "--hosts", "1").stdout.split()[-2:] == ["6", "s"]
    assert "node_a" in run("explain", str(tmp_path / "ours.psl"), "--hosts", "1").stdout
    assert run("check", str(tmp_path / "ours.psl")).exit_code == 0
    assert predict(tmp_path / "ours.psl", hosts=[1]).seconds.tolist() == [6]


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
