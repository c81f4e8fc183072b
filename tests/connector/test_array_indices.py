from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector.array_indices import parse_array
from cosched.errors import UserError


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=20))
def test_an_array_is_its_indices(numbers: list[int]) -> None:
    assert parse_array(",".join(map(str, numbers))) == (sorted(set(numbers)), 0)


def test_ranges_have_steps() -> None:
    assert parse_array("0-9:3,20") == ([0, 3, 6, 9, 20], 0)


def test_a_percent_sign_says_how_many_run_at_once() -> None:
    assert parse_array("1-100%5") == (list(range(1, 101)), 5)


@pytest.mark.parametrize(
    "text",
    [
        "1-4294967295",
        "5-1",
        "1-10%0",
        "1-10%",
        "1-10%x",
        "1-10%4%5",
        "1-10%-1",
        "1-10%1234567890",
        "%5",
        "",
        "a",
        "1-",
        "1-10:0",
        "-1",
        "0-10000",
        "1,,2",
        "0-4000000:1",
        "0-9999,10000-19999",
        "99999999999",
        "1-2-3",
    ],
)
def test_arrays_that_make_no_sense_or_too_many_tasks_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="--array="):
        parse_array(text)
