"""Nothing that a submit description could take for anything but text passes `safe`."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector.values import SafeValue, safe
from cosched.errors import UserError

_DANGEROUS = "$`\\\"'"


def passes(value: str) -> bool:
    try:
        safe(value, "value")
    except UserError:
        return False
    return True


@given(st.text())
def test_what_passes_is_printable_and_unchanged(value: str) -> None:
    try:
        checked = safe(value, "value")
    except UserError as error:
        message = str(error)
        assert message.isprintable()
        assert message.startswith("value ")
        return
    assert isinstance(checked, SafeValue)
    assert checked == value
    assert len(value.splitlines()) <= 1
    assert checked.encode().decode() == value


@given(st.text(), st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp"]) | st.sampled_from(_DANGEROUS), st.text())
def test_one_dangerous_character_anywhere_is_refused(before: str, bad: str, after: str) -> None:
    assert not passes(before + bad + after)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters=_DANGEROUS), max_size=50))
def test_ordinary_text_passes_unless_it_looks_like_an_option(value: str) -> None:
    assert passes(value) is not value.startswith("-")


@pytest.mark.parametrize(
    "value",
    [
        "x\n#SBATCH --uid=0",
        "1\ninclude command : touch /tmp/x",
        "10\nqueue 500",
        "$ENV(PATH)",
        "$$(Memory)",
        '"; rm -rf ~ #',
        "$(reboot)",
        "`reboot`",
        "-h",
        "\u202eexe",
        "\x85",
        "\u2028",
        "\ud800",
        "a\0b",
        "x" * 4097,
    ],
)
def test_known_attacks_are_refused(value: str) -> None:
    with pytest.raises(UserError, match="the task's name"):
        safe(value, "the task's name")


def test_every_line_break_of_python_and_unicode_is_refused() -> None:
    for code in range(0x110000):
        character = chr(code)
        if len(f"a{character}b".splitlines()) > 1:
            assert not passes(character), unicodedata.name(character, hex(code))
