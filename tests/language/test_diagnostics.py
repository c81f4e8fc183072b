from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.language import Diagnostic, ModelError, decode, read
from cosched.language.diagnostics import LARGEST_FILE, suggestion

if TYPE_CHECKING:
    from pathlib import Path


def test_a_fault_is_shown_with_its_line_and_a_caret() -> None:
    fault = Diagnostic("a.psl", 3, 5, "what", "\tabc def")
    assert fault.render() == "a.psl:3:5: what\n   abc def\n      ^"
    assert Diagnostic("a.psl", 3, 5, "what").render() == "a.psl:3:5: what"


def test_long_lines_are_cut_around_the_caret() -> None:
    shown = Diagnostic("a.psl", 1, 5001, "what", "x" * 5000 + "!" + "x" * 5000).render().splitlines()
    assert len(shown[1]) < 200
    assert shown[1][shown[2].index("^")] == "!"


def test_the_error_is_one_line_and_counts_the_rest() -> None:
    first, second = Diagnostic("a.psl", 1, 1, "one"), Diagnostic("a.psl", 2, 1, "two")
    assert str(ModelError([first])) == "a.psl:1:1: one"
    assert str(ModelError([first, second])).startswith("a.psl:1:1: one (and 1 more:")
    assert isinstance(ModelError([first]), UserError)


def test_suggestions_ignore_case() -> None:
    assert suggestion("scale", ["Scale", "other"]) == ": did you mean Scale?"
    assert suggestion("xyz", ["Scale"]) == ""


def test_words_that_have_little_in_common_are_not_suggested() -> None:
    assert suggestion("survey", ["closure", "junctions"]) == ""
    assert suggestion("nothere", ["gather"]) == ""
    assert suggestion("junctoins", ["closure", "junctions"]) == ": did you mean junctions?"


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
