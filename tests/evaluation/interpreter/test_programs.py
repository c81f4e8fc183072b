from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.evaluation import CountError, profile
from cosched.evaluation.budget import Budget, LanesDifferError, TooManyStepsError
from cosched.evaluation.clocks.clocks import timed_segments
from cosched.evaluation.clocks.pricing import Prices
from cosched.evaluation.interpreter.programs import compiled_application, initial, initial_frame, on_hosts, program
from cosched.evaluation.layout import layout
from cosched.evaluation.sites import sites
from cosched.language import ModelError, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application, Hardware

    Model = Callable[[str], Application]


def test_variables_before_init(model: Model, plain: Hardware) -> None:
    application = model("var numeric: a = Nproc + b, b = 2, c; proc exec init { c = 1; }")
    with pytest.raises(ModelError, match="variable b has no value"):
        initial_frame(application, compiled_application(application, plain), 4, {}, Budget())
    assert initial(application, compiled_application(application, plain), 4, {}, Budget()) is None
    assert initial(application, compiled_application(application, plain), 4, {"b": 5.0}, Budget()) == {
        "Nproc": 4,
        "a": 9,
        "b": 5,
    }


def test_the_grid_fits_the_number_and_what_the_user_fixed(model: Model, plain: Hardware) -> None:
    application = model('var numeric: i, j; option { decompose = "i, j"; } proc exec init { }')
    item = compiled_application(application, plain)
    assert initial(application, item, 12, {}, Budget()) == {"Nproc": 12, "i": 4, "j": 3}
    assert initial(application, item, 12, {"j": 6.0}, Budget()) == {"Nproc": 12, "i": 2, "j": 6}
    assert initial(application, item, 12, {"j": 5.0}, Budget()) is None
    with pytest.raises(CountError, match="12 hosts cannot be split with i, j fixed to 5 in product"):
        initial_frame(application, item, 12, {"j": 5.0}, Budget())


def test_a_number_that_the_model_is_not_for_has_no_beginning(model: Model, plain: Hardware) -> None:
    application = model("include hardware; var numeric: n = 4; link { hardware: Nproc = n; } proc exec init { }")
    item = compiled_application(application, plain)
    assert initial(application, item, 4, {}, Budget()) == {"Nproc": 4, "n": 4}
    assert initial(application, item, 5, {}, Budget()) is None


def test_an_error_says_on_how_many_hosts() -> None:
    error = CountError([Source("x.psl", "").fault((1, 2), "wrong")])
    assert isinstance(on_hosts(error, 3), CountError)
    assert str(on_hosts(error, 3)).endswith("wrong (on 3 hosts)")
    assert str(on_hosts(error, 1)).endswith("wrong (on 1 host)")


HOSTS = np.array([1, 2, 4])


def clocks(application: Application, hardware: Hardware, steps: int = 10_000) -> list[float]:
    """Return the clocks of the 1 + 2 + 4 processors after a program."""
    where = sites(application.root)
    processors = int(HOSTS.sum())
    found = np.zeros(processors)
    done = program(application, hardware, HOSTS, [{"Nproc": float(count)} for count in HOSTS], 10 * steps)
    for plan in timed_segments(done, Prices(layout(hardware, HOSTS.tolist()), where.all), processors):
        found = plan.advance(found)
    return list(found)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("step cpu { confdev Nproc; }", [1, 2, 2, 4, 4, 4, 4]),
        ("step cpu on Nproc { confdev 8; }", [8, 0, 8, 0, 0, 0, 8]),
        ("var numeric: p; for (p = 1; p <= Nproc; p = p + 2) step cpu on p { confdev p; }", [1, 1, 0, 1, 0, 3, 0]),
        ("var numeric: d; for (d = 1; d < Nproc; d = 2 * d) step cpu on d { confdev 5; }", [0, 5, 0, 5, 5, 0, 0]),
        ("var numeric: x = 1; if (Nproc > 1) { x = Nproc; } step cpu on 1 { confdev x; }", [1, 2, 0, 4, 0, 0, 0]),
        ("var vector: v = [1, 2]; step cpu { confdev v[2]; }", [2, 2, 2, 2, 2, 2, 2]),
        ("step cpu on 1 { confdev t(); }", [5, 3, 0, 2, 0, 0, 0]),
        (
            "var numeric: p; for (p = 1; p <= Nproc; p = p + 1) step cpu { confdev 1; } step cpu on 1 { confdev p; }",
            [3, 5, 2, 9, 4, 4, 4],
        ),
        ("if (Nproc == 2) step cpu { confdev 3; } else step cpu on 1 { confdev f(2); }", [2, 3, 3, 9, 0, 0, 0]),
        # TSEND(0) = 1, COMM(0) = 10, TRECV(0) = 3 us; to and from processor 0 nothing happens.
        (
            "step mpisend { confdev 1, Nproc % 4, 0; } step mpirecv { confdev 1, Nproc % 4, 0; }",
            [14, 1, 14, 0, 0, 0, 0],
        ),
    ],
)
def test_lanes_part_and_meet(
    model: Callable[[str], Application], plain: Hardware, body: str, expected: list[float]
) -> None:
    more = """proc exec f(x) { if (Nproc == 4) return 9; return x; }
        proc cflow t { measured (Nproc) { 1: 5, 2: 3, 4: 2 } }"""
    assert clocks(model(f"proc exec init {{ {body} }} {more}"), plain) == expected


@pytest.mark.parametrize(
    "body",
    [
        "var vector: v; v = [1, Nproc]; step cpu { confdev v[1]; }",
        "step cpu { confdev t(); }",
        "if (Nproc > 1) call below;",
        "while (1) { }",
        "call init;",
        "step cpu { confdev -1; }",
        "step cpu on 0 { confdev 1; }",
        "step cpu on 5 { confdev 1; }",
    ],
)
def test_each_number_of_hosts_is_left_to_itself(
    model: Callable[[str], Application], plain: Hardware, body: str
) -> None:
    application = model(f"""application model {{ include below; proc exec init {{ {body} }}
        proc cflow t {{ measured (Nproc) {{ 1: 5, 2: 3 }} }} }}
        partmp below {{ proc exec init {{ step cpu {{ confdev 1; }} }} }}""")
    with pytest.raises(LanesDifferError):
        clocks(application, plain)


def test_too_many_steps_are_told_apart(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model("var numeric: i; proc exec init { for (i = 1; i <= 99; i = i + 1) step cpu { confdev 1; } }")
    with pytest.raises(TooManyStepsError):
        clocks(application, plain, steps=200)


def test_a_default_that_takes_steps_is_left_to_one_number_of_hosts_at_a_time(model: Model, plain: Hardware) -> None:
    """Side by side the steps of its function were lost: the program took 1 us in place of 3."""
    application = model("""var numeric: x = f(); proc exec init { step cpu { confdev 1; } }
        proc exec f { step cpu { confdev 2; } return 1; }""")
    assert profile(application, plain, [1, 2]) == pytest.approx([3e-6, 3e-6])


def test_what_defaults_take_is_bounded_for_all_numbers_of_hosts_together(model: Model, plain: Hardware) -> None:
    application = model("""var numeric: x = f(); proc exec init { }
        proc exec f { var numeric: i; for (i = 0; i < 1000; i = i + 1) i = i + 0; return 1; }""")
    item, budget = compiled_application(application, plain), Budget(100_000)
    found = [initial(application, item, count, {}, budget) for count in range(1, 1000)]
    assert found[0] is not None
    assert found[-1] is None
