from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from cosched.portal.pages.wording import as_terminal, number, plain, sentence, without_attempt


def test_numbers_are_brief() -> None:
    assert [number(value) for value in (0.001, 3.0, 1234.0, 1e6)] == ["0.001", "3", "1\u202f234", "1\u202f000\u202f000"]


def test_a_sentence_begins_with_a_capital_and_keeps_names() -> None:
    assert [sentence(text) for text in ("exit code 1", "its fft", "", "ßa")] == ["Exit code 1", "Its fft", "", "SSa"]


@given(st.text(st.characters()))
def test_nothing_that_cannot_be_seen_is_printed(text: str) -> None:
    shown = plain(text)
    assert all(unicodedata.category(letter) not in ("Cf", "Cs", "Cc") or letter in "\t\n" for letter in shown)


def test_marks_that_turn_text_are_named_and_markup_of_our_own_stays() -> None:
    assert plain("gpj\u202etxt") == "gpj⟨U+202E⟩txt"
    assert plain(Markup("<b>\u200e</b>")) == "<b>\u200e</b>"
    assert (plain(None), plain(7)) == ("", 7)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b[1;31merror\x1b[0m: no\n", "error: no\n"),
        ("10 %\r20 %\r100 %\ndone\n", "100 %\ndone\n"),
        ("half\r", "half"),
        ("of DOS\r\nlines\r\n", "of DOS\nlines\n"),
        ("\x1b]0;a title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b[2K\x1b[1Gagain", "again"),
        ("lone \x1b stays", "lone \x1b stays"),
    ],
)
def test_output_is_shown_as_a_terminal_leaves_it(written: str, shown: str) -> None:
    assert as_terminal(written) == shown


@given(st.text(st.characters(exclude_characters="\x1b\r")))
def test_plain_output_is_shown_as_it_is(text: str) -> None:
    assert as_terminal(text) == text


@pytest.mark.parametrize(
    ("detail", "shown"),
    [
        ("{} is job 17.0", "job 17.0"),
        ("{}: no such pool", "no such pool"),
        ("{} has begun", "has begun"),
        ("{}", ""),
        ("fft of {}", "fft of {}"),
        ("{}0 is another", "{}0 is another"),
    ],
)
def test_a_line_of_the_log_is_read_without_the_attempts_name(detail: str, shown: str) -> None:
    name = "ace5be26-21a3-55d0-82f4-9b648710dabe"
    assert without_attempt(detail.format(name)) == shown.format(name)
