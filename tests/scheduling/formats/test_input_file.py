from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cosched.errors import UserError
from cosched.scheduling.formats.input_file import (
    quoted,
    read_file,
    read_json,
    read_list,
    read_name,
    read_object,
    read_time,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "queue"
    path.write_bytes(b"\xef\xbb\xbfhello")
    assert read_file(path, str.upper) == "HELLO"


def test_every_fault_names_the_file(tmp_path: Path) -> None:
    def refuse(text: str) -> str:
        raise UserError(f"not {text}")

    path = tmp_path / "queue"
    path.write_text("this")
    with pytest.raises(UserError, match="queue: not this"):
        read_file(path, refuse)
    path.write_bytes(b"\xff")
    with pytest.raises(UserError, match="queue: byte 0 is not UTF-8"):
        read_file(path, str)
    with pytest.raises(UserError, match="none: cannot be read: No such file"):
        read_file(tmp_path / "none", str)


def test_a_packed_file_is_unpacked_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "queue.gz"
    path.write_bytes(gzip.compress(b"hello"))
    assert read_file(path, str.upper) == "HELLO"
    with pytest.raises(UserError, match=r"queue\.gz: more than 4 bytes"):
        read_file(path, str, most=4)
    path.write_bytes(gzip.compress(b"hello")[:-9])
    with pytest.raises(UserError, match=r"queue\.gz: is no whole gzip file: fetch it again"):
        read_file(path, str)
    path.write_text("hello")
    with pytest.raises(UserError, match=r"queue\.gz: cannot be read: Not a gzipped file"):
        read_file(path, str)


def test_a_file_whose_size_nobody_knows_is_read_up_to_the_limit() -> None:
    """A device says that it is empty; reading all of it ended in a traceback, without memory."""
    with pytest.raises(UserError, match="zero: more than 268435456 bytes are too many"):
        read_file(Path("/dev/zero"), str)


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
