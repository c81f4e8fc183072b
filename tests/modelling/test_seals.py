from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.modelling.seals import changed_by_hand, resealed, sealed, unsealed

WRITTEN = "application heat {\n    var numeric: n = 1;\n}\n"
LINES = st.text(st.sampled_from("abc {}();*\n"), min_size=1).map(lambda text: f"{text.rstrip()}x\n")


@given(LINES, LINES)
def test_a_seal_tells_a_text_from_every_other(text: str, other: str) -> None:
    assert not changed_by_hand(sealed(text))
    assert unsealed(sealed(text)).strip() == text.strip()
    assert changed_by_hand(sealed(text).replace(text.rstrip(), other.rstrip(), 1)) == (text != other)


def test_what_has_no_seal_is_not_said_to_be_changed() -> None:
    assert not changed_by_hand(WRITTEN)
    assert unsealed(WRITTEN) == WRITTEN


def test_other_ends_of_lines_are_no_change() -> None:
    assert not changed_by_hand(sealed(WRITTEN).replace("\n", "\r\n"))


def test_a_change_by_hand_is_not_forgotten_when_costs_are_written_in_place() -> None:
    edited = sealed(WRITTEN).replace("n = 1", "n = 2")
    assert changed_by_hand(resealed(unsealed(edited).replace("n = 2", "n = 3"), edited))
    assert not changed_by_hand(resealed(WRITTEN.replace("n = 1", "n = 3"), sealed(WRITTEN)))
    assert not changed_by_hand(resealed(WRITTEN, WRITTEN))
