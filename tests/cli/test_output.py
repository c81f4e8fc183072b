from __future__ import annotations

import json
import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.cli.output import clean, emit_json, figure, finite, percentage, print_table


@given(st.text(st.characters(exclude_categories=[])))
def test_no_text_steers_a_terminal(text: str) -> None:
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in clean(text))


def test_printable_text_stays_as_it_is() -> None:
    assert clean("Übergröße [red]x[/red] 日本") == "Übergröße [red]x[/red] 日本"
    assert clean("a\x1b[31m\u202eb") == "a\\x1b[31m\\u202eb"


def test_a_table_is_aligned_and_without_empty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("ID", "NAME", "NOTE", "END"), [("1", "日本", "", "x"), ("10", "a", "", "")])
    assert capsys.readouterr().out == "ID  NAME  END\n1   日本  x\n10  a\n"
    print_table(("ID", "NAME"), [])
    assert capsys.readouterr().out == "ID  NAME\n"


def test_json_is_plain_and_whole(capsys: pytest.CaptureFixture[str]) -> None:
    emit_json({"name": "ü", "end": finite(math.inf), "start": finite(1.5)})
    assert json.loads(capsys.readouterr().out) == {"name": "ü", "end": None, "start": 1.5}


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0.00%"), (0.00123, "0.12%"), (0.0234, "2.3%"), (0.5903, "59%"), (2.3498, "235%")]
)
def test_a_large_share_has_no_false_precision(share: float, text: str) -> None:
    assert percentage(share) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (300_612.4, 4, "300612"),
        (300_000_001.0, 6, "300000001"),
        (61.04, 4, "61.04"),
        (-24_950.2, 4, "-24950"),
        (999.96, 4, "1000"),
        (0.000125, 4, "0.000125"),
        (2e20, 4, "2e+20"),
        (0.0, 4, "0"),
    ],
)
def test_large_figures_have_no_exponent(value: float, digits: int, text: str) -> None:
    assert figure(value, digits) == text
