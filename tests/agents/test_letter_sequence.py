from __future__ import annotations

from cosched.agents.letter_sequence import LetterSequence
from cosched.agents.protocol.letters import Inquiry, Letter, Reserve

BODY = Reserve("6f1c9f8e-5f0a-4b62-9c35-0a1b7f3f2c11", 1)


def two(a_life: int = 1, b_life: int = 1) -> tuple[LetterSequence, LetterSequence]:
    """Return a's link to b and b's to a, who have met."""
    a, b = LetterSequence("a", "b", a_life), LetterSequence("b", "a", b_life)
    assert b.take(a.write(Inquiry()))
    assert a.take(b.write(Inquiry()))
    return a, b


def test_a_letter_is_taken_once() -> None:
    a, b = two()
    letter = a.write(BODY)
    assert b.take(letter)
    assert not b.take(letter)


def test_letters_may_overtake_one_another() -> None:
    a, b = two()
    first, second = a.write(BODY), a.write(BODY)
    assert b.take(second)
    assert b.take(first)


def test_what_is_written_to_a_former_life_is_not_taken() -> None:
    a, _ = two()
    letter = a.write(BODY)
    again = LetterSequence("b", "a", 2)
    assert not again.take(letter)


def test_what_a_former_life_has_written_is_not_taken() -> None:
    a, b = two()
    old = a.write(BODY)
    assert b.take(LetterSequence("a", "b", 2).write(Inquiry()))
    assert not b.take(old)


def test_a_replay_from_long_ago_is_not_taken() -> None:
    a, b = two()
    old = a.write(BODY)
    for _ in range(5000):
        assert b.take(a.write(BODY))
    assert not b.take(old)


def test_strangers_must_greet_first() -> None:
    assert not LetterSequence("b", "a", 1).take(Letter("a", "b", 1, 0, 1, BODY))
