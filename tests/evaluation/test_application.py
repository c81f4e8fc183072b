from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched.evaluation import Application, CountError, ModelParameter, load, parameters, profile
from cosched.evaluation.application import parameter_values
from cosched.language import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cosched.evaluation import Hardware


def test_parameters_are_what_a_user_may_set(model: Callable[[str], Application]) -> None:
    application = model("""
        var numeric: a = 2, b = a * 3, per_host = a / Nproc, timed = w(), needed, computed, bad = 1 / 0;
        var string: s = "x"; var vector: v = [1];
        proc exec init { computed = needed; }
        proc cflow w { }
    """)
    assert parameters(application) == (
        ModelParameter("a", 2),
        ModelParameter("b", 6),
        ModelParameter("per_host", None),
        ModelParameter("timed", None),
        ModelParameter("needed", None),
        ModelParameter("bad", None),
    )


def test_defaults_follow_what_is_given(model: Callable[[str], Application]) -> None:
    application = model("""var numeric: a = 2, b = a * 3, late = 2 * c, c = 4, per_host = a / Nproc, needed;
        proc exec init { }""")
    assert parameter_values(application, {}) == {
        "a": 2,
        "b": 6,
        "late": None,
        "c": 4,
        "per_host": None,
        "needed": None,
    }
    assert parameter_values(application, {"a": 5, "c": 1}) | {"per_host": 0} == {
        "a": 5,
        "b": 15,
        "late": 2,
        "c": 1,
        "per_host": 0,
        "needed": None,
    }
    assert parameter_values(application, {}, ["a"])["b"] is None


def test_limits_of_parameters_are_kept(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("var numeric: a = 2 in (-1, 1 ms), b = 3; proc exec init { step cpu { confdev abs(a); } }")
    assert parameters(application) == (ModelParameter("a", 2, -1, 1000), ModelParameter("b", 3))
    for value in (-1.0, 0.0, 1000.0):
        assert profile(application, plain, [1], {"a": value})[0] == abs(value) / 1e6
    for value in (-1.5, 1001.0):
        with pytest.raises(UserError, match=r"parameter a of model is .*: give -1 to 1000"):
            profile(application, plain, [1], {"a": value})


def test_a_parameter_that_runs_never_varied_is_known_at_its_value_alone(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    """`give 100 to 100` was said of a fitted model's parameter that was the same in all runs."""
    application = model("var numeric: steps = 100 in (100, 100); proc exec init { step cpu { confdev steps; } }")
    assert profile(application, plain, [1], {"steps": 100})[0] == pytest.approx(1e-4)
    with pytest.raises(UserError, match="parameter steps of model is 200: the model knows 100 alone"):
        profile(application, plain, [1], {"steps": 200})


def test_options_are_read(model: Callable[[str], Application]) -> None:
    application = model("""
        var numeric: a, b; option { hrduse = "box", decompose = "a, b", coupling = "independent"; } proc exec init { }
    """)
    assert (application.hardware, application.decompose) == ("box", ("a", "b"))
    assert application.coupling == "independent"
    plain = model("proc exec init { }")
    assert (plain.hardware, plain.decompose, plain.coupling) == ("", (), "coupled")


_TEMPLATE = "partmp work {{ proc exec init {{ step cpu {{ confdev 1 s / Nproc; }} {} }} }}"
_SUBTASK = "application model { include %s; %s proc exec init { call %s; } } subtask %s { include work; }"
_MESSAGES = "step mpisend { confdev 1, 2, 8; } step mpirecv { confdev 1, 2, 8; }"


@pytest.mark.parametrize(
    ("options", "steps", "coupling"),
    [
        pytest.param("", "", "independent", id="no messages"),
        pytest.param("", _MESSAGES, "coupled", id="messages"),
        pytest.param("", "step mpibarrier { }", "coupled", id="a barrier"),
        pytest.param('option { coupling = "coupled"; }', "", "coupled", id="stated without messages"),
        pytest.param('option { coupling = "independent"; }', _MESSAGES, "independent", id="stated"),
        pytest.param('option { fitted = "2026-11-27"; }', "", "coupled", id="fitted to run times"),
    ],
)
def test_a_template_without_messages_has_independent_parts(
    tmp_path: Path, options: str, steps: str, coupling: str
) -> None:
    path = tmp_path / "model.psl"
    path.write_text(_SUBTASK % ("part", options, "part", "part") + _TEMPLATE.format(steps))
    assert load(path).coupling == coupling


@pytest.mark.parametrize(
    ("name", "coupling"),
    [("fft", "coupled"), ("fft_measured", "coupled"), ("cpi", "coupled"), ("sweep3d_measured", "coupled")],
)
def test_programs_of_the_library_that_exchange_messages_are_coupled(name: str, coupling: str) -> None:
    """A table of run times sends no messages either, but nothing says that its program does not."""
    assert load(name).coupling == coupling


def test_the_application_named_after_the_file_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "two.psl"
    path.write_text("application one { proc exec init { } } application two { proc exec init { } }")
    assert load(path).name == "two"
    path.rename(tmp_path / "three.psl")
    with pytest.raises(UserError, match=r"three\.psl: holds 2 applications and none is named three"):
        load(tmp_path / "three.psl")


def test_faults_of_all_files_arrive_together(tmp_path: Path) -> None:
    (tmp_path / "a.psl").write_text("application a { include b; proc exec init { x = 1; } }")
    (tmp_path / "b.psl").write_text("partmp b { proc exec init { y = 1; } }")
    with pytest.raises(ModelError) as caught:
        load(tmp_path / "a.psl")
    assert [fault.message for fault in caught.value.diagnostics] == [
        "variable x is not declared",
        "variable y is not declared",
    ]


def test_a_number_that_the_parameters_are_not_for_says_which_to_set(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    application = model("""include hardware; var numeric: npe_i = 2, npe_j = 2;
        link { hardware: Nproc = npe_i * npe_j; }
        proc exec init { step cpu { confdev 1; } }""")
    with pytest.raises(CountError, match="the model is for 4 processors with these parameters: set npe_i, npe_j"):
        profile(application, plain, [5])
