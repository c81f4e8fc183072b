"""Counts have their nouns in the right number."""

from __future__ import annotations

import pytest

from cosched.counts import number_text, plural


@pytest.mark.parametrize(("count", "text"), [(0, "0 hosts"), (1, "1 host"), (2, "2 hosts")])
def test_one_alone_has_no_ending(count: int, text: str) -> None:
    assert plural(count, "host") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0, "2"),
        (0.1, "0.1"),
        (-0.5, "-0.5"),
        (1732800123456.0, "1732800123456"),
        (1e15, "1000000000000000"),
        (0.1234567890123456, "0.1234567890123456"),
        (1e300, "1e+300"),
        (2**53 + 1, "9007199254740993"),
        ("many", "many"),
    ],
)
def test_programs_are_told_numbers_with_all_their_digits(value: float | str, text: str) -> None:
    assert number_text(value) == text
