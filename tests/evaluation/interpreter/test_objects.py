"""Objects that include others: what is linked downwards, and in which order they are evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.evaluation.budget import Budget
from cosched.evaluation.interpreter.programs import compiled_application, one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application, Hardware
    from cosched.evaluation.clocks.steps import Steps

    Model = Callable[[str], Application]


def segments(model: Model, plain: Hardware, text: str, **given: float) -> list[Steps]:
    """Return what an application does on one processor."""
    application = model(text)
    return one_by_one(application, compiled_application(application, plain), 1, given, Budget())


def times(program: list[Steps]) -> list[list[float]]:
    return [steps.amount.tolist() for steps in program]


CALLS = """application model {{ include t; var numeric: a = 3; link {{ t: x = 2 * a; }} proc exec init {{ {} }} }}
    partmp t {{ var numeric: x, y = x + 1; proc exec init {{ step cpu {{ confdev x; confdev y; }} }} }}"""


@pytest.mark.parametrize(
    ("body", "given", "expected"),
    [
        ("call t;", {}, [[6, 7]]),
        ("call t;", {"a": 5}, [[10, 11]]),
        ("a = 4; call t;", {}, [[8, 9]]),
        ("step cpu { confdev 1; } call t; step cpu { confdev 2; }", {}, [[1], [6, 7], [2]]),
        ("call t; a = 1; call t;", {}, [[6, 7], [2, 3]]),
        ("step cpu { confdev 1; }", {}, [[1]]),
    ],
)
def test_links_and_order(
    model: Model, plain: Hardware, body: str, given: dict[str, float], expected: list[list[float]]
) -> None:
    assert times(segments(model, plain, CALLS.format(body), **given)) == expected


def test_the_same_call_again_is_the_same_segment(model: Model, plain: Hardware) -> None:
    one, other, third = segments(model, plain, CALLS.format("call t; call t; a = 1; call t;"))
    assert one is other
    assert one is not third


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ("", [[1], [2]]),  # every template, in the order included
        ("proc exec init { x = 5; }", [[5], [2]]),
        ("proc exec init { call u; }", [[2]]),  # it calls templates itself
    ],
)
def test_a_subtask_evaluates_its_templates(
    model: Model, plain: Hardware, init: str, expected: list[list[float]]
) -> None:
    text = f"""application model {{ include s; proc exec init {{ call s; }} }}
        subtask s {{ include t; include u; var numeric: x = 1; link {{ t: x = x; }} {init} }}
        partmp t {{ var numeric: x; proc exec init {{ step cpu {{ confdev x; }} }} }}
        partmp u {{ proc exec init {{ step cpu {{ confdev 2; }} }} }}"""
    assert times(segments(model, plain, text)) == expected


def test_an_object_included_twice_is_compiled_once(model: Model, plain: Hardware) -> None:
    item = compiled_application(
        model("""application model { include a; include b; proc exec init { call a; call b; } }
        subtask a { include t; } subtask b { include t; }
        partmp t { proc exec init { step cpu { confdev 1; } } }"""),
        plain,
    )
    assert item.included["a"].included["t"] is item.included["b"].included["t"]


def test_options(model: Model, plain: Hardware) -> None:
    item = compiled_application(model("option { error = 0.25; } proc exec init { }"), plain)
    assert item.option("nstage") is None
    found = item.option("error")
    assert found is not None
    assert found[1].line == 1
