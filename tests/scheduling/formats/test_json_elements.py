from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cosched.errors import UserError
from cosched.scheduling.formats.input_file import quoted, read_json, read_list, read_name, read_object, read_time

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1, column 2: not JSON"),
        ('{"a": 1, "a": 2}', "the key 'a' is there twice"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "not JSON"),
    ],
)
def test_what_is_no_json_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_json(text)


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (lambda value: read_object(value, "x", {"a"}, {"a"}), []),
        (lambda value: read_object(value, "x", {"a"}, {"a"}), {}),
        (lambda value: read_object(value, "x", {"a"}, set()), {"b": 1}),
        (lambda value: read_list(value, "x", 1, 2), "ab"),
        (lambda value: read_list(value, "x", 1, 2), []),
        (lambda value: read_name(value, "x"), " a"),
        (lambda value: read_name(value, "x"), "a\n"),
        (lambda value: read_time(value, "x"), 0),
        (lambda value: read_time(value, "x"), float("nan")),
        (lambda value: read_time(value, "x"), 10**400),
        (lambda value: read_time(value, "x"), True),
        (lambda value: read_time(value, "x"), 1e-320),
        (lambda value: read_time(value, "x", zero=True), 1e-200),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(check: Callable[[Any], object], value: object) -> None:
    with pytest.raises(UserError, match=r"^x: "):
        check(value)


def test_what_fits_is_returned() -> None:
    assert read_time(0, "x", zero=True) == 0.0
    assert read_name("a b", "x") == "a b"
    assert quoted("x" * 50).endswith("…")


def test_a_key_that_is_there_twice_among_many_is_found_at_once() -> None:
    """Each key was counted by a walk over all the others: 200,000 of them took hours."""
    keys = ", ".join(f'"k{number}": 1' for number in range(200_000))
    with pytest.raises(UserError, match="'k199999' is there twice"):
        read_json(f'{{{keys}, "k199999": 2}}')
