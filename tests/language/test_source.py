from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.language import ModelError, decode, read
from cosched.language.diagnostics import LARGEST_FILE

if TYPE_CHECKING:
    from pathlib import Path


def test_a_byte_order_mark_is_dropped() -> None:
    assert decode(b"\xef\xbb\xbfapplication", "x.psl").text == "application"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("application".encode("utf-16"), "x.psl:1:1: is UTF-16: save it as UTF-8"),
        (b"a\nb\xffc", "x.psl:2:2: byte 0xFF is not UTF-8"),
        (b"a\n \x00", r"x.psl:2:2: character U\+0000 is not allowed"),
        ("ab\u202ecd".encode(), r"x.psl:1:3: character U\+202E"),
        ("\u2066", r"character U\+2066"),
        ("a\ud800", r"x.psl:1:2: character U\+D800"),
        (b"x" * (LARGEST_FILE + 1), "larger than 256 KiB"),
    ],
)
def test_texts_that_mislead_or_exhaust_are_refused(content: bytes | str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        decode(content, "x.psl")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none.psl", tmp_path):
        with pytest.raises(ModelError, match="cannot be read"):
            read(path)


@given(st.binary(max_size=200))
def test_any_bytes_end_in_their_text_or_an_error(content: bytes) -> None:
    try:
        text = decode(content, "x.psl").text
    except ModelError:
        return
    assert text.encode() == content.removeprefix(b"\xef\xbb\xbf")


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.psl")
    for name, reason in (("pipe.psl", "it is no file"), ("", "Is a directory"), ("none.psl", "No such file")):
        with pytest.raises(ModelError, match=f"cannot be read: {reason}"):
            read(tmp_path / name)
