from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.language import Source, check_files, parse_psl
from cosched.language.checks.objects import check_object
from tests.language.tunable_models import JUNCTIONS, application

if TYPE_CHECKING:
    from pathlib import Path

TASK = "task t [] [g] [({1}, {1, 1 s}, 1)];"


def found(text: str) -> list[str]:
    return [fault.message for item in parse_psl(Source("x.psl", text)) for fault in check_object(item)]


def faults(body: str, variables: str = "var control: g;", more: str = "") -> list[str]:
    return found(application(body, variables, more))


def test_the_papers_example_has_no_faults() -> None:
    assert faults(f"task_loop (1000) {{ {JUNCTIONS} }}", "var control: g, d, c;") == []


def test_parameters_without_a_default_are_not_guessed() -> None:
    assert faults(f"task_loop (n) {{ {TASK} }}", "var control: g; var numeric: n;") == []


def test_a_control_parameter_is_a_number_to_links_and_costs() -> None:
    more = "include s; link { s: x = g + w(); } proc cflow w { compute <is measured, g * 1 s>; }"
    assert faults("task t [] [g] [({1}, {model s}, 1)];", more=more) == []


CONSTANTS = "here stand constants, parameters and control parameters alone"


@pytest.mark.parametrize(
    ("body", "variables", "message"),
    [
        (TASK, "var control: g, h;", "control parameter h is set nowhere: by no task, no `finally`, no initial value"),
        (TASK, "var control: g, error = 1;", "control parameter error is named like an option: call it error_"),
        (TASK, "var control: g, Nproc = 1;", "Nproc is the number of processors: choose another name"),
        (TASK, "", "g is no control parameter: declare it with `var control`"),
        (TASK, "var control: gg = 1; var numeric: g;", "g is no control parameter: did you mean gg?"),
        ("task t [] [g, g] [({1, 2}, {1, 1 s}, 1)];", "var control: g;", "control parameter g is set twice by task t"),
        (
            "task t [] [g] [({1, 2}, {1, 1 s}, 1)];",
            "var control: g;",
            "task t sets 1 control parameter: this way has 2 values",
        ),
        (
            f"{TASK} task_select {{ when (1) {{ }} finally {{ x = 1; }} }}",
            "var control: g; var numeric: x;",
            "x is no control parameter: declare it with `var control`",
        ),
        (f"task_loop (Nproc) {{ {TASK} }}", "var control: g;", f"Nproc is not constant: {CONSTANTS}"),
        (f"task_loop (f(1)) {{ {TASK} }}", "var control: g;", f"f() is not constant: {CONSTANTS}"),
        (
            f"task_loop (n) {{ {TASK} }}",
            "var control: g; var numeric: n;",
            f"n is not constant, as a procedure assigns it: {CONSTANTS}",
        ),
        (
            f"task_loop (v[1]) {{ {TASK} }}",
            "var control: g; var vector: v = [1];",
            f"a vector is not constant: {CONSTANTS}",
        ),
        (f"task_loop (2.5) {{ {TASK} }}", "var control: g;", "2.5 turns: give a whole number from 1 to 1000000"),
        (f"task_loop (x) {{ {TASK} }}", "var control: g;", "variable x is not declared"),
        ("task t [] [g] [({1}, {0, 1 s}, 1)];", "var control: g;", "0 hosts: give a whole number, 1 or more"),
        (
            "task t [] [g] [({1}, {1, 0}, 1)];",
            "var control: g;",
            "a stage of 0 s: its time is finite and above 0",
        ),
        (
            "task t [] [g] [({1}, {1, 1 s}, 0)];",
            "var control: g;",
            "a quality of 0: give a number above 0 and at most 1, which is full quality",
        ),
        (
            "task t [] [g] [({1}, {1, 1 s}, 1.5)];",
            "var control: g;",
            "a quality of 1.5: give a number above 0 and at most 1, which is full quality",
        ),
        ("task t [-1 s] [g] [({1}, {1, 1 s}, 1)];", "var control: g;", "a deadline of -1 s: it is finite and above 0"),
        (
            "task t [1 KiB] [g] [({1}, {1, 1 s}, 1)];",
            "var control: g;",
            "a size in bytes does not fit: a time is needed here",
        ),
        (
            "task t [1 s] [g] [({1}, {1 s, 1 s}, 1)];",
            "var control: g;",
            "a time does not fit: a plain number is needed here",
        ),
        (
            "task t [1 s] [g] [({1}, {model s}, 1)];",
            "var control: g;",
            "s is not included: a model request names a subtask",
        ),
    ],
)
def test_faults_of_single_statements(body: str, variables: str, message: str) -> None:
    assigning = "n = x;" if "n;" in variables else ""
    assert message in faults(body, variables, f"proc exec f(x) {{ {assigning} }}")


def test_every_fault_is_reported_and_has_its_place() -> None:
    text = application("task t [] [h] [\n({1}, {0, 1 s},\n0)];", "var control: g;")
    (item,) = parse_psl(Source("x.psl", text))
    assert [(fault.line, fault.message.partition(":")[0]) for fault in check_object(item)] == [
        (1, "control parameter g is set nowhere"),
        (1, "h is no control parameter"),
        (2, "0 hosts"),
        (3, "a quality of 0"),
    ]


def test_a_misspelt_control_parameter_is_one_fault() -> None:
    assert faults("task t [] [grian] [({1}, {1, 1 s}, 1)];", "var control: grain;") == [
        "grian is no control parameter: did you mean grain?"
    ]


def test_a_quality_of_one_may_be_worked_out() -> None:
    assert faults("task t [] [g] [({3}, {1, 1 s}, g * 0.1 + 0.7 + 1e-16)];") == []


def test_what_shows_on_the_way_is_looked_for_where_all_else_is_sound() -> None:
    assert faults("task_select { when (g == 1) { } }" + TASK) == ["control parameter g is read before it is set"]


def test_only_applications_are_tunable_and_once() -> None:
    text = f"subtask s {{ var control: g; proc tunable main {{ {TASK} }} }}"
    assert found(text) == [
        "control parameter g: a subtask has none, link it from the application",
        "only an application is tunable: a subtask has no `proc tunable`",
    ]
    assert faults(TASK, more=f"proc tunable again {{ {TASK} }}") == [
        "an application has one `proc tunable`: again in line 1 is it"
    ]


def test_control_parameters_need_a_tunable_procedure_and_are_set_by_it_alone() -> None:
    assert found("application a { var control: g; proc exec init { g = 1; var control: h; } }") == [
        "control parameter g is of no use: a has no `proc tunable`",
        "g is a control parameter: only tasks and `finally` set it",
        "control parameters are variables of the application, not of a procedure",
    ]


def test_nothing_calls_a_tunable_procedure() -> None:
    text = application(TASK, "var control: g;", "proc exec init { var numeric: x; x = main(); call main; }")
    assert found(text) == [
        "main is a `proc tunable`: nothing calls it",
        "main is a `proc tunable`: a `proc exec` cannot call it",
    ]
    assert found(application(TASK, "var control: g;").replace("main", "init")) == ["init is a `proc exec`"]


def test_limits_are_for_users_parameters() -> None:
    assert faults(TASK, "var control: g in (1, 2);") == [
        "only the numeric variables of an application have limits: users set those"
    ]


def test_a_model_file_with_a_tunable_application_is_checked_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.psl"
    path.write_text(application("task t [] [g] [({1}, {0, 1 s}, 1)];", "var control: g;"))
    assert [str(fault).rpartition(str(tmp_path))[2] for fault in check_files([path])] == [
        "/a.psl:1:76: 0 hosts: give a whole number, 1 or more"
    ]
