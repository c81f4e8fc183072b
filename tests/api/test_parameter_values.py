from __future__ import annotations

import pytest

from cosched.api.parameter_values import parse_parameter_values
from cosched.errors import UserError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4.0),
        (" -2.5e3 ", -2500.0),
        ("1,2,4", [1.0, 2.0, 4.0]),
        ("1..4", [1.0, 2.0, 3.0, 4.0]),
        ("1..10:4", [1.0, 5.0, 9.0]),
        ("1..10 step 4", [1.0, 5.0, 9.0]),
        ("0.1..0.3:0.1", [0.1, 0.2, 0.3]),
        ("-1..1", [-1.0, 0.0, 1.0]),
        ("1..1000:*10", [1.0, 10.0, 100.0, 1000.0]),
        ("3..3", [3.0]),
        ("1..2,10..12:2,50", [1.0, 2.0, 10.0, 12.0, 50.0]),
    ],
)
def test_values_and_ranges(text: str, value: float | list[float]) -> None:
    assert parse_parameter_values([f"k ={text}"]) == {"k": pytest.approx(value)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["k"], "write NAME=NUMBER"),
        (["=3"], "write NAME=NUMBER"),
        (["k=x"], "write NAME=NUMBER"),
        (["k=1..x"], "write NAME=NUMBER"),
        (["k=1,,2"], "write NAME=NUMBER"),
        (["k=1", "k=2"], "k is set already"),
        (["k=5..1"], "goes up, by a step above 0"),
        (["k=1..5:0"], "goes up, by a step above 0"),
        (["k=1..1e9"], "more than 10000 values"),
        (["k=1..1e308:1e-300"], "more than 10000 values"),
        (["k=-1e308..1e308"], "goes up, by a step above 0"),
        (["k=0..5:*2"], "goes up from above 0 by more than 1"),
        (["k=1..5:*1"], "goes up from above 0 by more than 1"),
        (["k=1..2:*1.00001"], "more than 10000 values"),
        (["k=1e-308..1e308:*2"], "more than 10000 values"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(settings: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        parse_parameter_values(settings)
    assert "\n" not in str(caught.value)
