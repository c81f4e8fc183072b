from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.evaluation import profile
from cosched.evaluation.budget import LanesDifferError
from cosched.evaluation.clocks.steps import StepShape
from cosched.evaluation.interpreter import step_cache
from cosched.evaluation.interpreter.programs import program
from cosched.evaluation.interpreter.step_cache import StepTemplate, recall, remember

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cosched.evaluation import Application, Hardware

    Model = Callable[[str], Application]


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    step_cache.forget()
    yield
    step_cache.forget()


def draft(steps: int) -> StepTemplate:
    zeros = np.zeros(steps, np.int64)
    kinds, places = zeros.astype(np.int8), zeros.astype(np.int32)
    return StepTemplate(StepShape(kinds, zeros, zeros, zeros, kinds, places), zeros.astype(np.float64), ())


def test_what_was_not_asked_for_the_longest_is_forgotten() -> None:
    for name in "abc":
        remember(name, [draft(150_000)], None)
    assert recall("a") is not None
    remember("d", [draft(100_000), draft(50_000)], None)
    assert [recall(name) is None for name in "abcd"] == [False, True, False, False]


def test_what_is_too_large_is_not_remembered() -> None:
    remember("a", [draft(10)], None)
    remember("b", [draft(600_000)], None)
    assert recall("b") is None
    assert recall("a") is not None


def test_many_small_ones_are_bounded_too() -> None:
    for number in range(600):
        remember(number, [draft(1)], None)
    found = [number for number in range(600) if recall(number) is not None]
    assert found == list(range(600 - len(found), 600))
    assert 100 < len(found) < 500


TEMPLATE = """application model { include t; var numeric: a = 1, b = 2, turns = 3; link { t: a = a, b = b; }
    proc exec init { var numeric: i; for (i = 1; i <= turns; i = i + 1) call t; } }
    partmp t { var numeric: a, b; proc exec init { BODY } }"""


def shapes_of(application: Application, hardware: Hardware, **values: float) -> set[int]:
    initial: dict[str, float] = {"Nproc": 3.0, "a": 1.0, "b": 2.0, "turns": 3.0, **values}
    return {id(steps.shape) for steps in program(application, hardware, np.array([3]), [initial], 100_000)}


def test_an_amount_is_found_anew_for_steps_that_are_known(model: Model, plain: Hardware) -> None:
    application = model(TEMPLATE.replace("BODY", "step cpu on b { confdev a; }"))
    first = shapes_of(application, plain)
    assert shapes_of(application, plain, a=5.0, turns=2.0) == first
    assert shapes_of(application, plain, b=1.0) != first
    assert profile(application, plain, [3], {"a": 5, "turns": 2})[0] == pytest.approx(10e-6)


def test_an_amount_that_cannot_be_is_refused_for_steps_that_are_known(model: Model, plain: Hardware) -> None:
    application = model(TEMPLATE.replace("BODY", "step cpu on 1 { confdev a; } step cpu on 2 { confdev 6 / b; }"))
    shapes_of(application, plain)
    for value in ({"a": -1.0}, {"b": 0.0}):
        with pytest.raises(LanesDifferError):
            shapes_of(application, plain, **value)


def test_an_amount_counts_only_where_its_step_happens(model: Model, plain: Hardware) -> None:
    application = model(TEMPLATE.replace("BODY", "if (Nproc > 1) step cpu on 1 { confdev a / (Nproc - 1); }"))
    assert profile(application, plain, [1, 2, 3]) == pytest.approx([0, 3e-6, 1.5e-6])
    assert profile(application, plain, [1, 2, 3], {"a": 4}) == pytest.approx([0, 12e-6, 6e-6])
