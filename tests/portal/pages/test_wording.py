from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from cosched.portal.pages.wording import number, plain


def test_numbers_are_brief() -> None:
    assert [number(value) for value in (0.001, 3.0, 1234.0, 1e6)] == ["0.001", "3", "1\u202f234", "1\u202f000\u202f000"]


@given(st.text(st.characters()))
def test_nothing_that_cannot_be_seen_is_printed(text: str) -> None:
    shown = plain(text)
    assert all(unicodedata.category(letter) not in ("Cf", "Cs", "Cc") or letter in "\t\n" for letter in shown)


def test_marks_that_turn_text_are_named_and_markup_of_our_own_stays() -> None:
    assert plain("gpj\u202etxt") == "gpj⟨U+202E⟩txt"
    assert plain(Markup("<b>\u200e</b>")) == "<b>\u200e</b>"
    assert (plain(None), plain(7)) == ("", 7)
