from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import cosched
from cosched.errors import UserError
from cosched.evaluation import CountError, predict

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.evaluation import Application, Hardware

TEXT = """var numeric: a = 1, b = 10, c; option { error = 0.1 * a / 10; }
    proc exec init { step cpu { confdev (a + b) * 1 s / Nproc; } }"""


def test_one_combination_is_a_row(model: Callable[[str], Application], plain: Hardware) -> None:
    found = predict(model(TEXT), plain, [1, 2], {"a": 2})
    assert (found.application, found.hardware, found.hosts.tolist()) == ("model", "plain", [1, 2])
    assert found.parameters == {"a": 2, "b": 10, "c": None}
    assert found.seconds.tolist() == [12, 6]
    assert found.low is not None
    assert found.high is not None
    assert found.low.tolist() == pytest.approx([12 * 0.98, 6 * 0.98])
    assert found.high.tolist() == pytest.approx([12 * 1.02, 6 * 1.02])


def test_each_parameter_with_several_values_is_an_axis(model: Callable[[str], Application], plain: Hardware) -> None:
    found = predict(model(TEXT), plain, [1, 2, 4], {"b": [0, 7], "a": np.array([1, 2, 3])})
    assert found.seconds.shape == (2, 3, 3)
    assert found.seconds[1, 2].tolist() == [10, 5, 2.5]
    assert found.parameters == {"c": None}
    curves = list(found.curves())
    assert [curve.values for curve in curves[:2]] == [{"b": 0, "a": 1}, {"b": 0, "a": 2}]
    assert curves[5].seconds.tolist() == [10, 5, 2.5]
    assert curves[5].low is not None
    assert curves[5].low.tolist() == pytest.approx([9.7, 4.85, 2.425])


def test_a_combination_that_covers_no_number_is_infinite_and_all_together_are_an_error(
    model: Callable[[str], Application], plain: Hardware
) -> None:
    application = model("""include hardware; var numeric: n = 2; link { hardware: Nproc = n; }
        proc exec init { step cpu { confdev 1 s; } }""")
    assert predict(application, plain, [1, 2], {"n": [1, 9, 2]}).seconds.tolist() == [
        [1, np.inf],
        [np.inf, np.inf],
        [np.inf, 1],
    ]
    with pytest.raises(CountError, match="the model is for 8 processors with these parameters: set n"):
        predict(application, plain, [1, 2], {"n": [7, 8]})


def test_names_and_paths_do_as_well() -> None:
    found = cosched.predict("cpi_measured", hosts=[16, 17])
    assert (found.hardware, found.seconds.tolist()) == ("sgi_origin2000", [20, np.inf])
    assert found.low is not None
    assert found.low.tolist() == [18, np.inf]


@pytest.mark.parametrize(
    ("hosts", "parameters", "message"),
    [
        ([], {}, "0 predictions at once"),
        ([1], {"a": []}, "0 predictions at once"),
        (range(1, 2000), {"a": range(1000)}, "1999000 predictions at once: ask for 1 to 1000000"),
        ([1], {"d": [1, 2]}, "no parameter d"),
        ([1], {"a": [1, np.nan]}, "give a finite number"),
    ],
)
def test_what_makes_no_sense(
    model: Callable[[str], Application], plain: Hardware, hosts: range, parameters: dict[str, list[float]], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        predict(model(TEXT), plain, hosts, parameters)


def test_an_application_without_hardware_needs_one(model: Callable[[str], Application]) -> None:
    with pytest.raises(UserError, match="names no hardware in its option hrduse"):
        predict(model(TEXT))
