from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.licence_requests import checked_amounts, format_licences, licences_text, parse_licences

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_.@+-]{0,20}", fullmatch=True)


def test_names_have_a_number_where_it_is_not_one() -> None:
    assert parse_licences("matlab:2, ansys") == {"ansys": 1, "matlab": 2}
    assert parse_licences("") == {}
    assert parse_licences("tool@server.example.org:3") == {"tool@server.example.org": 3}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("matlab:0", "0 of licence matlab is no number of them: give 1 to 1000000"),
        ("matlab:-1", "'matlab:-1' is no licence with a number: write it as matlab:2"),
        ("matlab=1", "'matlab=1' is no licence with a number: write it as matlab:2"),
        ("matlab:", "'matlab:' is no licence with a number"),
        ("matlab:2.5", "is no licence with a number"),
        ("matlab:٣", "is no licence with a number"),
        ("matlab:1:2", "is no licence with a number"),
        ("mat lab", "'mat lab' is no name of a licence: write a letter, then"),
        ("2", "'2' is no name of a licence"),
        ("matlab,matlab:2", "licence matlab is there twice"),
        (",".join(f"l{number}" for number in range(17)), "17 licences are too many"),
    ],
)
def test_what_is_no_licence_is_refused(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        parse_licences(text)


@given(st.dictionaries(NAMES, st.integers(1, 1_000_000), max_size=16))
def test_what_is_written_is_read_again(licences: dict[str, int]) -> None:
    assert parse_licences(licences_text(licences)) == checked_amounts(licences) == licences


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert all(amount >= 1 for amount in parse_licences(text).values())
    except UserError as error:
        assert str(error)  # noqa: PT017  either is right


def test_licences_in_words() -> None:
    assert format_licences({}) == ""
    assert format_licences({"matlab": 2}) == "2 of matlab"
    assert format_licences({"matlab": 2, "ansys": 1, "spice": 3}) == "1 of ansys, 2 of matlab and 3 of spice"
