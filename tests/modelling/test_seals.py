from __future__ import annotations

import re

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


def test_a_seal_that_is_gone_or_broken_was_changed_by_hand() -> None:
    """Whoever cut the digest short, or took the line out, had a model written over."""
    assert changed_by_hand(WRITTEN)
    assert changed_by_hand(re.sub("sha256:[0-9a-f]+", "sha256:0", sealed(WRITTEN)))
    assert unsealed(WRITTEN) == WRITTEN


def test_other_ends_of_lines_are_no_change() -> None:
    assert not changed_by_hand(sealed(WRITTEN).replace("\n", "\r\n"))


def test_a_change_by_hand_is_not_forgotten_when_costs_are_written_in_place() -> None:
    edited = sealed(WRITTEN).replace("n = 1", "n = 2")
    assert changed_by_hand(resealed(unsealed(edited).replace("n = 2", "n = 3"), edited))
    assert not changed_by_hand(resealed(WRITTEN.replace("n = 1", "n = 3"), sealed(WRITTEN)))
    assert not changed_by_hand(resealed(WRITTEN, WRITTEN))  # of one without a seal nothing is known
